// Package workdir is about the directories in which engines work: what they put
// there is theirs until it is complete, and gone when they are.
//
// What may not go in: anything that knows what the files hold.
//
// Invariants:
//   - A directory whose process lives is never removed by another one.
//   - A file that [Move] has moved is complete; after its failure none of its
//     files is left in the new place.
package workdir
