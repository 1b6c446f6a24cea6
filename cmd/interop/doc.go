// Package interop checks that other engines and the server read each other's
// tables. After every kind of write through the REST interface of a real server, each
// engine has to read the rows that the server reads, and to write to the table, which
// the server then has to read.
//
// The tables are on local disk, in S3, in Azure Blob Storage and in Google Cloud
// Storage: each scenario takes two of these places by turns, or the one that
// LAKEWARDEN_TEST_STORE names (local, s3, azure or gcs). All engines read and write
// S3 with clients of their own, and delta-rs does so in Azure. Otherwise engines use
// the folder that follows the bucket (see mirrortest): the installed Spark and DuckDB
// have no clients of these stores, and fake-gcs-server refuses the XML interface with
// which delta-rs writes.
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
// The server is the program that LAKEWARDEN_TEST_SERVER names, or bin/lakewarden. No
// package of the server is imported, except by mirrortest, which copies objects with
// the clients of engine/objstore.
package interop
