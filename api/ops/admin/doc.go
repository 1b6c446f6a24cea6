// Package admin manages the members, workspaces, keys, policies and storage of an
// organisation.
//
// What may not go in here: reads and changes of rows.
//
// Invariants:
//   - No caller grants rights that exceed their own.
//   - A credential is stored encrypted, and is tested before it is used.
package admin
