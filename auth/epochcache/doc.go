// Package epochcache caches what the catalog says about credentials, for as long as the
// epoch of the catalog does not change.
//
// What may not go in it: formats of credentials, and decisions about them.
//
// Invariants:
//   - Every entry was read from the catalog after its epoch began. A newer epoch empties
//     the cache, and a call with an older one neither reads nor writes it.
//   - Entries are found by the hash of the whole credential, so that only its holder finds
//     them.
package epochcache
