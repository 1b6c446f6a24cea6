// Package engines builds the engine that runs statements, in processes of its own or in the
// server's, and runs such a process.
//
// What may not go in it: how the engine works, which is in engine/duckdb and engine/worker.
package engines
