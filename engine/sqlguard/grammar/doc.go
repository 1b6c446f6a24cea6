// Package grammar checks the tree of a statement against a closed grammar.
//
// A node type, field, enumeration value or cast target that is not listed is refused,
// also when a newer DuckDB adds it. After [Read] every node is of a listed type, and
// every field has a value of the kind that the grammar names. The package knows neither
// names nor functions.
package grammar
