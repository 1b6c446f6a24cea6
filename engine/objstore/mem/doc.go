// Package mem stores objects in memory, for tests and short-lived servers.
//
// Nothing is persistent and nothing is shared between processes. No other storage, format or SDK
// belongs here.
//
// Invariant: a stored byte slice is never modified; a reader sees the content that the object had
// when it was opened.
package mem
