// Package domain defines the meaning of column domains: which types can have one, the
// canonical text of values, and the rules that rows must satisfy, as SQL.
//
// A value of a domain is text. [Canonical] gives each value of a type one text, so that
// equal values have equal texts and text is cast to the column's type without loss. A rule
// compares values of the column's type; texts are compared byte by byte.
//
// A rule is a [constraint.Rule]. It holds for NULL: whether a column may be NULL is another
// rule. A hierarchical rule compares a column with its parent column in the same row; a
// child whose parent is NULL breaks it.
//
// # Invariants
//
//   - SQL is generated here from names and canonical texts, all quoted.
//   - The condition of a rule is TRUE or FALSE and fails for no row.
//   - A value that cannot be cast to a column's present type allows no row.
//
// What may not go in it: the catalog, access to stores, the choice of tables.
package domain
