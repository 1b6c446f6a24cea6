package sqlguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// plainSelect is the SELECT that stands for a filtered table in a statement that
// is leak-proof: the needed columns of the rows that fulfil the predicate.
func (b *binding) plainSelect(ctx context.Context, parser engine.Parser, t *tableUse, r Relation) (*node, error) {
	text := filteredSelect(r, b.q.neededColumns(t, r.Columns))
	raw, err := parser.Serialize(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("parsing the filter of %s: %w", t.Name, err)
	}
	root, refusal := readTree(raw, b.q.opts.Limits)
	if refusal != nil {
		return nil, fmt.Errorf("filter of %s: %w", t.Name, error(refusal))
	}
	return root.list("statements")[0].(*node).child("node"), nil
}

func filteredSelect(r Relation, columns []engine.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = barrierColumn(c.Name)
	}
	sql := "SELECT " + strings.Join(names, ", ") + " FROM " + r.Source.Relation() + " AS " + engine.QuoteIdent(barrierAlias)
	if r.Predicate != "" {
		sql += " WHERE " + r.Predicate
	}
	return sql
}

// plainPlan is the plan of a statement over filtered tables that is leak-proof,
// or nil: then it reads copies.
func (q *Query) plainPlan(ctx context.Context, parser engine.Parser, relations []Relation) (*Plan, error) {
	if !slices.ContainsFunc(relations, Relation.filtered) {
		return nil, nil
	}
	pr, reason := q.proofBy(leakProof, relations)
	if reason != "" {
		return nil, nil
	}
	plan, err := q.bindPlain(ctx, parser, relations, pr)
	var refusal *Error
	if errors.As(err, &refusal) {
		return nil, nil // what cannot be printed with the predicates may be without
	}
	return plan, err
}

// bindPlain binds a leak-proof statement: filtered tables are read where they
// stand, and the outermost query sorts by what the proof says.
func (q *Query) bindPlain(ctx context.Context, parser engine.Parser, relations []Relation, pr proof) (*Plan, error) {
	b, stmt := q.binding()
	b.plan.ReadsFiltered = true
	push := q.conjuncts(relations)
	for i, t := range q.tables {
		r := relations[i]
		if !r.filtered() {
			if err := b.replace(t, r, push[i]); err != nil {
				return nil, err
			}
			continue
		}
		if r.Narrow != nil {
			r.Source = r.Narrow(engine.AllOf(r.Condition, conditionOf(push[i])))
		}
		b.source(r.Source)
		query, err := b.plainSelect(ctx, parser, t, r)
		if err != nil {
			return nil, err
		}
		b.stand(t, query)
	}
	pr.settle(stmt.child("node"))
	return b.finish(ctx, parser, stmt, relations)
}

// stand puts a query in the place of a table.
func (b *binding) stand(t *tableUse, query *node) {
	ref := b.copies[t.node]
	ref.become(obj("type", "SUBQUERY", "alias", t.Alias, "sample", nil,
		"subquery", statementNode(query), "column_name_alias", ref.list("column_name_alias")))
}
