//go:build !duckdb_arrow

package native

// The Arrow half of the bindings exists only under its build tag. Without it this line fails
// to compile, with the remedy in its message.
const _ int = "build with -tags duckdb_arrow"
