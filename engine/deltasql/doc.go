// Package deltasql maps the types of Delta tables to those of SQL and back.
//
// Two invariants hold:
//   - [DataType] of [Type] is the type itself, nullability aside, except for
//     variants and void columns.
//   - Every Delta type that the protocol names has a type in SQL.
//
// The package knows types only: it reads no log and writes no statement.
package deltasql
