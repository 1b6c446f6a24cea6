//go:build !duckdb_arrow

package native

// The Arrow half of the bindings exists only under its build tag. Without it
// this line fails and says what is missing.
const _ int = "build with -tags duckdb_arrow"
