// Package workdir manages the directories in which the server and its engines work: it locks them,
// moves complete files out of them, and removes those of ended processes.
//
// What may not go in it: anything that knows the content of the files.
//
// Invariants:
//   - A directory of a live process is never removed by another process.
//   - While one process holds a data directory with [Hold], all others are refused.
//   - A file that [Move] has moved is complete; if Move fails, none of its files remains in the
//     target directory.
package workdir
