// Package faults rewrites what the engine is known to answer wrongly into forms that it
// answers right, or that fail. docs/sql.md lists these faults; those that no rewrite avoids
// are optimizers that the sandbox of the engine disables.
//
// It changes trees that are about to be printed. Invariants: a rewritten statement has the
// rows, the order, the names and the types of the original, or fails; a statement that no
// known fault can reach stays as it is.
package faults
