// Package analysis tests the analyses of tables and the models that word them, over HTTP
// against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to harness.
package analysis
