// Package policy holds the two notations of a policy: a [Definition] (a small JSON
// tree) and a text in a subset of Cedar. [Render] turns the first into the second,
// [Parse] reads the second. Package [sqlfilter] compiles texts to SQL and derives
// definitions from them.
//
// Semantics of row policies, for both notations:
//   - Without policies all rows are visible. With at least one, a row is visible if some
//     permit allows it and no forbid hides it.
//   - A NULL is an absent attribute of the row, and so is every value of a column
//     that the table lacks: has is false for it.
//   - A test of an unknown value (an absent attribute of the row or the user, an
//     attribute of the user that is not exactly a value of the column's type) is neither
//     true nor false. A permit grants only rows for which it is true; a forbid hides all
//     rows for which it is not false.
//   - A literal is compared exactly with values of its type, whatever the width of the
//     column. A column of another type makes the test undecidable: an error that
//     undoes a permit, and neither true nor false in a forbid. Cedar can make such a
//     test true, so it never shows less than this package. [Parsed.CheckTypes] refuses such tests when
//     a policy of one table is written.
//   - A rendered text never relies on Cedar's errors: each test follows its guards, so
//     Cedar decides the same rows.
//   - A text written by hand may lack guards. A permit then follows Cedar: an error in
//     an operand that Cedar evaluates undoes the whole permit. A forbid hides the rows
//     for which three-valued logic does not make it false, where Cedar would ignore the
//     forbid. It also hides the rows for which Cedar reads the value of a column that
//     the table lacks, because no row of such a table can decide the test.
//   - If the absence of a column is uncertain, has is such an error too.
//   - Literals of a text have Cedar's types. Those of a definition have the notation of
//     the column; see [Reading].
//   - User attributes are strings. Compared with a column or a typed literal, an
//     attribute takes that type; where a set is needed it is a JSON array or a list
//     separated by commas.
//
// Semantics of column policies (kinds cls and mask): each decides for one user and all
// rows alike. A permit shows the column clear to the users that it matches, and hides or
// masks it for all others; a forbid hides or masks it for users for whom it is not
// false. Of several policies the strictest wins: hidden, then the masks null, hash,
// last4, year. A policy concerns every column of its name in any case.
//
// Every value is checked and converted here, so that definition, text and SQL never
// round differently. The package prints no SQL. It imports engine, engine/sqltype and cedar-go, and no
// other package of this module. All functions are pure and safe for concurrent use.
//
// [sqlfilter]: https://pkg.go.dev/github.com/lakewarden/lakewarden/engine/policy/sqlfilter
package policy
