// Package workdir owns the directories in which the server and its engines work: what
// they put there is theirs until it is complete, and gone when they are.
//
// What may not go in: anything that knows what the files hold.
//
// Invariants:
//   - A directory whose process lives is never removed by another one.
//   - A data directory that one process has [Hold] of is refused to others.
//   - A file that [Move] has moved is complete; after its failure none of its
//     files is left in the new place.
package workdir
