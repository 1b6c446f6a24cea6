// Package sqltree decodes, edits and encodes the tree that DuckDB's parser makes of a
// statement.
//
// A [Node] is one JSON object of the tree. The package knows the form of the tree, and
// neither what a statement may do nor any list of functions.
//
// Invariants:
//   - [Decode] refuses duplicate fields, trailing text, invalid UTF-8 and trees that are
//     deeper than asked for. It leaves out fields that are null.
//   - Numbers are exact text, and the order of fields is that of the parser.
//   - Lists of field names are shared between nodes and never written to.
//
// It imports no other package of this module.
package sqltree
