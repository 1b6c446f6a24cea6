// Package write tests changes of rows: bodies, keys, constraints and defaults,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package write
