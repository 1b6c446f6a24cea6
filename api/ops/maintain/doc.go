// Package maintain keeps tables small and quick to read: optimize, vacuum, the checks of
// rules after commits of other writers, and the removal of unused tables of sandboxes.
//
// What may not go in it: changes of rows.
//
// Invariants:
//   - Maintenance changes no row, and reveals nothing of rows that its caller does not see.
//   - A vacuum deletes no file that a running write or restore needs.
package maintain
