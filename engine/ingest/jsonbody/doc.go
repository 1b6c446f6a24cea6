// Package jsonbody reads rows from JSON and NDJSON bodies, and values of nested types
// from the fields of other formats.
//
// It knows no other format and no file. Invariants: the grammar is checked before a value
// is read; memory is bounded by the limits of a row and of the other members; an end
// inside a value is a body that was cut off.
package jsonbody
