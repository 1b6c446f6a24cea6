package sqlguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// parseSelects parses SELECTs of ours in one go.
func (b *binding) parseSelects(ctx context.Context, parser engine.Parser, texts []string) ([]*node, error) {
	raw, err := parser.Serialize(ctx, "SELECT EXISTS("+strings.Join(texts, "), EXISTS(")+")")
	if err != nil {
		return nil, unprintable(ctx, err)
	}
	root, refusal := readTree(raw, b.q.opts.Limits)
	if refusal != nil {
		return nil, fmt.Errorf("filters of tables: %w", error(refusal))
	}
	list := root.list("statements")[0].(*node).child("node").list("select_list")
	if len(list) != len(texts) {
		return nil, fmt.Errorf("%d filters of tables parse to %d", len(texts), len(list))
	}
	out := make([]*node, len(list))
	for i, e := range list {
		query := e.(*node).child("subquery").child("node")
		if query == nil {
			return nil, fmt.Errorf("a filter of a table does not parse to a query")
		}
		out[i] = query
	}
	return out, nil
}

// filteredSelect is the SELECT that stands for a filtered table in a statement
// that is leak-proof: the needed columns of the rows that fulfil the predicate.
func (b *binding) filteredSelect(place int, r Relation, columns []engine.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = barrierColumn(c.Name)
		// Columns of other types stay unshielded: a proof covers no operation on them.
		if name, ok := r.column(c); ok && r.Shielded {
			names[i] = name + " AS " + engine.QuoteIdent(c.Name)
		}
	}
	database, schema, table := b.marked(place)
	sql := "SELECT " + strings.Join(names, ", ") + " FROM " + database + "." + schema + "." + table + " AS " + engine.QuoteIdent(barrierAlias)
	if r.Predicate != "" {
		sql += " WHERE " + r.Predicate
	}
	return sql
}

// preparePlain prepares a statement over filtered tables that is leak-proof, or
// returns nil: then it reads copies.
func (q *Query) preparePlain(ctx context.Context, parser engine.Parser, relations []Relation, args argValues) (*Prepared, error) {
	if !slices.ContainsFunc(relations, Relation.filtered) {
		return nil, nil
	}
	pr, reason := q.proofBy(leakProof, relations, args)
	if reason != "" {
		return nil, nil
	}
	out, err := q.bindPlain(ctx, parser, relations, pr)
	var refusal *Error
	if errors.As(err, &refusal) {
		return nil, nil // what cannot be printed with the predicates may be without
	}
	return out, err
}

// bindPlain prepares a leak-proof statement: filtered tables are read where they
// stand, and the outermost query sorts by what the proof says. It returns nil when
// the filters do not allow that.
func (q *Query) bindPlain(ctx context.Context, parser engine.Parser, relations []Relation, pr proof) (*Prepared, error) {
	b, stmt := q.binding()
	b.out.readsFiltered = true
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
		b.out.vacancies[i].conjuncts, b.out.vacancies[i].read = push[i], needed
		filtered, texts = append(filtered, t), append(texts, b.filteredSelect(i, r, needed))
	}
	queries, err := b.parseSelects(ctx, parser, texts)
	if err != nil {
		return nil, err
	}
	for i, t := range filtered {
		if pr.recut && joinsList(queries[i]) {
			return nil, nil // the filter alone changes the order
		}
		b.stand(t, queries[i])
	}
	pr.settle(stmt.child("node"))
	b.out.recut = pr.recut
	return b.finish(ctx, parser, stmt, relations)
}

// stand puts a query in the place of a table.
func (b *binding) stand(t *tableUse, query *node) {
	ref := b.copies[t.node]
	ref.become(obj("type", "SUBQUERY", "alias", t.Alias, "sample", nil,
		"subquery", statementNode(query), "column_name_alias", ref.list("column_name_alias")))
}
