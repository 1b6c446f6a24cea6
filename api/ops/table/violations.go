package table

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/constraint/stated"
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
	// Lost says how another writer has lost the rule; empty for rules that the table or the
	// catalog states.
	Lost Lost
}

// Lost is a way in which another writer has lost a rule of the log.
type Lost string

// The ways in which a rule was lost.
const (
	// LostField: with the metadata of the field. It applies to writes through this server.
	LostField Lost = "field"
	// LostName: it was dropped by its name, and applies to nobody.
	LostName Lost = "name"
)

// Violations checks all rows. A caller who does not see all of the table learns only whether
// keys and NOT NULL hold, and nothing about conditions and domains, which the caller may have
// chosen. About a domain whose values are in a table of which the caller does not see everything,
// nobody learns anything. Errors: those of opening a table and of sessions.
func (o Rules) Violations(ctx context.Context, path access.Path) ([]RuleState, error) {
	r, err := o.find(ctx, path)
	if err != nil {
		return nil, err
	}
	set, err := write.RuleSet(ctx, o.Store, o.Parser, r.table, r.snap)
	if err != nil {
		return nil, err
	}
	lost, err := o.memory().Lost(ctx, r.table, r.snap)
	if err != nil {
		return nil, err
	}
	if r.view.Whole() {
		if r.domains, err = o.Domains.Rules(ctx, r.view, nil); err != nil {
			return nil, err
		}
	}
	out := []RuleState{}
	note := func(kind, name string, columns []string, lost bool, count func() (int64, error)) error {
		if slices.ContainsFunc(columns, r.view.Hides) || kind == "check" && !r.view.Whole() {
			return nil
		}
		n, err := count()
		state := RuleState{Kind: kind, Name: name, Columns: columns, Holds: n == 0}
		if r.view.Whole() {
			state.Violations = &n
		}
		if lost {
			state.Lost = LostField
		}
		out = append(out, state)
		return err
	}
	err = o.ask(ctx, r, func(ctx context.Context, scope constraint.Scope, rows constraint.Relation) error {
		for _, key := range set.AllKeys() {
			if err := note(write.KeyKind(key), key.Name, key.ColumnNames(), lost.HasKey(key),
				func() (int64, error) { return scope.CountRepeated(ctx, key, rows) }); err != nil {
				return err
			}
		}
		for _, rule := range set.Rows() {
			kind := "check"
			if rule.Kind == constraint.NotNull {
				kind = "not_null"
			}
			missing := rule.Kind == constraint.NotNull && slices.Contains(lost.Required, rule.Name)
			if err := note(kind, rule.Name, rule.Columns, missing, func() (int64, error) { return scope.CountBroken(ctx, rule, rows) }); err != nil {
				return err
			}
		}
		for _, c := range r.domains.Columns {
			if o.Domains.HidesSource(ctx, r.actor, c) {
				continue
			}
			if c.Err != nil {
				out = append(out, RuleState{Kind: "domain", Name: c.Column.Name, Columns: c.Rule.Columns})
				continue
			}
			reading := scope
			reading.Sources = append(slices.Clone(scope.Sources), c.Sources...)
			if err := note("domain", c.Column.Name, c.Rule.Columns, false,
				func() (int64, error) { return reading.CountBroken(ctx, c.Rule, rows) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	dropped, err := o.dropped(ctx, r)
	return append(out, dropped...), err
}

// dropped returns the rules that another writer has dropped by name, as far as the caller may see
// them.
func (o Rules) dropped(ctx context.Context, r ruled) (out []RuleState, err error) {
	dropped, err := o.memory().Dropped(ctx, r.table, r.snap)
	for _, d := range dropped {
		state := RuleState{Kind: d.Kind, Name: d.Name, Columns: []string{}, Lost: LostName}
		switch {
		case d.Kind == stated.DroppedNotNull && r.view.Hides(d.Name), d.Kind != stated.DroppedNotNull && !r.view.Whole():
			continue
		case d.Kind == stated.DroppedNotNull:
			state.Columns = []string{d.Name}
		case d.Kind == stated.DroppedPrimaryKey:
			state.Name = "primary key"
		}
		out = append(out, state)
	}
	return out, err
}
