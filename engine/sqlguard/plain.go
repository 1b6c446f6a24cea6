package sqlguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// maxPlainPredicates bounds the total bytes of the predicates that become part of a
// statement, because they are printed and parsed with it.
const maxPlainPredicates = 32 << 10

// LeakProof reports whether the statement may read its filtered tables in place, with a
// condition on their rows, instead of copies. It may if nothing reveals hidden rows: no
// operation of the statement can fail on a row that the caller does not see, and rows,
// values and their order follow from the visible rows alone, under any plan of the engine.
//
// The reason is for tests and our own log. It names parts of the statement.
func (q *Query) LeakProof(relations []Relation, args engine.Args) (reason string, ok bool) {
	_, reason = q.proofBy(leakproof.Default, relations, constant.ArgumentsOf(args))
	return reason, reason == ""
}

func (q *Query) proofBy(list *leakproof.List, relations []Relation, args constant.Arguments) (leakproof.Proof, string) {
	if q.opts.EngineVersion != list.Engine {
		return leakproof.Proof{}, "the list is of another build of the engine"
	}
	if q.volatile || len(relations) != len(q.tables) {
		return leakproof.Proof{}, "two runs may differ"
	}
	tables := make(map[*sqltree.Node]leakproof.Table, len(relations))
	predicates := 0
	for i, t := range q.tables {
		r := relations[i]
		if reason := whyCopied(r); reason != "" {
			return leakproof.Proof{}, reason
		}
		if predicates += len(r.Predicate); predicates > maxPlainPredicates {
			return leakproof.Proof{}, "the predicates are long"
		}
		tables[t.node] = leakproof.Table{Alias: t.Alias, Columns: r.Columns}
	}
	out, err := list.Prove(q.query(), tables, args)
	if err != nil {
		return leakproof.Proof{}, err.Error()
	}
	return out, ""
}

// whyCopied returns why a relation must be copied, or an empty string.
func whyCopied(r Relation) string {
	switch {
	case r.Inline != nil, len(r.Columns) == 0:
		return "a table without files or visible columns"
	case !r.filtered():
	case r.NoPushdown:
		return "the organisation or the reading of a remote log requires copies"
	case len(r.ColumnExpr) > 0:
		return "a column is masked"
	case r.Sorted:
		return "the order of rows reveals hidden values"
	}
	return ""
}

// filtered reports whether the caller sees only a part of the table.
func (r Relation) filtered() bool { return r.Filtered || len(r.ColumnExpr) > 0 || r.Predicate != "" }

// parseSelects parses generated SELECTs together.
func (b *binding) parseSelects(ctx context.Context, parser engine.Parser, texts []string) ([]*sqltree.Node, error) {
	raw, err := parser.Serialize(ctx, "SELECT EXISTS("+strings.Join(texts, "), EXISTS(")+")")
	if err != nil {
		return nil, printer.Unprintable(ctx, err)
	}
	root, refusal := grammar.Read(raw, b.q.opts.Limits)
	if refusal != nil {
		return nil, fmt.Errorf("filters of tables: %w", error(refusal))
	}
	list := root.List("statements")[0].(*sqltree.Node).Child("node").List("select_list")
	if len(list) != len(texts) {
		return nil, fmt.Errorf("%d filters of tables parse to %d", len(texts), len(list))
	}
	out := make([]*sqltree.Node, len(list))
	for i, e := range list {
		query := e.(*sqltree.Node).Child("subquery").Child("node")
		if query == nil {
			return nil, fmt.Errorf("a filter of a table does not parse to a query")
		}
		out[i] = query
	}
	return out, nil
}

// filteredSelect returns the SELECT that replaces a filtered table in a leak-proof
// statement: the needed columns of the rows that fulfil the predicate.
func (b *binding) filteredSelect(place int, r Relation, columns []engine.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = barrierColumn(c.Name)
		// Columns of other types stay unshielded: a proof covers no operation on them.
		if name, ok := r.column(c); ok && r.Shielded {
			names[i] = name + " AS " + engine.QuoteIdent(c.Name)
		}
	}
	database, schema, table := b.nameOf(place)
	sql := "SELECT " + strings.Join(names, ", ") + " FROM " + database + "." + schema + "." + table + " AS " + engine.QuoteIdent(barrierAlias)
	if r.Predicate != "" {
		sql += " WHERE " + r.Predicate
	}
	return sql
}

// preparePlain prepares a leak-proof statement over filtered tables. It returns nil if the
// statement has to read copies.
func (q *Query) preparePlain(ctx context.Context, parser engine.Parser, relations []Relation, args constant.Arguments) (*Prepared, error) {
	if !slices.ContainsFunc(relations, Relation.filtered) {
		return nil, nil
	}
	pr, reason := q.proofBy(leakproof.Default, relations, args)
	if reason != "" {
		return nil, nil
	}
	out, err := q.bindPlain(ctx, parser, relations, pr)
	var refusal *refusal.Error
	if errors.As(err, &refusal) {
		return nil, nil // what cannot be printed with the predicates may be without
	}
	return out, err
}

// bindPlain prepares a statement with a proof: it reads filtered tables in place, and its
// outermost query sorts by the columns of the proof. It returns nil if the filters do not
// allow that.
func (q *Query) bindPlain(ctx context.Context, parser engine.Parser, relations []Relation, pr leakproof.Proof) (*Prepared, error) {
	b, stmt := q.binding()
	b.out.readsFiltered, b.proved = true, true
	push := q.conjuncts(relations)
	var filtered []*tableUse
	var texts []string
	for i, t := range q.tables {
		r := relations[i]
		if !r.filtered() {
			if err := b.replace(i, t, r, push[i]); err != nil {
				return nil, err
			}
			continue
		}
		needed := q.neededColumns(t, r.Columns)
		b.out.placeholders[i].conjuncts, b.out.placeholders[i].read = push[i], needed
		filtered, texts = append(filtered, t), append(texts, b.filteredSelect(i, r, needed))
	}
	queries, err := b.parseSelects(ctx, parser, texts)
	if err != nil {
		return nil, err
	}
	for i, t := range filtered {
		if pr.Rebatch && leakproof.JoinsList(queries[i]) {
			return nil, nil // the filter alone changes the order
		}
		b.substitute(t, queries[i])
	}
	pr.Settle(stmt.Child("node"))
	b.out.rebatched = pr.Rebatch
	return b.finish(ctx, parser, stmt, relations)
}

// substitute puts a query in the place of a table.
func (b *binding) substitute(t *tableUse, query *sqltree.Node) {
	ref := b.copies[t.node]
	ref.Become(sqltree.Object("type", "SUBQUERY", "alias", t.Alias, "sample", nil,
		"subquery", sqltree.Statement(query), "column_name_alias", ref.List("column_name_alias")))
}
