// Package action defines the actions of a Delta log and their JSON encoding.
//
// As the protocol requires, decoding ignores unknown actions and fields. A known action
// that is truncated, ambiguous or incomplete is an error. Member names are case
// sensitive and must not repeat, because another reader of the same bytes (DuckDB's)
// could use the other occurrence and read something that was not validated.
//
// Invariants:
//   - Numbers are exact: every int64 is preserved, no value is converted to a float.
//   - Paths have the URI-encoded form of the log; package logpath decodes them.
//   - The package converts bytes only: no object store, no snapshot, no schema.
package action
