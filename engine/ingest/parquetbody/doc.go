// Package parquetbody stores Parquet bodies as they are and writes the SQL by which a
// sandboxed engine reads and checks them.
//
// It decodes nothing but the two ends of a file. Invariants: text of a file appears in SQL
// quoted only; a value that its column cannot hold is reported and never changed.
package parquetbody
