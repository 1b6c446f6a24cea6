// Package analysis is the contract of the analyses of a table: what an analysis may read,
// and what it answers. Each analysis is a function of a package below this one. What several
// of them need is here, too: SQL of columns, cited rows, and phrases of texts.
//
// What may not go in it, or below it: sessions, snapshots, file statistics, commit metrics
// and anything else that describes rows which the caller does not see. An analysis reads a
// table through [Input.Query] only, which runs a statement as the caller.
//
// Invariants:
//   - Every number of an answer comes from a statement of its Input.
//   - All statements of an analysis read one version of the table, or the two versions that
//     the request names.
//   - Equal visible rows lead to equal answers, whatever their order and whatever is hidden.
//   - An analysis changes nothing. What it proposes is a [Change], which the caller can make
//     with one ordinary request.
package analysis
