// Package interop asks other engines what they make of our tables: after every
// kind of write through the REST interface of a real server, on local disk and
// in S3, each of them has to read the rows that the server reads, and to write
// to the table itself, which the server then has to read.
//
// It holds tests only. `go test` asks delta-rs and DuckDB's delta extension;
// with the build tag interop (make interop) Spark judges too, and the outcome
// goes to docs/interop.md. What an engine cannot do by its own limits stands in
// the lives of the tables, and is demanded: an engine that no longer refuses is
// a failure, so that the list stays true.
//
// It also reads and writes tables that others could have made: testdata/conformance
// holds a table for every feature of the protocol, and for every fault that a log can
// have, as text. The index describes each table and its expected outcome. TestConformance
// makes the tables from the text, and docs/reports has the numbers by feature. To add a
// table, put its log and the rows of its files into a file of
// testdata/conformance/tables and its expected outcome into the index.
//
// The server is the program that LAKEWARDEN_TEST_SERVER names, or bin/lakewarden.
// No package of the server is imported.
package interop
