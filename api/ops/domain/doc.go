// Package domain sets, describes and removes the domains of columns, which restrict their
// values, and shared domains, which several columns use. It lists and changes the values of
// domains.
//
// What may not go in it: the check of written rows against domains and the rewriting of
// rows (package write), and the meaning of values and rules (engine/domain).
//
// Invariants:
//   - A change that narrows a domain is first stored in the catalog, then waits for commits
//     that were checked under the previous version, and only then reads the rows. So every
//     row is either read or was checked under the new version.
//   - A caller who does not see all rows of a table learns at most one thing about hidden
//     rows: whether a value that is to be deleted, renamed or replaced is in use.
//   - A change of a value together with its rows, and the deletion of a value, survive their
//     replica: the catalog has a record of each until it is complete.
package domain
