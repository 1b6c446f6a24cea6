// Package oracletest finds the programs that tests compare with: the Python that
// has delta-rs, Cedar and plain DuckDB, and DuckDB's extensions.
//
// Each is found where an environment variable says, or where `make test-deps` puts
// it. If one is missing, the test is skipped, or fails if the environment variable
// CI is set, so that no gap looks like a pass.
//
// What may not go in it: the requests that a test sends to its oracle. For tests only.
package oracletest
