// Package queries registers the routes of statements, of rows of tables, and of
// operations with their stored results. Rows are encoded as they arrive: an early error
// still determines the status, and a late one ends the response as broken.
//
// What may not go in it: parsing SQL, and buffering whole results.
package queries
