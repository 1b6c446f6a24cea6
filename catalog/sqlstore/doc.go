// Package sqlstore is the [catalog.Store] on SQLite and on Postgres: one set of
// portable statements and a small explicit value for what differs between the
// two.
//
// What may not go in it: rules of the domain (they live with the types in
// package catalog), authorisation (catalog/authz), and driver errors in what
// callers get: they are translated here, once.
//
// Invariants:
//   - Every transaction that changes what somebody may see or do raises the
//     epoch with its first statement. The epoch's row is thereby also the lock
//     that puts such transactions in one order, so what a transaction reads
//     cannot be changed by another one before it commits, and whoever reads
//     epoch n sees every change up to n.
//   - Statements bind all values; nothing of a caller is ever part of their
//     text.
//   - Every statement names the organisation, and misses the records of a
//     deleted one.
package sqlstore
