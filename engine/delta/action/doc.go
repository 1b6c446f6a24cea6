// Package action holds the actions of a Delta log and their JSON form.
//
// Decoding is strict about what we understand and silent about what we do not:
// an unknown action or an unknown field is skipped, as the protocol's section
// on evolution demands, while a known action that is torn, ambiguous or lacks
// what it needs is an error. Member names are case sensitive and may not
// repeat, because another reader of the same bytes (DuckDB's) could pick the
// other one, and what we validated would not be what is read.
//
// Invariants:
//   - Numbers are exact: every int64 survives, no value passes through a float.
//   - Paths are kept as they stand in the log, URI-encoded; logpath decodes.
//   - The package knows bytes only: no object store, no snapshot, no schema.
package action
