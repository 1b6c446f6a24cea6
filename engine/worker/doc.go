// Package worker runs the [engine.Engine] contract in child processes, one for
// each owner of sessions and for each session that is to be apart. A crash, or a
// statement that takes more memory than its lease, ends only statements of that
// owner. A statement that ignores its interrupt ends no other statement: its process
// drains.
//
// [New] makes the parent's end, [Serve] is the child's. They talk over Unix
// socket pairs that have no name anywhere: the child inherits one for control,
// and each session gets one of its own, handed over through the control socket.
// So there is no multiplexing, the kernel's socket buffer is the back-pressure
// of a result, and the end of a process is an end of file for each of its
// sessions. Rows travel as Arrow IPC messages: gathered out of the engine's
// memory by one system call, read into the buffers in which the arrays lie.
//
// What may not go in: an engine (cmd chooses it and passes it to Serve), SQL,
// catalog, credentials.
//
// Invariants:
//   - A child gets nothing of the parent but what it was told: no environment,
//     no file descriptor, no directory. It cannot read them there either, nor the
//     parent's memory or that of other children.
//   - A result that lost its process never looks like a result that ended.
//   - A child holds at most what it held while nobody had a lease, what came to
//     rest since, and the leases of its statements, with 15 %; or it is killed.
//   - A statement that ran alone in a child that broke down by itself is told so
//     ([engine.ErrCrashed]); the others may be tried again ([engine.ErrLost]).
//   - The caller of a statement that was told to stop is answered within
//     [Options.Grace]. If the statement has not stopped by then, its process accepts
//     no more statements and is killed when the others have ended.
//   - The memory of an unresponsive statement stays accounted, in addition to the
//     leases, until its process ends.
//   - No child outlives its parent, however the parent ends.
//   - A link keeps the lists of files that it carried last, at both ends, until its
//     session rests. What stands where is the parent's decision alone.
//   - The parent believes a child's lengths only within limits: a child that
//     breaks the protocol is killed.
package worker
