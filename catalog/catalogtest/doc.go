// Package catalogtest is the test suite for every [catalog.Store]: each implementation
// on each database, and each wrapper.
//
// For tests only.
package catalogtest
