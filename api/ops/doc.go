// Package ops holds one file per use case: what happens when a key is created,
// a policy is changed, a statement is run. A transport (HTTP today) decodes a
// request, calls one operation and encodes its answer.
//
// What may not go in here: net/http, wire types, status codes, SQL drivers,
// object-store SDKs, duckdb-go.
//
// Invariants:
//   - The caller is the principal of the context; an operation has no other
//     idea of who asks. The store it holds is the authorised one, so a check
//     that an operation forgets is still made.
//   - Nothing half-done stays behind: an operation either takes effect or
//     leaves things as they were.
//   - A statement reaches the engine through [Queries] and nowhere else.
package ops
