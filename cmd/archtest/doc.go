// Package archtest holds the structure of the source tree as tests: which
// package may import which, who owns a third-party library, how large a
// package, a file and a line may be, that every package says what it is, and that every metric is
// documented.
//
// It has no code of its own to import. The tables are in rules_test.go; an
// arrow that is not there is a failure, so a new package starts with a line in
// the table and a reason in the change that brings it.
package archtest
