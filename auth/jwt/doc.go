// Package jwt verifies JSON Web Tokens of configured issuers.
//
// What may not go in it: issuing tokens, OAuth flows, HTTP handlers, SQL.
//
// Invariants, after RFC 8725:
//   - The issuer decides everything: its keys, its algorithms, its audience. It
//     is found by the exact iss claim; nothing a token says can name a key's
//     place, bring a key along or choose an algorithm outside the issuer's list.
//   - kid is only ever a key into the issuer's set.
//   - A header parameter that is not known to be harmless refuses the token.
//   - Claims are read from the bytes whose signature was checked.
//   - Only sub (or a verified e-mail), org and scope say who calls and what the
//     token carries; the role and the membership come from the catalog.
//   - Times are exact: no leeway is added to exp or nbf.
package jwt
