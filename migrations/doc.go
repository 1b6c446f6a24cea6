// Package migrations holds the numbered SQL files that make the schema of the
// catalog, for SQLite and for Postgres, and applies them.
//
// What may not go in it: queries of the running server, Go migrations, any
// import of another Lakewarden package.
//
// Invariants:
//   - Files are append-only: a released file never changes.
//   - Both databases have the same numbers with the same meaning.
//   - [Apply] runs under a lock that holds across processes and hosts, so any
//     number of servers may start at once.
//   - A schema with a number that this binary does not know is refused.
package migrations
