// Package access opens tables as callers may see them. [Tables.Open] is the only door to a
// table: it resolves the name for the caller, refreshes the log, selects the version,
// compiles the policies, and returns a [Table] that applies them.
//
// What may not go in here: statements, writes and other changes of tables.
//
// Invariants:
//   - Only this package makes a Table: its fields are unexported.
//   - Policies and the member's attributes are read at one epoch.
//   - An older version shows no more than the newest one. A version of a replaced table is
//     for callers who see all of both tables.
//   - A hidden table and one that does not exist have the same error.
package access
