// Package interop checks that other engines and the server read each other's
// tables. After every kind of write through the REST interface of a real server, on
// local disk and in S3, each engine has to read the rows that the server reads, and
// to write to the table, which the server then has to read.
//
// It holds tests only. `go test` uses delta-rs and DuckDB's delta extension. With
// the build tag interop (make interop) it also uses Spark and writes the results to
// a report. The limits of each engine are listed with the scenarios and are tested:
// an engine that no longer refuses is a failure, so that the list stays correct.
//
// It also reads and writes tables that other writers could have made:
// testdata/conformance holds, as text, a table for every feature of the protocol
// and for every fault that a log can have. The index describes each table and its
// expected outcome. TestConformance makes the tables from the text, and
// docs/reports has the numbers by feature. To add a table, put its log and the rows
// of its files into a file of testdata/conformance/tables and its expected outcome
// into the index.
//
// The server is the program that LAKEWARDEN_TEST_SERVER names, or bin/lakewarden.
// No package of the server is imported.
package interop
