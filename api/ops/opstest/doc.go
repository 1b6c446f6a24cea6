// Package opstest gives tests of use cases a lake with a real catalog and engine: SQLite and
// DuckDB in this process, and tables in a directory of the test.
//
// What may not go in it: expectations about what use cases do.
package opstest
