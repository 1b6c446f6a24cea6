// Package sqltext finds words, quoted text and comments in the text of a statement.
//
// It serves estimates, error positions and names of result columns. No decision about
// what a statement may do rests on it: that is made on the tree of DuckDB's parser.
package sqltext
