// Package session defines the records of sign-ins: sessions, the codes and refresh
// tokens issued for them, browser cookies, one-time tokens in links and redirects, and the
// tokens that programs get.
//
// What may not go in it: SQL, HTTP, the flows of OAuth, and records that the catalog governs
// (clients, invitations, configurations).
//
// Invariants:
//   - A token is stored only as its SHA-256. Whoever reads the database cannot use it.
//   - All tokens that come from one sign-in belong to its [Session] and end with it.
//   - The end of a session raises the epoch of the catalog in the same transaction, so
//     that every replica refuses its access tokens within a second.
//
// auth/sqlstore implements the contracts.
package session
