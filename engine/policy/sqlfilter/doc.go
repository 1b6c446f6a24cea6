// Package sqlfilter compiles policies and one user's role and attributes into what the
// user sees of a table: a SQL predicate over its rows, the hidden columns, and the masks
// of others. It never runs SQL.
//
// [Compile] works on Cedar texts. Cedar's partial evaluation folds everything that
// depends on the user, and the remaining expression over columns becomes SQL. [Derive]
// returns the definition of a text, if it has one; it is here because it compares the
// meanings of two texts, by the logic that Compile uses.
//
// Invariants:
//   - A predicate holds typed literals, qualified columns of the given alias and
//     functions of system.main, and cannot fail at run time.
//   - A comparison of a bare column with a constant stays one in SQL, so that files and
//     row groups can be skipped.
//   - The SQL of a mask cannot fail for any value of its column either. The secret of
//     hashes is a parameter of it.
//   - A row is visible where the predicate is TRUE. NULL means not visible.
//   - An expression that is not understood grants no access.
//
// The package imports engine, engine/sqltype, engine/policy and cedar-go, and no other package of this
// module. All functions are pure and safe for concurrent use.
package sqlfilter
