// Package domains stores the domains of columns, their values, and the writes that are
// about to commit rows which were checked under them.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), and the registration of tables (catalog/sqlstore).
//
// Invariants:
//   - A domain without a name is used by exactly one column, and removed with that use.
//   - Every transaction that changes a domain raises its version, and the version of the
//     domains of each table that uses it.
//   - The publication of a write locks the version that it names, so it precedes or
//     follows each change of that version as a whole.
//   - A domain has at most one change of a value under way, and changes otherwise only
//     when it has none.
package domains
