// Package operation runs long work as operations of its callers. A record in the catalog
// holds the progress and the outcome of each.
//
// What may not go in it: the work itself.
//
// Invariants:
//   - An operation has one owner, one replica that runs it, and ends once.
//   - Work that has waited runs with the rights that its caller has when it starts.
package operation
