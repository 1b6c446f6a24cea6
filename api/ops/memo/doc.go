// Package memo caches what use cases compute, under all that it depends on: answers of the
// catalog under the epoch at which they were read, plans under a digest of their inputs.
//
// What may not go in here: anything that knows what it caches.
//
// Invariants:
//   - Nothing is ever invalidated: a change makes another key.
//   - An answer that is read at one epoch is as the catalog was at that epoch, whole.
package memo
