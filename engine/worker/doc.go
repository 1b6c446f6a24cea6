// Package worker runs the [engine.Engine] contract in child processes, one for
// each owner of sessions and for each session that asks for its own. A crash, or a
// statement that takes more memory than its lease, ends only statements of that
// owner. A statement that ignores its interrupt ends no other statement: its process
// drains.
//
// [New] returns the parent's end, [Serve] runs the child's. They talk over unnamed
// Unix socket pairs: the child inherits one for control, and each session has its own,
// handed over through the control socket. So there is no multiplexing, the kernel's
// socket buffer is the back-pressure of a result, and the end of a process is an end
// of file for each of its sessions. Messages are CBOR. Rows are Arrow IPC messages:
// gathered from the engine's memory by one system call, and read into the buffers of
// the arrays.
//
// The package holds no engine (cmd chooses it and passes it to Serve), SQL, catalog or
// credentials.
//
// Invariants:
//   - A child receives messages of the parent only: no environment, file descriptor or
//     directory. It can read neither those of the parent nor the memory of the parent
//     or of other children.
//   - A result that lost its process never looks like a result that ended.
//   - A child holds at most its memory at a time without leases, that of sessions that
//     became idle since, and the leases of its statements, with 15 %; or it is killed.
//   - A statement that ran alone in a child that crashed by itself fails with
//     [engine.ErrCrashed]; other statements with [engine.ErrLost] may be tried again.
//   - The caller of an interrupted statement has an answer within [Options.Grace]. If the
//     statement has not stopped by then, its process accepts no more statements and is
//     killed when the others have ended.
//   - The memory of an unresponsive statement stays accounted, in addition to the
//     leases, until its process ends.
//   - No child outlives its parent, however the parent ends.
//   - Both ends of a link cache the lists of files that it carried last, until its
//     session is idle. The parent alone decides which slot holds which list.
//   - The memory that a child's message takes is bounded by the message's length, and
//     its length by a limit: a child that breaks the protocol is killed.
package worker
