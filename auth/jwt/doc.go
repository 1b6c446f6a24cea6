// Package jwt verifies JSON Web Tokens of configured issuers.
//
// What may not go in it: issuing tokens, OAuth flows, HTTP handlers, SQL.
//
// Invariants, after RFC 8725:
//   - The issuer determines its keys, algorithms and audience. It is selected by the
//     exact iss claim. A token cannot name the location of a key, supply a key or
//     choose an algorithm that is not in the issuer's list.
//   - kid is only used to select a key of the issuer's set.
//   - A token with a header parameter that is not known to be harmless is refused.
//   - Claims are read from the bytes whose signature was checked.
//   - Only sub (or a verified e-mail), org and scope identify the caller and the
//     scopes of the token. The role and the membership come from the catalog.
//   - A token without an organisation gives a principal without role and scopes.
//   - The sessions of the server's own tokens are looked up. A token of a session that has
//     ended is refused.
//   - Times are exact: no leeway is added to exp or nbf.
package jwt
