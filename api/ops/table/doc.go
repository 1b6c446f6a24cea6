// Package table creates, changes, restores and drops tables, and pages through their rows.
// Changes of a table are its columns, keys, constraints and properties.
//
// What may not go in it: changes of rows (package write), maintenance of files (package
// maintain).
//
// Invariants:
//   - A change is one commit, planned again when it loses a race.
//   - No change of columns brings a policy into force, takes it out of force, or gives it
//     another column.
//   - A caller who does not see all of a table learns of its rows at most whether they
//     satisfy NOT NULL and the keys that others made.
package table
