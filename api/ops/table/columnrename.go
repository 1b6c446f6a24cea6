package table

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// columnRename is a new name for a column of a table. It holds the columns of the
// table under the new name.
type columnRename struct {
	from, to string
	columns  []engine.Column
}

func (r ruled) renameOf(from, to string) columnRename {
	columns := r.view.AllColumns()
	for i := range columns {
		if columns[i].Name == from {
			columns[i].Name = to
		}
	}
	return columnRename{from, to, columns}
}

// nameDependants returns the constraints and policies that prevent a rename: those of
// every table, and those that cannot be rewritten.
func (o Rules) nameDependants(ctx context.Context, r ruled, rename columnRename) (catalog.FieldErrors, error) {
	policies, err := o.policiesNaming(ctx, r, rename.from)
	if err != nil {
		return nil, err
	}
	policies = slices.DeleteFunc(policies, func(p catalog.Policy) bool {
		_, ok := rename.policy(p.PolicySpec)
		return ok
	})
	constraints, err := o.constraintsNaming(ctx, r, rename.from)
	return append(dependent(policies), constraints...), err
}

// policy returns a policy of the table with the new name of the column. It returns
// false for a policy of every table, which continues to name the old column in other
// tables, and for a policy without a definition, whose text cannot be rewritten
// reliably.
func (c columnRename) policy(p catalog.PolicySpec) (catalog.PolicySpec, bool) {
	if p.Table == "" || len(p.Definition) == 0 {
		return p, false
	}
	d, err := policy.Decode(p.Definition)
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
	if p.Text, err = policy.Render(d, p.Column, policy.Kind(p.Kind), c.columns); err != nil {
		return p, false
	}
	p.Definition = raw
	return p, !access.PolicyNames(p, c.from) || strings.EqualFold(c.from, c.to)
}

func (c columnRename) condition(old *policy.Condition) *policy.Condition {
	if old == nil {
		return nil
	}
	out := *old
	if out.Column != nil && strings.EqualFold(*out.Column, c.from) {
		out.Column = &c.to
	}
	each := func(list []policy.Condition) []policy.Condition {
		list = slices.Clone(list)
		for i := range list {
			list[i] = *c.condition(&list[i])
		}
		return list
	}
	out.And, out.Or, out.Not = each(out.And), each(out.Or), c.condition(out.Not)
	return &out
}

// updatePolicies gives the policies of the table that name the column its new name. It
// runs after the rename was committed. Until then a row policy hides the rows that it
// cannot decide, and a policy that hides or masks the column closes the table.
func (o Rules) updatePolicies(ctx context.Context, r ruled, rename columnRename) error {
	ctx, cancel := caller.CleanupContext(ctx)
	defer cancel()
	policies, err := o.policiesNaming(ctx, r, rename.from)
	for _, p := range policies {
		err = errors.Join(err, o.updatePolicy(ctx, r, rename, p))
	}
	return err
}

// updatePolicy changes one policy. It tries again if the policy was changed
// concurrently.
func (o Rules) updatePolicy(ctx context.Context, r ruled, rename columnRename, p catalog.Policy) error {
	system := authz.System(ctx, "policies follow a renamed column")
	for {
		spec, ok := rename.policy(p.PolicySpec)
		if !ok {
			return nil // the policy was made after the rename was checked
		}
		_, err := o.Store.UpdatePolicy(system, r.actor.Org, p.ID, p.Version, spec, r.actor.User)
		var conflict *catalog.VersionConflictError
		if !errors.As(err, &conflict) {
			return err
		}
		p, err = o.Store.Policy(system, r.actor.Org, p.ID)
		if errors.Is(err, catalog.ErrNotFound) || err == nil && !access.PolicyNames(p.PolicySpec, rename.from) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
