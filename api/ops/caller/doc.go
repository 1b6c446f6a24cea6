// Package caller says who asks, and records what was asked: the caller of an operation
// comes from the context's principal, and every operation has an entry in the audit log.
//
// What may not go in here: decisions about what a caller may do; they are those of
// package authz and of the use cases.
//
// Invariants:
//   - The caller is the principal of the context; no operation takes it from a request.
//   - An audit entry is stored, or written to the server's log.
package caller
