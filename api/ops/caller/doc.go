// Package caller identifies the caller of an operation by the context's principal, and
// records every operation in the audit log.
//
// What may not go in it: decisions about what a caller may do, which packages authz and
// the use cases make.
//
// Invariants:
//   - The caller is the principal of the context; no operation takes it from a request.
//   - An audit entry is stored in the catalog or, if that fails, written to the server's
//     log.
package caller
