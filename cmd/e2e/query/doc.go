// Package query tests statements, their formats and pages, and every way in which tables are read,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package query
