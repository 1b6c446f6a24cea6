// Package csvbody reads rows from CSV bodies as RFC 4180 describes them, in a dialect.
//
// It knows no other format but the JSON of nested values. Invariants: only an unquoted
// field can be NULL; an end inside quotes is a body that was cut off; memory is bounded by
// the limit of a row.
package csvbody
