// Package mem keeps objects in memory, for tests and short-lived servers.
//
// Nothing is persistent and nothing is shared between processes. No other
// storage, format or SDK belongs here.
//
// Invariant: a stored byte slice is never written to again; readers that opened
// an object keep the content they opened.
package mem
