// Package oauth is the authorization server: it issues tokens to programs on behalf of
// signed-in people, and to service accounts, and tells programs who people are (OpenID Connect).
//
// It uses fosite for the validation of requests, the exchange of codes and refresh
// tokens, and PKCE (RFC 7636), and is the only package that imports it. Access tokens are
// JWTs (RFC 9068), which auth/jwt verifies.
//
// What may not go in it: SQL, the catalog, sign-in pages, and the rules about who may act
// in an organisation (see [Access]).
//
// Invariants:
//   - Nothing is sent to a redirect URI before the client and the URI are verified. People
//     who do not belong to a client's organisation are never sent to its redirect URIs, and
//     nobody is sent to those of an open client before answering the question for consent.
//   - A document of a client is requested for people who have signed in only.
//   - Every session of an open client is limited to one organisation that allows such clients.
//   - Every authorization request uses PKCE with S256, whatever the client.
//   - A code or refresh token is exchanged once. A second exchange ends its session.
//   - Every access token names a session, whose end makes it invalid.
//   - A token never has a scope that its client does not have now.
//   - A client gets an ID token only if it requested the scope openid and the user agreed. Nothing
//     accepts an ID token as an access token.
package oauth
