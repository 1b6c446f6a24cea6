// Package admin manages what an organisation consists of: members, workspaces, keys,
// policies and storage.
//
// What may not go in here: reads and changes of rows.
//
// Invariants:
//   - Nobody grants more than they have.
//   - A credential is stored sealed, and is tried out before it is used.
package admin
