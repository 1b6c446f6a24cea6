// Package worlds tests leaks, as a suite: two worlds that differ in hidden values must answer alike,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package worlds
