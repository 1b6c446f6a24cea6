// Package kill tests crashes, as a suite: the server is killed in the middle of writes,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package kill
