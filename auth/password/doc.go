// Package password hashes and verifies passwords, and has the rules that new ones must
// follow.
//
// What may not go in it: accounts, storage, HTTP, and counters of failed sign-ins.
//
// Invariants:
//   - A password is compared in its NFKC form, in constant time, and never truncated.
//   - The number of hashes in progress is bounded, and so is their memory: each takes
//     [Params].Memory. Waiting callers take turns by source, so that one source cannot
//     delay the others by more than one hash each.
//   - The verification of a password for an account that does not exist costs as much as
//     one for an account that does.
package password
