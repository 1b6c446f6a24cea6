// Package changes compares two versions of a table: rows, values and columns.
//
// What may not go in it: the log of the table. What a commit says about itself can be
// wrong, and reveals rows that the caller does not see.
//
// Invariant: the numbers are those of a comparison of all visible rows of both versions,
// under the rules of today.
package changes
