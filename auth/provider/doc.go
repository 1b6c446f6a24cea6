// Package provider obtains delegated access to people's storage at OAuth providers: it
// is the client of an authorization code flow with PKCE, and exchanges refresh tokens.
//
// What may not go in it: SQL, the catalog, decisions about who may link, and the storage
// of tokens.
//
// The operator of the server chooses the addresses of the providers. Administrators of
// organisations choose the client and the tenant, which becomes a segment of a path.
// Invariants:
//   - Every request goes through the client given to [New], which decides which addresses
//     may be reached. Redirects are not followed, and time and size of a reply are
//     bounded.
//   - The client secret travels in one way only, so that a refused code or token is not
//     sent twice.
//   - No error text contains a token, a secret or a provider's reply.
package provider
