package admin

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
)

// Simulation shows authors of policies what another member sees of a table.
type Simulation struct {
	Store   catalog.Store
	Lake    *lake.Lake
	Tables  access.Tables
	Queries *query.Service
}

// SimulationInput names a member, or a role with attributes.
type SimulationInput struct {
	TableFQN   string
	User       string
	Role       string
	Attributes map[string]string
}

// Simulated is what the subject would see.
type Simulated struct {
	TableFQN    string
	Restricted  bool
	Predicate   string
	VisibleRows int64
	// HiddenColumns and Masks describe the columns as the subject would see them.
	HiddenColumns []string
	Masks         map[string]string
	// Policies are the policies that were applied.
	Policies []catalog.Policy
	// Warnings are those about the policies on the table.
	Warnings []PolicyWarning
}

// Run compiles the subject's policies and counts the rows that they allow. The caller
// must be able to see the table, and the caller's session counts the rows.
func (o Simulation) Run(ctx context.Context, org catalog.OrgID, input SimulationInput) (Simulated, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return Simulated{}, err
	}
	who, err := o.subject(ctx, org, input)
	if err != nil {
		return Simulated{}, err
	}
	name, ok := access.ParseFQN(input.TableFQN)
	if !ok {
		return Simulated{}, fault.Invalid("table_fqn", "must be catalog.schema.table")
	}
	t, err := access.ResolveName(ctx, o.Store, a.Viewer, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return Simulated{}, fault.Invalid("table_fqn", "is not a table")
	}
	if err != nil {
		return Simulated{}, err
	}
	seen, err := o.Tables.OpenAs(ctx, a, t, who)
	if err != nil {
		return Simulated{}, err
	}
	filter := seen.Filter()
	out := Simulated{
		TableFQN: t.FQN(), Restricted: filter.Restricted, Predicate: filter.Predicate,
		HiddenColumns: filter.HiddenColumns, Masks: filter.Masks, Policies: seen.Policies(),
	}
	columns, err := o.Lake.Columns(ctx, t)
	if err != nil {
		return Simulated{}, err
	}
	for _, p := range out.Policies {
		out.Warnings = append(out.Warnings, warningsOver(p, t.FQN(), columns)...)
	}
	out.VisibleRows, err = o.Queries.CountRows(ctx, seen)
	return out, err
}

func (o Simulation) subject(ctx context.Context, org catalog.OrgID, input SimulationInput) (access.Subject, error) {
	switch {
	case (input.User == "") == (input.Role == ""):
		return access.Subject{}, fault.Invalid("user_id", "exactly one of userId and role is required")
	case input.User != "" && input.Attributes != nil:
		return access.Subject{}, fault.Invalid("attributes", "cannot be combined with userId")
	case input.User == "":
		return access.Subject{Role: catalog.Role(input.Role), Attributes: input.Attributes}, catalog.ValidateAttributes(input.Attributes)
	}
	id, err := catalog.ParseID[catalog.UserID](input.User)
	if err != nil {
		return access.Subject{}, fault.Invalid("user_id", "is not a member")
	}
	member, err := o.Store.Membership(ctx, org, id)
	if errors.Is(err, catalog.ErrNotFound) {
		return access.Subject{}, fault.Invalid("user_id", "is not a member")
	}
	return access.SubjectOf(member), err
}
