package ops

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/rowfilter"
)

// columnRename is a new name for a column of a table, with the columns of the table
// under it.
type columnRename struct {
	from, to string
	columns  []engine.Column
}

func (r ruled) renameOf(from, to string) columnRename {
	columns := slices.Clone(columnsOf(r.snap))
	for i := range columns {
		if columns[i].Name == from {
			columns[i].Name = to
		}
	}
	return columnRename{from, to, columns}
}

// stays are what keeps a column's name: constraints, policies of every table, and
// policies of which no definition is known.
func (o TableRules) stays(ctx context.Context, r ruled, rename columnRename) (catalog.FieldErrors, error) {
	policies, err := o.policiesNaming(ctx, r, rename.from)
	if err != nil {
		return nil, err
	}
	policies = slices.DeleteFunc(policies, func(p catalog.Policy) bool {
		_, ok := rename.of(p.PolicySpec)
		return ok
	})
	constraints, err := o.constraintsNaming(ctx, r, rename.from)
	return append(dependent(policies), constraints...), err
}

// of is a policy of the table under the column's new name. False means that it cannot
// be said: a policy of every table goes on about columns of the old name, and of a text
// without a definition nobody knows which words are the column.
func (c columnRename) of(p catalog.PolicySpec) (catalog.PolicySpec, bool) {
	if p.Table == "" || len(p.Definition) == 0 {
		return p, false
	}
	d, err := rowfilter.Decode(p.Definition)
	if err != nil {
		return p, false
	}
	if strings.EqualFold(p.Column, c.from) {
		p.Column = c.to
	}
	d.Condition = c.condition(d.Condition)
	raw, err := json.Marshal(d)
	if err != nil {
		return p, false
	}
	if p.Text, err = rowfilter.Render(d, p.Column, rowfilter.Kind(p.Kind), c.columns); err != nil {
		return p, false
	}
	p.Definition = raw
	return p, !policyNames(p, c.from) || strings.EqualFold(c.from, c.to)
}

func (c columnRename) condition(old *rowfilter.Condition) *rowfilter.Condition {
	if old == nil {
		return nil
	}
	out := *old
	if out.Column != nil && strings.EqualFold(*out.Column, c.from) {
		out.Column = &c.to
	}
	each := func(list []rowfilter.Condition) []rowfilter.Condition {
		list = slices.Clone(list)
		for i := range list {
			list[i] = *c.condition(&list[i])
		}
		return list
	}
	out.And, out.Or, out.Not = each(out.And), each(out.Or), c.condition(out.Not)
	return &out
}

// followed gives the policies of the table that name the column its new name. The
// rename is committed: until they have it, they hide the rows that they cannot decide
// and close the table whose column they hide or mask.
func (o TableRules) followed(ctx context.Context, r ruled, rename columnRename) error {
	ctx, cancel := aftermath(ctx)
	defer cancel()
	policies, err := o.policiesNaming(ctx, r, rename.from)
	for _, p := range policies {
		err = errors.Join(err, o.follow(ctx, r, rename, p))
	}
	return err
}

// follow changes one policy, and again where somebody else has changed it meanwhile.
func (o TableRules) follow(ctx context.Context, r ruled, rename columnRename, p catalog.Policy) error {
	system := authz.System(ctx, "policies follow a renamed column")
	for {
		spec, ok := rename.of(p.PolicySpec)
		if !ok {
			return nil // it came after the rename was judged
		}
		_, err := o.Store.UpdatePolicy(system, r.actor.Org, p.ID, p.Version, spec, r.actor.User)
		var conflict *catalog.VersionConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		p, err = o.Store.Policy(system, r.actor.Org, p.ID)
		if errors.Is(err, catalog.ErrNotFound) || err == nil && !policyNames(p.PolicySpec, rename.from) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
