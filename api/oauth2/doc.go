// Package oauth2 is the door of the authorization server: its endpoints below /oauth2, the
// documents below /.well-known by which clients find them, and the registration of
// clients.
//
// Bodies and errors have the form of the standards: RFC 6749, 7009, 7662, 7591, 7592, 8414
// and 9728. The routes are not part of the description of /v1.
//
// What may not go in it: the rules of flows and tokens (auth/oauth), and those of clients
// (api/ops/program).
//
// Invariants:
//   - No reply permits scripts of other origins to read it.
//   - Replies that hold tokens or secrets are not stored by caches.
package oauth2
