// Package worker runs the [engine.Engine] contract in child processes: for each owner of sessions one
// for statements over tables and one that reads uploaded files, and one for each session that
// requests its own. A crash, or a statement that takes more memory than its lease, ends only
// statements of that process. A statement that ignores its interrupt ends no other statement: its
// process drains.
//
// [New] returns the parent's side, [Serve] runs the child's. They communicate over unnamed Unix
// socket pairs: the child inherits one for control, and each session has its own, passed through
// the control socket. Therefore there is no multiplexing, the kernel's socket buffer limits how far
// a result runs ahead, and the end of a process is an end of file for each of its sessions.
// Messages are CBOR. Rows are Arrow IPC messages: one system call writes them from the engine's
// memory, and they are read into the buffers of the arrays.
//
// The package contains no engine (cmd chooses it and passes it to Serve), SQL, catalog or
// credentials.
//
// Invariants:
//   - A child receives only messages from the parent: no environment, file descriptor or directory.
//     It can read neither these nor the memory of the parent or of other children.
//   - A result that lost its process never looks like a result that ended.
//   - A child that holds more than the following is killed: its memory without leases, that of
//     sessions that became idle after it was measured, and the leases of its statements plus 15 %.
//   - A statement that ran alone in a child that crashed by itself fails with [engine.ErrCrashed];
//     other statements fail with [engine.ErrLost] and may be retried.
//   - The caller of an interrupted statement gets a result within [Options.Grace]. If the statement
//     has not stopped by then, its process accepts no more statements and is killed when the others
//     have ended.
//   - The memory of an unresponsive statement remains accounted, in addition to the leases, until
//     its process ends.
//   - No child outlives its parent, however the parent ends.
//   - Both sides of a link cache the lists of files that it carried last, until its session is
//     idle. The parent alone decides which slot holds which list.
//   - The memory for a child's message is bounded by the message's length, and its length by a
//     limit: a child that violates the protocol is killed. The Arrow library, which allocates what
//     messages claim, decodes only messages that package arrowcheck has accepted.
package worker
