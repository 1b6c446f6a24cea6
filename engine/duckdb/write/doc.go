// Package write writes the rows of a statement into Parquet files, with the statistics
// of their columns.
//
// It knows nothing of tables, logs and commits. Invariants: the files hold exactly the
// rows of the statement, 0.0 and -0.0 apart; a file holds rows of one partition; a
// failed write may leave files behind, which its caller discards with their directory.
package write
