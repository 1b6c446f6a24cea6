// Package sandbox locks DuckDB instances down: which directories and remote prefixes an
// instance may read, which settings it may still change, and the attacks that test both
// when the server starts.
//
// It runs no statement of a user. Invariants: the configuration of a confined instance
// is locked and its file access ends at its roots and prefixes; symbolic links are
// resolved before a local path is compared; a remote name has exactly one spelling.
package sandbox
