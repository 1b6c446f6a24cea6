//go:build !duckdb_arrow

package native

// The Arrow part of the bindings requires its build tag. Without it this line fails to compile, and
// the error message contains the remedy.
const _ int = "build with -tags duckdb_arrow"
