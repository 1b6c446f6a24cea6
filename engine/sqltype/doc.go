// Package sqltype holds the types of SQL columns as DuckDB knows them, and the
// text of their values.
//
// A [Type] is parsed once, where text enters: from a request, or from a message
// between processes. It becomes text again only for DuckDB and for clients.
//
// Invariants:
//   - [Parse] reads back what a type's String method prints.
//   - Types are immutable, and safe for concurrent use.
//
// The package holds no SQL statements, knows nothing of Delta's types, and imports
// no other Lakewarden package.
package sqltype
