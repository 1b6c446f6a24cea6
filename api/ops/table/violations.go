package table

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/engine/constraint"
)

// RuleState is a rule of a table and whether its rows satisfy it now. Other
// writers do not know our keys, nor the constraints that the catalog keeps.
type RuleState struct {
	// Kind is "primary_key", "unique", "not_null", "check" or "domain".
	Kind string
	// Name is the constraint's, or the column's path. A domain has the name of its column.
	Name    string
	Columns []string
	Holds   bool
	// Violations counts rows, or for keys the combinations that more than one row has; nil
	// for callers who do not see all of the table, and for a domain whose values are
	// unknown because their table cannot be read. Such a domain does not hold.
	Violations *int64
}

// Violations checks all rows. A caller who does not see all of the table learns only whether
// keys and NOT NULL hold, and nothing about conditions and domains, which the caller may have
// chosen. Errors: those of opening a table and of sessions.
func (o Rules) Violations(ctx context.Context, path access.Path) ([]RuleState, error) {
	r, err := o.find(ctx, path)
	if err != nil {
		return nil, err
	}
	set, err := write.RuleSet(ctx, o.Store, o.Parser, r.actor.Org, r.snap)
	if err != nil {
		return nil, err
	}
	if r.view.Whole() {
		if r.domains, err = o.Domains.Rules(ctx, r.view, nil); err != nil {
			return nil, err
		}
	}
	out := []RuleState{}
	note := func(kind, name string, columns []string, count func() (int64, error)) error {
		if slices.ContainsFunc(columns, r.view.Hides) || kind == "check" && !r.view.Whole() {
			return nil
		}
		n, err := count()
		state := RuleState{Kind: kind, Name: name, Columns: columns, Holds: n == 0}
		if r.view.Whole() {
			state.Violations = &n
		}
		out = append(out, state)
		return err
	}
	err = o.ask(ctx, r, func(ctx context.Context, scope constraint.Scope, rows constraint.Relation) error {
		for _, key := range set.AllKeys() {
			if err := note(write.KeyKind(key), key.Name, key.ColumnNames(),
				func() (int64, error) { return scope.CountRepeated(ctx, key, rows) }); err != nil {
				return err
			}
		}
		for _, rule := range set.Rows() {
			kind := "check"
			if rule.Kind == constraint.NotNull {
				kind = "not_null"
			}
			if err := note(kind, rule.Name, rule.Columns, func() (int64, error) { return scope.CountBroken(ctx, rule, rows) }); err != nil {
				return err
			}
		}
		for _, c := range r.domains.Columns {
			if c.Err != nil {
				out = append(out, RuleState{Kind: "domain", Name: c.Column.Name, Columns: c.Rule.Columns})
				continue
			}
			reading := scope
			reading.Sources = append(slices.Clone(scope.Sources), c.Sources...)
			if err := note("domain", c.Column.Name, c.Rule.Columns,
				func() (int64, error) { return reading.CountBroken(ctx, c.Rule, rows) }); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}
