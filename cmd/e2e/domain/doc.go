// Package domain tests the domains of columns and shared domains, over HTTP against the whole
// server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package domain
