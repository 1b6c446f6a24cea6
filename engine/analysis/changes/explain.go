package changes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Explain compares the versions VersionFrom and VersionTo of the input.
func Explain(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	c := comparison{in: in}
	var err error
	if c.before, err = in.Older(ctx, in.VersionFrom); err != nil {
		return analysis.Answer{}, err
	}
	if c.after, err = in.Older(ctx, in.VersionTo); err != nil {
		return analysis.Answer{}, err
	}
	r := Changes{FromVersion: in.VersionFrom, ToVersion: in.VersionTo, MatchedBy: []string{}, Columns: []ColumnChange{},
		AddedColumns: []string{}, RemovedColumns: []string{}, ChangedTypes: []TypeChange{}, Examples: []Example{}}
	c.pair(&r)
	in.Progress(1, 5)
	if err := c.count(ctx, &r); err != nil {
		return analysis.Answer{}, err
	}
	in.Progress(2, 5)
	answer := analysis.Answer{Confidence: 1}
	for _, before := range []bool{true, false} {
		if len(c.key) == 0 {
			break
		}
		unique, err := c.unique(ctx, before)
		if err != nil {
			return analysis.Answer{}, err
		}
		if !unique {
			c.key = nil
			answer.Warnings = append(answer.Warnings, "The primary key does not identify every row, so whole rows were compared.")
		}
	}
	if len(c.key) > 0 {
		for _, p := range c.key {
			r.MatchedBy = append(r.MatchedBy, p.after.Name)
		}
		err = c.matchKeys(ctx, &r)
	} else {
		err = c.matchRows(ctx, &r)
	}
	if err != nil {
		return analysis.Answer{}, err
	}
	in.Progress(3, 5)
	if r.Updated != nil {
		if err := c.transitions(ctx, &r); err != nil {
			return analysis.Answer{}, err
		}
	}
	in.Progress(4, 5)
	if err := c.examples(ctx, &r); err != nil {
		return analysis.Answer{}, err
	}
	in.Progress(5, 5)
	answer.Result = r
	answer.Text, answer.References = r.describe(in.Table.Name)
	return answer, nil
}

// pair matches the columns of both versions by their names. The key is that of the newest
// version, because a key may have been declared after the versions were written.
func (c *comparison) pair(r *Changes) {
	about := func(name string) bool {
		return len(c.in.Columns) == len(c.in.Table.Columns) ||
			analysis.Contains(c.in.Columns, name)
	}
	keys := c.in.Table.PrimaryKey
	for _, after := range c.after.Columns {
		before, ok := c.before.Column(after.Name)
		key := slices.Contains(keys, after.Name)
		switch {
		case !ok && about(after.Name):
			r.AddedColumns = append(r.AddedColumns, after.Name)
			continue
		case !ok:
			continue
		case key && sqltype.Equal(before.Type, after.Type):
			c.key = append(c.key, pair{before, after})
		}
		if !about(after.Name) {
			continue
		}
		if !sqltype.Equal(before.Type, after.Type) {
			r.ChangedTypes = append(r.ChangedTypes, TypeChange{after.Name, before.Type.String(), after.Type.String()})
		}
		c.pairs = append(c.pairs, pair{before, after})
		r.Columns = append(r.Columns, ColumnChange{Column: after.Name, Transitions: []Transition{}})
	}
	for _, before := range c.before.Columns {
		if _, ok := c.after.Column(before.Name); !ok {
			r.RemovedColumns = append(r.RemovedColumns, before.Name)
		}
	}
	if len(c.key) < len(keys) {
		c.key = nil
	}
}

// describe says what changed, and cites a value that did.
func (r Changes) describe(table string) (string, []analysis.Reference) {
	var b strings.Builder
	refs := []analysis.Reference{}
	fmt.Fprintf(&b, "Between version %d and version %d of %s the number of rows went from %d to %d: %d inserted, %d deleted", r.FromVersion,
		r.ToVersion, table, r.RowsBefore, r.RowsAfter, r.Inserted, r.Deleted)
	if r.Updated != nil {
		fmt.Fprintf(&b, ", %d updated", *r.Updated)
	}
	fmt.Fprintf(&b, ", %d unchanged.", r.Unchanged)
	if r.Updated == nil && r.Inserted+r.Deleted > 0 {
		b.WriteString(" Rows were compared as a whole, so an updated row counts as deleted and inserted.")
	}
	var most *ColumnChange
	for i, c := range r.Columns {
		if c.Changed != nil && *c.Changed > 0 && (most == nil || *c.Changed > *most.Changed) {
			most = &r.Columns[i]
		}
	}
	if most != nil {
		fmt.Fprintf(&b, " The column %s changed most often, in %d rows.", most.Column, *most.Changed)
	}
	for _, e := range r.Examples {
		if e.Change != updated || most == nil {
			continue
		}
		if value, ok := e.After[most.Column]; ok {
			ref := analysis.Reference{Row: e.Row, Column: most.Column, Value: value}
			refs = append(refs, ref)
			fmt.Fprintf(&b, " An example is %s.", ref.Tag())
			break
		}
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"Added columns", r.AddedColumns}, {"Removed columns", r.RemovedColumns}} {
		if len(list.names) > 0 {
			fmt.Fprintf(&b, " %s: %s.", list.what, strings.Join(list.names[:min(10, len(list.names))], ", "))
		}
	}
	for _, t := range r.ChangedTypes[:min(5, len(r.ChangedTypes))] {
		fmt.Fprintf(&b, " The type of %s changed from %s to %s.", t.Column, t.From, t.To)
	}
	return b.String(), refs
}
