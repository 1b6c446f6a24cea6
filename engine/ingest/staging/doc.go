// Package staging holds what the formats of request bodies share: limits, errors, the
// types of columns, and the rows that a decoder appends value by value.
//
// It decodes no format. Invariants: a staged file is complete or does not exist; all
// problems of a body are counted, and the first 100 described; a problem never repeats a
// value of the body; a map has no key twice; nothing is rounded.
package staging
