// Package pushdown finds the conditions of a statement that may take part in choosing the
// files and rows of a table.
//
// Only a comparison of a bare column with constants of exactly that column's type moves,
// because it cannot fail on any row. The statement keeps the condition, so leaving one out
// is always right.
package pushdown
