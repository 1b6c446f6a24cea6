// Package records finds rows of a table that describe the same thing, and proposes to merge
// them.
//
// The rows are read once, in columns that tell records apart. Rows that are equal in all
// columns but identifiers are one group. Groups that share a blocking key, such as a name and
// a date, are compared column by column, and each comparison is evidence for or against a
// match in the model of Fellegi and Sunter: a value counts the more the rarer it is, and the
// evidence must exceed what coincidence brings about among all pairs of rows. Rates of errors
// are learned from the table. Matches make clusters.
//
// What may not go in it: formats of requests and replies, and any statement that does not
// go through the input of the analysis.
//
// Invariants:
//   - The memory is bounded by the budget in this package, whatever the table.
//   - Results depend on the rows, not on their order: rows are put in the order of their
//     content before anything is chosen.
//   - Texts of more than 200 characters are not compared, except for equality of whole rows.
package records
