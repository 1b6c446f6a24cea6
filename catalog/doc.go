// Package catalog defines the records of Lakewarden (organisations, users, memberships,
// workspaces, storage configurations, tables, policies, API keys, operations, audit
// entries), the rules that a single record must obey, the sentinel errors, and the
// [Store] contract.
//
// What may not go in it: SQL, HTTP, object storage, Delta logs, secrets in
// clear, and any import of another Lakewarden package.
//
// Invariants:
//   - A record belongs to one organisation and is never reachable through another
//     one. A record of another organisation is reported like a missing one
//     ([ErrNotFound]).
//   - What governs a table refers to the table's Delta id ([DeltaID]), never to its
//     name or location.
//   - A storage configuration, and so each of its tables, is visible to its owner if
//     it is personal, otherwise to the members of its workspace, and to no one else;
//     see [Viewer].
//   - Every change that can alter what a user may see or do raises the epoch
//     ([Epochs]) in the same transaction.
//   - A change of a record compares its version and replaces it in one step.
//   - Times are UTC with microsecond precision.
//
// catalog/sqlstore implements the contract on SQLite and Postgres. catalog/authz wraps
// an implementation and checks every call. Both pass the test suite of
// catalog/catalogtest.
package catalog
