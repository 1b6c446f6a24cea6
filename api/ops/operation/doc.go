// Package operation runs long work: as an operation of its caller, with a record in the
// catalog that says how far the work is and how it ended.
//
// What may not go in here: what the work does.
//
// Invariants:
//   - An operation has one owner, one replica that runs it, and one end.
//   - Work that starts late runs with the rights that its caller has then.
package operation
