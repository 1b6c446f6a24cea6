// Package sqlstore implements [catalog.Store] on SQLite and on Postgres with one set of
// portable statements. A small value holds the differences between the two.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), and driver errors in results: this package translates them.
//
// Invariants:
//   - Every transaction that changes what a user may see or do raises the epoch with
//     its first statement. The row of the epoch is thereby also the lock that
//     serialises such transactions. No other transaction can change what one reads
//     before it commits, and a reader of epoch n sees every change up to n.
//   - Statements bind all values. Caller input is never part of their text.
//   - Every statement names the organisation and excludes the records of a deleted
//     one.
package sqlstore
