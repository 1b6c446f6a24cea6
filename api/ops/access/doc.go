// Package access opens tables as callers may see them. The methods of [Tables] are the only
// doors to a table for callers: they resolve the name for the caller, refresh the log, select
// the version, compile the policies, and return a [Table] that applies them.
//
// What a caller does with a table decides how it is opened, and as which type: [Tables.Open] for
// reading, [Tables.OpenOwnRows] for changes of visible rows, [Tables.OpenChangeable] for other
// changes, and from there [Changeable.Whole] for changes of the whole table. Leases of changes
// take these types only.
//
// What may not go in it: statements, writes and other changes of tables.
//
// Invariants:
//   - Only this package makes a Table, and the types of its classes: their fields are unexported.
//   - Policies and the member's attributes are read at one epoch.
//   - An older version shows no more than the newest one. A version of a replaced table is
//     for callers who see all of both tables.
//   - A hidden table and one that does not exist have the same error.
package access
