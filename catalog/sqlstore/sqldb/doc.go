// Package sqldb runs portable statements on the database of a catalog, which is SQLite or
// Postgres: connections, transactions, the epoch and announcements, scanning and paging.
//
// What may not go in it: statements about the records of a catalog, except for the
// conditions that all of them share (the visibility of a configuration, the organisation
// that is not deleted).
//
// Invariants:
//   - Every transaction of [DB.Change] raises the epoch with its first statement. The row
//     of the epoch is thereby also the lock that serialises such transactions. No other
//     transaction can change what one reads before it commits, and a reader of epoch n
//     sees every change up to n.
//   - A watch never sends an epoch below one that this process knew before, also if the
//     database is replaced by an earlier state.
//   - Statements bind all values. Caller input is never part of their text.
//   - Errors of drivers are translated to the sentinels of package catalog.
package sqldb
