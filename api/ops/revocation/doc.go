// Package revocation ends running work when its caller loses the right to it.
//
// What may not go in it: the conditions of the right to some work, which the work
// defines by a [Check].
//
// Invariants:
//   - Work is checked against a state of the catalog that is newer than its registration and
//     than its last call of Work.SetCheck, so changes during planning are not missed.
//   - Work that cannot be checked for too long ends.
//   - Work is not ended between Work.Hold and Work.Release, so a commit is never
//     interrupted.
package revocation
