// Package hostile tests attacks, as a suite: hostile statements, files and clients,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package hostile
