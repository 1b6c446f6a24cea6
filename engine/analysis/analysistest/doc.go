// Package analysistest gives tests of analyses a table in a real engine, behind the guard
// that statements of callers pass.
//
// What may not go in it: expectations about what analyses find.
package analysistest
