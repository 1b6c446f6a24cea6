// Package catalogtest is the suite that every [catalog.Store] passes: each
// implementation on each database, and each wrapper.
//
// For tests only.
package catalogtest
