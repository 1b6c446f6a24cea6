// Package policy compiles policies and one user's role and attributes into
// what the user sees of a table: a SQL predicate over its rows, the columns that
// are hidden, and the masks of others. It never runs SQL.
//
// A policy has two forms with one meaning: a [Definition] (a small JSON tree)
// and a text in a subset of Cedar. [Render] turns the first into the second,
// [Parse] reads the second, [Derive] goes back where the text fits a
// definition. [Compile] works on texts only: Cedar's partial evaluation folds
// everything that depends on the user, and what is left, an expression over
// columns, becomes SQL.
//
// Semantics of row policies, for every form:
//   - Without policies all rows are visible. With at least one, nothing is
//     visible but what some permit allows and no forbid hides.
//   - A NULL is an absent attribute of the row, and so is every value of a column
//     that the table lacks: has is false for it.
//   - A test on something unknown (an absent attribute of the row or the user, a
//     value that is not exactly a value of the column's type) is neither true nor
//     false. A permit grants only what is true; a forbid hides all that is not
//     false.
//   - A rendered text never relies on Cedar's errors: each test stands behind
//     its guards, so Cedar itself decides the same rows.
//   - A text written by hand may have no guards. A permit then follows Cedar: an
//     error in an operand that Cedar evaluates undoes the whole permit. A forbid
//     hides the rows for which three-valued logic does not make it false, where
//     Cedar would ignore the forbid. It also hides the rows for which Cedar reads
//     the value of a column that the table lacks, because no row of such a table can
//     decide the test.
//   - If the absence of a column is uncertain ([Policy.Uncertain]), has is such an
//     error too.
//   - User attributes are strings. Compared with a column or a typed literal,
//     an attribute takes that type; where a set is needed it is a JSON array or
//     a list separated by commas.
//
// Semantics of column policies (kinds cls and mask): each decides for one user and
// all rows alike. A permit lets whom it holds for see the column clear, and
// hides or masks it for all others; a forbid does so for whom it is not false.
// Of several the strictest wins: hidden, then the masks null, hash, last4, year.
// A policy concerns every column of its name in any case.
//
// Invariants:
//   - Every value is checked and converted here. A predicate holds typed
//     literals, qualified columns of the given alias and functions of
//     system.main, and cannot fail at run time.
//   - A bare column compared with a constant stays that, so that files and row
//     groups can be skipped.
//   - The SQL of a mask cannot fail for any value of its column either; the
//     secret of hashes is a parameter of it.
//   - A row is visible where the predicate is TRUE. NULL means not visible.
//   - Whatever is not understood grants nothing.
//
// The package imports engine and cedar-go, nothing else of ours. All functions
// are pure and safe for concurrent use.
package policy
