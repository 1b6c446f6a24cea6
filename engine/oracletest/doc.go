// Package oracletest finds what tests compare with: the Python that has delta-rs,
// Cedar and plain DuckDB, and DuckDB's extensions.
//
// Each is where an environment variable says, or where `make test-deps` puts it.
// Where one is missing the test is skipped; when the environment variable CI is
// set, it fails, so that no gap looks like a pass.
//
// What may not go in: what a test asks its oracle.
//
// For tests only.
package oracletest
