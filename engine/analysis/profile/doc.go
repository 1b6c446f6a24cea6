// Package profile describes columns and rows of a table by counts: the actions summary and
// explain_rows, and the profiles of columns that other analyses start from.
//
// What may not go in it: judgements about which values are wrong.
//
// Invariants:
//   - Counts are exact, except numbers of distinct values beyond maxDistinct.
//   - Quantiles are values of the column.
//   - A statement is about few columns, so that tables of many columns can be described.
package profile
