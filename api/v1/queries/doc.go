// Package queries registers the routes of statements, of rows of tables, and of operations with
// their stored results. Its streams encode rows as they arrive: an early error still has a
// status, and a late one ends the response as broken.
// It does not parse SQL and holds no result as a whole.
package queries
