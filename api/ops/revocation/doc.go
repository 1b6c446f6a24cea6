// Package revocation ends running work when its caller loses the right to it.
//
// What may not go in here: what the right to some work depends on. The work brings a
// [Check].
//
// Invariants:
//   - Work is judged by a state of the catalog that is newer than its registration and
//     than its last call of Work.JudgeBy, so changes during planning are not missed.
//   - Work that cannot be judged for too long ends.
//   - Work is not ended between Work.Hold and Work.Release: a commit is not cut in half.
package revocation
