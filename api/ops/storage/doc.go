// Package storage manages storage configurations: their creation, credentials, tests and
// the discovery of their tables.
//
// What may not go in here: reads and changes of rows, and the wire form of a request.
//
// Invariants:
//   - A credential is stored encrypted, and is tested before it is used.
//   - A rotation that fails leaves the old credential in use.
//   - A configuration that could not be created whole is removed.
package storage
