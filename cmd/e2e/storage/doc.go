// Package storage tests storage configurations and their credentials,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package storage
