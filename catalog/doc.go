// Package catalog holds the nouns of Lakewarden (organisations, users,
// memberships, workspaces, storage configurations, tables, policies, API keys,
// operations, audit entries), the rules a single record must obey, the
// sentinels, and the [Store] contract that keeps them.
//
// What may not go in it: SQL, HTTP, object storage, Delta logs, secrets in
// clear, and any import of another Lakewarden package.
//
// Invariants:
//   - A record belongs to one organisation and is never reachable through
//     another one; a miss and a record of somebody else look the same
//     ([ErrNotFound]).
//   - What governs a table hangs on the table's Delta id ([DeltaID]), never on
//     its name or place.
//   - A storage configuration, and so each of its tables, is visible to its
//     owner while it is personal, else to the members of its workspace, and to
//     nobody else; see [Viewer].
//   - Every change that can alter what somebody may see or do raises the
//     [Epoch] in the same transaction.
//   - Changes of a record compare its version and replace it in one step.
//   - Times are UTC with microsecond precision.
//
// catalog/sqlstore implements the contract on SQLite and Postgres, and
// catalog/authz wraps an implementation so that no call goes unchecked. Both
// run the suite of catalog/catalogtest.
package catalog
