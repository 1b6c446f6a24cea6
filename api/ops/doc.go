// Package ops is the root of the use cases: what happens when a key is created, a policy
// is changed, a statement is run. A transport (HTTP today) decodes a request, calls one
// use case and encodes its answer.
//
// The use cases are the packages below this one, each of which imports only earlier ones
// of this list: fault, feature, memo, caller, revocation, lake, access, operation, query,
// write, table, domain, infer, maintain, admin, identity, storage, analysis. This package
// has no code.
//
// What may not go in it, or below it: net/http, wire types, status codes, SQL drivers,
// object-store SDKs, duckdb-go.
//
// Invariants:
//   - The caller is the principal of the context. The store is the authorised one, so a
//     check that a use case forgets is still made.
//   - A use case either takes effect or leaves things as they were.
package ops
