package domain

import (
	"context"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	rules "github.com/lakewarden/lakewarden/engine/domain"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// The names of relations in generated statements: the table with the values of a domain,
// the table with those of the parent column's domain, and listed values.
const (
	sourceName  = "source"
	parentsName = "parents"
	listedName  = "listed"
)

func qualified(alias string, f delta.Field) string { return alias + "." + engine.QuoteIdent(f.Name) }

// cast returns SQL for a text as a value of a type, or NULL if it is not one.
func cast(expression string, t delta.DataType) string {
	return "TRY_CAST(" + expression + " AS " + deltasql.Type(t).String() + ")"
}

// maxSkipped bounds the number of skipped parents that are named.
const maxSkipped = 1000

// skipped returns the parents of a lookup that the caller sees and that are not used: NULL,
// blank, or outside the domain of the parent column.
func (o Service) skipped(ctx context.Context, c column, d catalog.ColumnDomain, source access.Table, key delta.Field) ([]*string, error) {
	k := qualified("t", key)
	g := query.Generated{Purpose: "domain", Tables: map[string]access.Table{sourceName: source}}
	unused := []string{k + " IS NULL"}
	if key.Type == delta.String {
		unused = append(unused, "trim("+k+") = ''")
	}
	outside, err := o.outsideParent(ctx, c, d, key, &g)
	if err != nil {
		return nil, err
	}
	if outside != "" {
		unused = append(unused, outside)
	}
	g.SQL = "SELECT DISTINCT CAST(" + k + " IS NULL AS BIGINT) AS n, " + rules.TextSQL(key.Type, k) + " AS v FROM " + sourceName +
		" AS t WHERE " + strings.Join(unused, " OR ") + " ORDER BY n DESC, v LIMIT " + strconv.Itoa(maxSkipped)
	var out []*string
	err = o.Queries.RunGenerated(ctx, c.actor, g, func(r engine.Row) error {
		if r.Int64(0) == 1 {
			out = append(out, nil)
			return nil
		}
		text := r.Text(1)
		out = append(out, &text)
		return nil
	})
	return out, err
}

// outsideParent returns the condition that a parent of a lookup is outside the domain of
// the parent column, or "" if the column has none or the caller does not see its values.
func (o Service) outsideParent(
	ctx context.Context, c column, d catalog.ColumnDomain, key delta.Field, g *query.Generated,
) (string, error) {
	domains, err := o.Store.TableDomains(ctx, c.actor.Org, c.located().DeltaID)
	if err != nil {
		return "", err
	}
	parent, _ := fieldByPhysical(c.table, d.Parent)
	d, err = find(domains, d.Parent)
	if err != nil || d.Deleted() {
		return "", unlessGone(err)
	}
	value := rules.As(qualified("t", key), key.Type, parent.Type)
	switch {
	case d.Domain.Kind == catalog.DomainHierarchical:
		return "", nil
	case d.Domain.Range != nil:
		return "NOT coalesce(" + rules.Bounds(*d.Domain.Range).Contain(parent.Type, value) + ", false)", nil
	case d.Domain.Source == nil:
		values, err := o.Store.DomainValues(ctx, c.actor.Org, d.Domain.ID)
		g.Rows = map[string]*sqlguard.InlineRows{listedName: listed(values.Values)}
		return "NOT EXISTS (SELECT 1 FROM " + listedName + " AS d WHERE " + cast("d.value", parent.Type) + " = " + value + ")", err
	}
	_, t, err := o.seenSource(ctx, c.actor, *d.Domain.Source)
	if err != nil || t == nil {
		return "", err
	}
	allowed, ok := fieldByPhysical(*t, d.Domain.Source.Column)
	if !ok || t.Masks(allowed.Name) {
		return "", nil
	}
	g.Tables[parentsName] = *t
	return "NOT EXISTS (SELECT 1 FROM " + parentsName + " AS d WHERE " + rules.As(qualified("d", allowed), allowed.Type, parent.Type) +
		" = " + value + ")", nil
}

// listed returns listed values as a relation.
func listed(values []catalog.DomainValue) *sqlguard.InlineRows {
	rows := make([][]any, len(values))
	for i, v := range values {
		rows[i] = []any{v.Value}
	}
	return sqlguard.NewInlineRows([]engine.Column{{Name: "value", Type: sqltype.Varchar, Nullable: true}}, rows)
}
