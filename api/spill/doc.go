// Package spill sends bytes to clients, and buffers what a client has not read in
// temporary files of bounded size, so that the producer of the bytes need not wait for
// the client.
//
// The package knows bytes, connections and files, but not HTTP, the meaning of the bytes,
// or who may read them.
//
// Invariants:
//   - A connection gets exactly the bytes that were written, in their order, or a
//     prefix of them and an error.
//   - The files of all writers together, and those of one organisation, stay within
//     the limits of their [Store], and those of one user within half of the latter.
//   - A client that does not read a file at the minimum rate loses its connection: n
//     bytes of a file are sent within Options.Stall plus n divided by that rate.
//   - While others wait for a statement to end, its client's patience is short, and a user
//     whose limit is reached loses its slowest stream.
//   - A file has no name while it contains bytes, and only the server's user can read it.
//     It disappears when the process ends.
//   - After the context of a [Writer] has ended, no more of its file is sent.
package spill
