// Package apikey creates, parses and verifies API keys.
//
// A key has the form lw_<8 visible>_<32 secret><6 checksum>, all base62. The part
// before the second underscore is its prefix, which is shown in lists, unique, and used
// to look up the key. With the checksum a mistyped or made-up key is refused without
// the catalog, and secret scanners recognise a real one.
//
// What may not go in it: HTTP, SQL, and rules about who may create a key (these are in
// package auth and in api/ops).
//
// Invariants:
//   - Only the SHA-256 of a key is ever compared or stored. The 32 random
//     characters hold 190 bits, so a fast hash is enough.
//   - A [Key] never prints its secret. Only [Key.Reveal] returns it.
//   - The reason of a refusal (revoked, expired) is returned only to a caller who
//     presented the whole key.
//   - A cached result is used for one catalog epoch only, and the expiry of a key is
//     checked on every use.
package apikey
