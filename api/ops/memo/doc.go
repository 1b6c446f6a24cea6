// Package memo caches what use cases compute, by everything on which it depends: answers
// of the catalog by the epoch at which they were read, plans by a digest of their inputs.
//
// What may not go in it: anything that knows what is cached.
//
// Invariants:
//   - Nothing is invalidated: a change leads to another key.
//   - An answer read at an epoch is the catalog's consistent state at that epoch.
package memo
