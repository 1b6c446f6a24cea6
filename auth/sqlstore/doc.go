// Package sqlstore stores sign-ins in the database of the catalog: the contracts of
// package session, the grants of the authorization server, and its signing keys.
//
// What may not go in it: governed records, which are in catalog/sqlstore, and decisions
// about who may sign in.
//
// Invariants:
//   - Secrets are stored as hashes, private keys sealed.
//   - What ends a session runs in a transaction that raises the epoch. What begins one
//     does not: a new session takes no right from anybody.
package sqlstore
