// Package sqlguard is the first wall between user SQL and the engine: text goes
// in, and out comes a plan in which every table reference was replaced by ours,
// or a typed refusal.
//
// The flow has two steps. [Parse] lets DuckDB parse the text into a JSON tree,
// checks that tree against a closed grammar, and reports which tables the
// statement reads. The caller resolves these for one principal, and
// [Query.Prepare] puts our own subqueries in their place and prints the result.
// [Prepared.Plan] is what is left for each run: it lets the values of parameters
// take part in choosing a table's files, and names what is read.
//
// Invariants:
//   - Closed grammar: a node type, field, enumeration value, function or cast
//     target that is not listed is refused, also when a newer DuckDB adds it.
//   - The size of plans is bounded: the relations, columns, terms and comparisons that
//     a statement expands to are counted before the engine sees it.
//   - User text never reaches the engine. What runs was printed from the
//     checked tree, and the print was parsed again and found equal to it.
//   - No value of a parameter gets into SQL: of copies they are parameters too.
//   - After Prepare every base table of the tree is ours: a pinned source or a
//     filtered copy, under a name that no user can write. CTEs are renamed, so
//     that a mistake in name resolution ends in an error and not in a read.
//   - A filtered table is read in place, and not as a copy, only by a statement
//     whose every operation is listed in leakproof/leakproof.txt, for the one build of the
//     engine that the list is true of, and whose rows and their order follow from
//     the visible rows whatever the engine's plan is. Rows of one table that pass
//     one by one stay in the order of the files; their batches are cut anew. What
//     is not proved to be so reads copies.
//   - The only conjuncts that move inside a filtered copy compare a bare column
//     with a constant of that column's type; they cannot fail on any row. The
//     same ones, with the policy's own condition, decide which files of a table
//     may be left out.
//   - In a shielded relation, whose files mix hidden rows with visible ones, a
//     condition of the statement skips no row group by its bounds and excludes only
//     files without hidden rows.
//
// Subpackages hold one idea each and never import this one: refusal, grammar, functions,
// limits, arguments, constant, faults, pushdown, leakproof, printer, explain and sqltext.
//
// The guard knows no catalog and no policy: apart from its subpackages it imports engine,
// sqltype and sqltree only. It executes no SQL.
package sqlguard
