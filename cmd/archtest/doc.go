// Package archtest tests the structure of the source tree: which packages may import
// each other, which packages may use a third-party library, the size of packages, files
// and lines, that every package is documented, and that every metric is documented.
//
// It has no code to import. The tables are in rules_test.go. An import that is not in
// the table is an error, so a new package starts with an entry in the table and a
// reason in the change that adds it.
package archtest
