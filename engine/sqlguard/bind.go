package sqlguard

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqlguard/faults"
	"github.com/lakewarden/lakewarden/engine/sqlguard/limits"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/pushdown"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Relation is the content of one table reference for one principal.
type Relation struct {
	// Columns are the columns that the caller sees, in order.
	Columns []engine.Column
	// Source is the table at its version.
	Source engine.Source
	// Narrow, if not nil, returns a source without files that cannot hold a needed row. A
	// row is needed if it fulfils both conditions: visible is that of the relation,
	// wanted that of the statement. An empty condition is fulfilled by every row. Narrow
	// is called once for every reference, also of unfiltered tables. If it is nil, Source
	// is read.
	Narrow func(visible, wanted engine.Condition) engine.Source
	// Filtered reports that the caller sees only a part of the table. Unless the
	// statement is leak-proof, it then reads a copy that a barrier makes.
	Filtered bool
	// Predicate is generated SQL over the alias "t" that selects the rows that the caller
	// sees. Empty means all rows.
	Predicate string
	// Condition is Predicate for pruning: every row for which Predicate is TRUE fulfils it.
	Condition engine.Condition
	// ColumnExpr maps columns, in lower case, to generated SQL over the alias "t" that
	// replaces them: masks. It implies Filtered.
	ColumnExpr map[string]string
	// Secrets holds the named parameters of ColumnExpr, whose values never appear in SQL.
	Secrets map[string]string
	// Shielded reports that bounds in the files reveal hidden rows. The statement's
	// conditions then have a form by which the engine cannot skip row groups.
	Shielded bool
	// Sorted sorts the rows of the copy by their visible values, for a table whose files
	// are laid out by values that the caller does not see. It implies Filtered.
	Sorted bool
	// NoPushdown excludes conditions of the statement from the copy and from Narrow, so
	// that the time that a copy takes reveals nothing about hidden rows.
	NoPushdown bool
	// Bytes is the total size of the files that can hold a visible row; zero if it was
	// not determined.
	Bytes int64
	// Inline replaces the source by rows with the columns of Columns.
	Inline *InlineRows
}

// Plan is a statement that the engine may run.
type Plan struct {
	SQL      string
	Sources  []engine.Source
	Barriers []engine.Barrier
	// Nondeterministic: see Query.Nondeterministic.
	Nondeterministic bool
	// ReadsFiltered reports that at least one table is filtered, so that engine errors must
	// not be shown in detail.
	ReadsFiltered bool
	// Rebatch reports that the caller must not see where the engine ends its batches: see
	// engine.Rebatch.
	Rebatch bool
}

// Bind is [Query.Prepare] and [Prepared.Plan] without arguments.
func (q *Query) Bind(ctx context.Context, parser engine.Parser, relations []Relation) (*Plan, error) {
	p, err := q.Prepare(ctx, parser, relations, engine.Args{})
	if err != nil {
		return nil, err
	}
	return p.Plan(relations, engine.Args{}), nil
}

// Prepare replaces the statement's tables with placeholders for relations, in the order of
// Tables, and prints the result. It refuses with CodePrinter if the printed SQL does not
// parse back to the same tree. Other errors are those of the parser.
//
// The result is valid for all arguments with the same [Query.ArgumentKinds], and for
// relations that differ only in what Narrow captures.
func (q *Query) Prepare(ctx context.Context, parser engine.Parser, relations []Relation, args engine.Args) (*Prepared, error) {
	if q.kind == KindShowTables || q.kind == KindShowAllTables {
		return nil, refusal.New(refusal.CodeStatement, "SHOW TABLES", "SHOW TABLES reads no table")
	}
	if len(relations) != len(q.tables) {
		return nil, fmt.Errorf("binding %d relations to %d tables", len(relations), len(q.tables))
	}
	if refusal := q.checkPlan(relations); refusal != nil {
		return nil, refusal
	}
	if p, err := q.preparePlain(ctx, parser, relations, constant.ArgumentsOf(args)); p != nil || err != nil {
		return p, err
	}
	b, stmt := q.binding()
	push := q.conjuncts(relations)
	for i, t := range q.tables {
		if err := b.replace(i, t, relations[i], push[i]); err != nil {
			return nil, err
		}
	}
	return b.finish(ctx, parser, stmt, relations)
}

// binding copies the statement for a plan.
func (q *Query) binding() (*binding, *sqltree.Node) {
	b := &binding{
		q: q, mark: "lw_" + strings.ToLower(rand.Text()), copies: map[*sqltree.Node]*sqltree.Node{},
		out: &Prepared{nondeterministic: q.volatile, placeholders: make([]placeholder, len(q.tables))},
	}
	for _, t := range q.tables {
		b.copies[t.node] = nil
	}
	for _, v := range q.values {
		b.copies[v.node] = nil
	}
	return b, sqltree.StatementOf(q.root).CloneNoting(func(from, to *sqltree.Node) {
		if _, changes := b.copies[from]; changes {
			b.copies[from] = to
		}
	})
}

// finish prints the plan's statement and verifies the result.
func (b *binding) finish(ctx context.Context, parser engine.Parser, stmt *sqltree.Node, relations []Relation) (*Prepared, error) {
	b.bareWords(relations)
	if err := b.mend(ctx, parser, stmt, relations); err != nil {
		return nil, err
	}
	sql, err := printer.Print(ctx, parser, stmt)
	if err != nil {
		return nil, printer.Unprintable(ctx, err)
	}
	if err := printer.Verify(ctx, parser, stmt, sql); err != nil {
		return nil, err
	}
	return b.out, b.cut(sql)
}

// mend rewrites what the engine would answer wrongly.
func (b *binding) mend(ctx context.Context, parser engine.Parser, stmt *sqltree.Node, relations []Relation) error {
	var columns []engine.Column
	for _, r := range relations {
		columns = append(columns, r.Columns...)
	}
	changes, refused := faults.Mend(stmt, columns, b.proved)
	if refused != nil {
		refused.Locate(b.q.text)
		return refused
	}
	if len(changes.Columns) == 0 {
		return nil
	}
	names, err := printer.Names(ctx, parser, changes.Before, b.q.text)
	if err != nil {
		return err
	}
	for i, c := range changes.Columns {
		c.Set("alias", names[i])
	}
	return nil
}

type binding struct {
	q   *Query
	out *Prepared
	// proved reports that the statement is leak-proof: no sum of it can pass its range.
	proved bool
	// mark begins the names that stand for relations. It is random and drawn after the
	// statement was written, so nobody can guess it.
	mark string
	// copies maps the nodes that a plan changes to their copies.
	copies map[*sqltree.Node]*sqltree.Node
}

// replace replaces a table reference with a generated subquery under the same alias.
func (b *binding) replace(i int, t *tableUse, r Relation, conjuncts []pushdown.Conjunct) error {
	ref := b.copies[t.node]
	query, err := b.relation(i, t, r, conjuncts)
	if err != nil {
		return err
	}
	if sample := ref.Child("sample"); sample != nil {
		query.Child("from_table").Set("sample", sample)
	}
	b.substitute(t, query)
	return nil
}

// relation returns the SELECT that replaces a table.
func (b *binding) relation(i int, t *tableUse, r Relation, conjuncts []pushdown.Conjunct) (*sqltree.Node, error) {
	if len(r.Columns) == 0 {
		return nil, refusal.New(refusal.CodeStatement, t.Name, "the table %s has no visible column", t.Name)
	}
	at := &b.out.placeholders[i]
	at.conjuncts = conjuncts
	columns := r.Columns
	switch {
	case r.Inline != nil:
		columns = b.q.neededColumns(t, columns)
		rows := r.Inline.barrier(columns)
		at.rows = &rows
	case r.filtered():
		columns = b.q.neededColumns(t, columns)
		at.read, at.copied = columns, columns
		b.out.readsFiltered = true
	}
	return sqltree.Select(columnList(columns), sqltree.Table(b.nameOf(i))), nil
}

func columnList(columns []engine.Column) []any {
	out := make([]any, len(columns))
	for i, c := range columns {
		out[i] = sqltree.Column(c.Name)
	}
	return out
}

// bareWords replaces words such as current_user, unless a column may have that name.
func (b *binding) bareWords(relations []Relation) {
	columns := map[string]bool{}
	for _, r := range relations {
		for _, c := range r.Columns {
			columns[strings.ToLower(c.Name)] = true
		}
	}
	for _, v := range b.q.values {
		n := b.copies[v.node]
		word := strings.ToLower(n.Strings("column_names")[0])
		if columns[word] || b.q.defined[word] {
			continue
		}
		text := b.q.opts.User
		switch v.word {
		case "catalog":
			text = b.q.opts.Catalog
		case "schema":
			text = b.q.opts.Schema
		}
		lit := sqltree.Text(text)
		lit.Set("alias", n.Str("alias"))
		n.Become(lit)
	}
}

// checkPlan bounds the plan over the columns of the relations.
func (q *Query) checkPlan(relations []Relation) *refusal.Error {
	tables := make(map[*sqltree.Node][]engine.Column, len(relations))
	for i, r := range relations {
		tables[q.tables[i].node] = r.Columns
	}
	return limits.CheckPlan(q.text, q.statement(), tables)
}

// conjuncts returns the conditions of the statement on each table that may take part
// in choosing its rows.
func (q *Query) conjuncts(relations []Relation) [][]pushdown.Conjunct {
	tables, index := make([]pushdown.Table, len(q.tables)), map[*tableUse]int{}
	for i, t := range q.tables {
		r := relations[i]
		index[t] = i
		tables[i] = pushdown.Table{Node: t.node, Alias: t.Alias, Columns: r.Columns, Masked: r.ColumnExpr,
			Whole: t.sampled || t.renamed || r.NoPushdown || r.Inline != nil}
	}
	selects := make([]pushdown.Select, len(q.selects))
	for i, sel := range q.selects {
		selects[i].Node = sel.node
		for _, t := range sel.tables {
			selects[i].Tables = append(selects[i].Tables, index[t])
		}
	}
	return pushdown.Find(selects, tables)
}
