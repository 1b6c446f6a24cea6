// Package spill passes bytes on to clients and puts what a client does not take
// into temporary files of bounded size, so that whoever makes the bytes need not
// wait for the client.
//
// The package knows bytes, connections and files. It does not know what the bytes
// say, HTTP, or who may read them.
//
// Invariants:
//   - A connection gets exactly the bytes that were written, in their order, or a
//     prefix of them and an error.
//   - The files of all writers together, and those of one owner, stay within the
//     limits of their [Store].
//   - A file has no name while it holds bytes, and only the server's user can read
//     it: the end of the process removes it.
//   - When the context of a [Writer] has ended, no more of its file is sent.
package spill
