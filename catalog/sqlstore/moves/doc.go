// Package moves stores the moves of objects between storage configurations, and switches the
// registrations of tables from the source to the destination.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), and the work on objects (engine/storage/move).
//
// Invariants:
//   - The places of two moves that have not ended do not overlap.
//   - A move changes its state only in the name of its holder.
//   - All registrations of a move change their place in one transaction, which raises the
//     epoch.
package moves
