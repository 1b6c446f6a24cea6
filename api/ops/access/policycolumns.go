package access

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// PoliciesAbout returns the policies that can concern a table, including disabled ones, which
// can be enabled at any time. Callers who change the table learn of them.
func (o Tables) PoliciesAbout(ctx context.Context, t catalog.LocatedTable) (out []catalog.Policy, err error) {
	system := authz.System(ctx, "policies that name columns")
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.Policy], error) {
		return o.store.ListPolicies(system, t.Org, catalog.PolicyFilter{}, page)
	}, func(p catalog.Policy) error {
		if p.Table == "" || p.Table == t.DeltaID {
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// readBy reports whether one of the policies names a column.
func readBy(policies []catalog.Policy, column string) bool {
	return slices.ContainsFunc(policies, func(p catalog.Policy) bool { return PolicyNames(p.PolicySpec, column) })
}

// PolicyNames reports whether a policy is about a column, or decides by it. A text or definition
// that does not parse names all of its words.
func PolicyNames(p catalog.PolicySpec, column string) bool {
	if strings.EqualFold(p.Column, column) || definitionNames(p.Definition, column) {
		return true
	}
	parsed, err := policy.Parse(p.Text)
	if err != nil {
		return Mentions(p.Text, column)
	}
	return slices.ContainsFunc(parsed.Columns(), func(name string) bool { return strings.EqualFold(name, column) })
}

// PolicyColumns returns the columns that a policy is about or decides by, as far as its text
// parses.
func PolicyColumns(p catalog.PolicySpec) []string {
	var names []string
	if p.Column != "" {
		names = append(names, p.Column)
	}
	if parsed, err := policy.Parse(p.Text); err == nil {
		names = append(names, parsed.Columns()...)
	}
	return names
}

// definitionNames reports whether a definition, from which the text can be rendered again,
// decides by a column.
func definitionNames(definition json.RawMessage, column string) bool {
	if len(definition) == 0 {
		return false
	}
	d, err := policy.Decode(definition)
	if err != nil {
		return Mentions(string(definition), column)
	}
	return conditionNames(d.Condition, column)
}

func conditionNames(c *policy.Condition, column string) bool {
	if c == nil {
		return false
	}
	names := func(part policy.Condition) bool { return conditionNames(&part, column) }
	return c.Column != nil && strings.EqualFold(*c.Column, column) || conditionNames(c.Not, column) ||
		slices.ContainsFunc(c.And, names) || slices.ContainsFunc(c.Or, names)
}
