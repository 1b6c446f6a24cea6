// Package auth defines callers and their permissions: the [Principal], organisation
// roles, scopes, the context functions that carry a principal through a request, and
// the [Authenticator] contract that turns a bearer token into one.
//
// What may not go in it: token formats and their verification (auth/apikey,
// auth/jwt), OAuth libraries, storage, HTTP, and any other Lakewarden package.
//
// Invariants:
//   - The zero [Principal], the zero [ScopeSet], an unknown [Role] and a context
//     without a principal grant nothing.
//   - A principal acts in at most one organisation. In none, it has neither role nor
//     scopes.
//   - [Principal.Scopes] never exceeds what the role allows, and no code extends a
//     [ScopeSet]: credentials are only combined by intersection.
package auth
