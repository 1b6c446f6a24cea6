// Package constraint holds the rules that every row of a table must satisfy, and finds the
// rows that break them: NOT NULL, CHECK constraints, column invariants, unique columns, the
// primary key, the domains of columns, and the writer's own row filter on the rows that it
// writes.
//
// # Sources of rules
//
// [Of] reads the rules of a snapshot: nullability and keys from its schema and properties,
// and the constraints and invariants of the log, which are in a closed subset of Spark's SQL.
// A constraint that cannot be translated refuses the write and is named in the error.
// [ParseCheck] parses constraints of the catalog ([Set.Add]), which a user wrote in DuckDB's
// SQL or which come from a log. [Check.Portable] reports whether Spark's SQL has an
// equivalent expression.
//
// # Checking a write
//
// A write stages its new rows and checks them in one service session, in this order:
//
//	set, err := constraint.Of(snap)        // refuses untranslatable constraints
//	err = set.Add(ctx, parser, name, expr) // for each constraint of the catalog
//	scope := constraint.Scope{Session: s, Sources: sources, Lease: lease}
//	rows := append(set.Rows(), constraint.RowFilter(predicate)) // a predicate over constraint.Alias
//	report, err := scope.Broken(ctx, rows, staged) // the first class of broken rules
//	for _, key := range set.AllKeys() {
//		report, err = scope.Repeated(ctx, key, staged)         // equal keys in the request
//		condition, err := scope.KeyCondition(ctx, key, staged) // prunes the table
//		report, err = scope.Taken(ctx, key, staged, table)     // table: the remaining files
//	}
//
// The staged relation has the columns of the table and one with the row's number in the
// request ([Relation.Row]). After a lost race, Taken is called again for the files that won.
// A commit of checked rows claims the duties of [Set.Duties].
//
// # Invariants
//
//   - Only expressions printed from this package's own tree reach an engine: every node,
//     function and type in it was on a list, and every column is one of the table's.
//   - A check that is not TRUE is broken: NULL, FALSE, and an expression that fails for a row
//     (because of an overflow or a cast).
//   - A constraint that is printed for the log means the same to Spark, and can be evaluated
//     by delta-rs, for every row on which it does not overflow.
//
// What may not go in it: reading or writing of stores, HTTP, the catalog, cgo.
package constraint
