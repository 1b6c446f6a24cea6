// Package access opens tables as callers may see them. The methods of [Tables] are the only
// doors to a table for callers: they resolve the name for the caller, refresh the log, select
// the version, compile the policies, and return a [Table] that applies them.
//
// What may not go in it: statements, writes and other changes of tables.
//
// Invariants:
//   - Only this package makes a Table: its fields are unexported.
//   - Policies and the member's attributes are read at one epoch.
//   - An older version shows no more than the newest one. A version of a replaced table is
//     for callers who see all of both tables.
//   - A hidden table and one that does not exist have the same error.
package access
