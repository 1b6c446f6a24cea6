// Package fault holds the errors of use cases: sentinels and errors of fields, each with
// its code in the table of errors (package problem).
//
// What may not go in here: errors that one use case returns; status codes.
package fault
