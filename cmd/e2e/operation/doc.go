// Package operation tests the service itself: the described API, long-running operations, commands, processes and metrics,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package operation
