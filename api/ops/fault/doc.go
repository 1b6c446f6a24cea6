// Package fault defines the errors that use cases share: sentinels and errors of fields,
// each with its code of package problem.
//
// What may not go in it: errors of a single use case; status codes.
package fault
