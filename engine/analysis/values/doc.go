// Package values analyses the values of single columns: forms of one value that differ in
// spelling, placeholders that stand for missing values, and sets, patterns and ranges that
// contain nearly all values of a column.
//
// What may not go in it: rules over several columns, except that one column may determine
// the missing values of another; comparisons of whole rows; and statistics of files.
//
// Invariants:
//   - Texts longer than analysis.MaxText are neither grouped nor compared.
//   - Statements that return values have a LIMIT, and a total order before it.
//   - A masked or key column is never the target of a proposed update.
//   - The text of a cell enters a statement through analysis.Literal only.
package values
