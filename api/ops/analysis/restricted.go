package analysis

import (
	"context"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// unrestrict adapts the proposals of an analysis that the caller restricted by a condition,
// because their requests apply to the whole table. It adds the condition to changes of
// rows, and counts the violations of new rules in all visible rows.
func unrestrict(ctx context.Context, in analysis.Input, proposals []analysis.Proposal) error {
	where := in.Table.Where
	if strings.TrimSpace(where) == "" {
		return nil
	}
	in.Table.Where = ""
	for i, p := range proposals {
		if c, ok := p.Change.(analysis.UpdateRows); ok {
			// The condition has lines of its own, because it may end in a comment.
			c.Where = "(" + c.Where + ") AND (\n" + where + "\n)"
			proposals[i].Change = c
			continue
		}
		if p.Effect.Violations == nil {
			continue
		}
		sql := violations(in.Table, p.Change)
		if sql == "" {
			continue
		}
		n, err := in.Count(ctx, sql)
		if err != nil {
			return err
		}
		proposals[i].Effect.Violations = &n
	}
	return nil
}

// violations returns the statement that counts the rows which a rule refuses, or "".
func violations(t analysis.Table, change analysis.Change) string {
	among := func(condition string, columns ...analysis.Column) string {
		return "SELECT count(*) FROM " + t.From(columns...) + " WHERE " + condition
	}
	// repeated counts the rows with NULL or with a key of another row, but one for each key.
	repeated := func(names []string, nulls string) string {
		columns := make([]analysis.Column, len(names))
		for i, name := range names {
			columns[i], _ = t.Column(name)
		}
		list, present := analysis.Names(columns), "TRUE"
		for _, c := range columns {
			present += " AND " + c.Quoted() + " IS NOT NULL"
		}
		return "SELECT count(*)" + nulls + " - (SELECT count(*) FROM (SELECT DISTINCT " + list + " FROM " + t.From(columns...) + " WHERE " +
			present + ")) FROM " + t.From(columns...)
	}
	switch c := change.(type) {
	case analysis.AddCheck:
		return among("NOT ("+c.Expr+")", t.Columns...)
	case analysis.ForbidNull:
		column, _ := t.Column(c.Column)
		return among(column.Quoted()+" IS NULL", column)
	case analysis.MakeUnique:
		column, _ := t.Column(c.Column)
		return repeated([]string{c.Column}, " FILTER (WHERE "+column.Quoted()+" IS NOT NULL)")
	case analysis.SetPrimaryKey:
		return repeated(c.Columns, "")
	case analysis.ListDomain:
		column, _ := t.Column(c.Column)
		literals := make([]string, len(c.Values))
		for i, v := range c.Values {
			literals[i] = analysis.Literal(column, v)
		}
		return among(column.Quoted()+" NOT IN ("+strings.Join(literals, ", ")+")", column)
	case analysis.RangeDomain:
		column, _ := t.Column(c.Column)
		outside := []string{"FALSE"}
		if c.Min != "" {
			outside = append(outside, column.Quoted()+" < "+analysis.Literal(column, c.Min))
		}
		if c.Max != "" {
			outside = append(outside, column.Quoted()+" > "+analysis.Literal(column, c.Max))
		}
		return among(strings.Join(outside, " OR "), column)
	}
	return ""
}
