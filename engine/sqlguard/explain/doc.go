// Package explain makes the plan text of an EXPLAIN statement.
//
// The text follows from the statement as the user wrote it and from the columns that the
// user sees. It reveals nothing of the tables' data, files, versions and policies, nor
// which table is filtered.
package explain
