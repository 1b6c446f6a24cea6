// Package sqlstore implements [catalog.Store] on SQLite and on Postgres with one set of
// portable statements. sqldb runs them on either; domains has those about the domains of
// columns, identity those about how people and programs come into organisations,
// moves those about moves of data, analysis those about the use of models.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), and driver errors in results: this package translates them.
//
// Invariants:
//   - Every transaction that changes what a user may see or do raises the epoch; see
//     [sqldb.DB.Change].
//   - Statements bind all values. Caller input is never part of their text.
//   - Every statement names the organisation and excludes the records of a deleted
//     one.
package sqlstore
