// Package extension finds, verifies and installs the files of DuckDB extensions.
//
// It loads no extension into a session. Invariants: a file is used only if DuckDB
// accepted its signature in this process or in the parent that reports it, if nobody
// but its owner and group can write to it, and if it has not changed since.
package extension
