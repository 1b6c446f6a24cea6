// Package table tests tables: their creation, their columns, maintenance and restoration,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package table
