// Package stated compares the rules that the log of a table states with those that it stated
// before, to find out what another writer has lost.
package stated
