// Package domain gives columns domains, the values that they may have, and changes,
// describes and lists these: domains of one column, and shared ones.
//
// What may not go in here: the check of written rows against domains and the rewriting of
// rows, which package write does, and the meaning of values, which engine/domain decides.
//
// Invariants:
//   - Whoever narrows a domain changes the catalog first, waits for the commits that were
//     checked under the domain before, and looks at the rows then. So every row is either
//     seen by the look, or was checked under the new domain.
//   - A caller who does not see all rows of a table learns of hidden ones at most whether
//     a value that is to be deleted, renamed or replaced is in use.
//   - A change of a value together with its rows, and the deletion of a value that no row
//     may have, survive their replica: the catalog has a record of each until it is complete.
package domain
