// Package semantic finds out what the values of a column mean: an e-mail address, a city,
// an amount. It reads distinct values and the name of the column.
//
// What may not go in it: which columns of a file map to which columns of a table, which
// package mapping decides.
//
// Invariant: a meaning with a checksum or a closed list, such as a card number or the code
// of a country, is only assigned to values that satisfy it.
package semantic
