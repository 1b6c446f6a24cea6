// Package sso signs people in at the identity providers of organisations: it is a relying
// party of OpenID Connect, and verifies that an organisation controls an e-mail domain.
//
// What may not go in it: SQL, the catalog, decisions about members and their roles, and
// the server's own tokens.
//
// A provider is chosen by an administrator of an organisation, so it is not trusted beyond
// that organisation, and neither are its replies. Invariants:
//   - Every request goes through the client given to [New], which decides which addresses
//     may be reached. Redirects are not followed, and time and size of a reply are bounded.
//   - The issuer in the discovery document and in each token equals the configured one,
//     byte for byte.
//   - Tokens are signed with RS256, ES256 or EdDSA, by a key of the provider that fits the
//     algorithm.
//   - An [Identity] always has an e-mail address that the provider calls verified.
//   - No error text contains a token, a secret or a provider's reply.
package sso
