// Package apikey makes, parses and verifies API keys.
//
// A key reads lw_<8 visible>_<32 secret><6 checksum>, all base62. The part
// before the second underscore is its prefix: shown in lists, unique, and what
// a key is looked up by. The checksum lets a mistyped or made-up key be refused
// without asking the catalog, and lets secret scanners recognise a real one.
//
// What may not go in it: HTTP, SQL, and rules about who may create a key
// (package auth has the pure part, api/ops the rest).
//
// Invariants:
//   - Only the SHA-256 of a key is ever compared or stored. The 32 random
//     characters hold 190 bits, so a fast hash is enough.
//   - A [Key] never prints its secret; [Key.Reveal] is the one way to get it.
//   - Why a key is refused (revoked, expired) is told only to a caller who
//     presented the whole key.
//   - A cached answer is used for one catalog epoch only, and the expiry of a
//     key is checked on every use.
package apikey
