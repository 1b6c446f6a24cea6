// Package storage manages storage configurations: their creation, credentials and tests, the
// discovery of their tables, their attachment to workspaces, and moves of their data.
//
// What may not go in it: reads and changes of rows, and the wire form of a request.
//
// Invariants:
//   - A credential is stored encrypted, and is tested before it is used.
//   - A rotation that fails leaves the old credential in use.
//   - A configuration that could not be created whole is removed.
package storage
