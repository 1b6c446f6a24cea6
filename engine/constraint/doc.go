// Package constraint says what every row of a table must satisfy, and finds the rows
// that do not: NOT NULL, CHECK constraints, column invariants, unique columns,
// the primary key, and the caller's row filter on what the caller writes.
//
// # Where rules come from
//
// [Of] reads the rules of a snapshot: nullability and keys from its schema and
// properties, constraints and invariants of the log, which are Spark's SQL, by a
// translator of a closed subset. A constraint that it cannot translate refuses
// the write by name. [ParseCheck] reads what a user wrote in DuckDB's SQL, or
// took from a log, for the constraints that the catalog keeps ([Set.Add]), and tells
// whether it can be said in Spark's SQL with the same meaning ([Check.Portable]).
//
// # How a write asks
//
// A write stages its new rows and asks, in one service session, in this order:
//
//	set, err := rules.Of(snap)                     // refuses untranslatable constraints
//	err = set.Add(ctx, parser, name, expr)         // for each constraint of the catalog
//	scope := rules.Scope{Session: s, Sources: sources, Lease: lease}
//	rows := append(set.Rows(), rules.RowFilter(predicate)) // the filter, compiled for rules.Alias
//	report, err := scope.Broken(ctx, rows, staged)         // the first class that has broken rows
//	for _, key := range set.AllKeys() {
//		report, err = scope.Repeated(ctx, key, staged)        // twice in the body
//		condition, err := scope.KeyCondition(ctx, key, staged) // which files can hold a conflict
//		report, err = scope.Taken(ctx, key, staged, table)    // table: the files that condition leaves
//	}
//
// The staged relation has the columns of the table and one with the row's number
// in the request ([Relation.Row]). After a lost race, Taken is asked again over
// the files that won. A commit of checked rows takes over the duties of
// [Set.Duties].
//
// # Invariants
//
//   - An expression reaches an engine only as printed from our own tree: every
//     node, function and type in it was on a list, every column is the table's.
//   - A check that is not TRUE is broken: NULL, FALSE, and what fails for a row
//     (an overflow, a cast) alike.
//   - A constraint that is printed for the log means the same to Spark, and
//     evaluates in delta-rs, for every row that it does not overflow on.
//
// What may not go in: reading or writing of stores, HTTP, the catalog, cgo.
package constraint
