package admin

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
)

// Policies manages the policies of the caller's organisation.
type Policies struct {
	Store catalog.Store
	Lake  *lake.Lake
}

// PolicyView is a policy with the name by which the caller knows its table.
type PolicyView struct {
	catalog.Policy
	// TableFQN is empty for a policy of all tables, and for a table that the caller
	// cannot see.
	TableFQN string
	// Warnings are those about the tables that the caller sees. Only a policy that was just written
	// has them.
	Warnings []PolicyWarning
}

// PolicyInput is the whole content of a policy as a client sends it. One of TableFQN and
// TableID suffices. Exactly one of Text and Definition is set.
type PolicyInput struct {
	TableFQN   string
	TableID    string
	ColumnName string
	Kind       string
	Text       string
	Definition json.RawMessage
	Enabled    bool
}

// PolicyPatch holds the fields to change; nil leaves a field unchanged.
type PolicyPatch struct {
	TableFQN, TableID, ColumnName, Kind, Text *string
	Definition                                json.RawMessage
	Enabled                                   *bool
}

// Create creates a policy, which applies from the next statement on.
func (o Policies) Create(ctx context.Context, org catalog.OrgID, input PolicyInput) (PolicyView, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return PolicyView{}, err
	}
	spec, err := o.spec(ctx, a, input)
	if err != nil {
		return PolicyView{}, err
	}
	p, err := o.Store.CreatePolicy(ctx, catalog.NewPolicy{Org: org, PolicySpec: spec, By: a.User})
	return o.written(ctx, a, p, err)
}

// Get returns one policy.
func (o Policies) Get(ctx context.Context, org catalog.OrgID, id catalog.PolicyID) (PolicyView, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return PolicyView{}, err
	}
	p, err := o.Store.Policy(ctx, org, id)
	return o.view(ctx, a, p, err)
}

// List lists policies, oldest first; with a table, only those of that table.
func (o Policies) List(
	ctx context.Context, org catalog.OrgID, tableFQN, tableID string, page catalog.Page,
) (catalog.List[PolicyView], error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.List[PolicyView]{}, err
	}
	var filter catalog.PolicyFilter
	if tableFQN != "" || tableID != "" {
		if filter.Table, _, err = o.target(ctx, a, tableFQN, tableID); err != nil {
			return catalog.List[PolicyView]{}, err
		}
	}
	list, err := o.Store.ListPolicies(ctx, org, filter, page)
	if err != nil {
		return catalog.List[PolicyView]{}, err
	}
	out := catalog.List[PolicyView]{Items: make([]PolicyView, len(list.Items)), Next: list.Next}
	for i, p := range list.Items {
		if out.Items[i], err = o.view(ctx, a, p, nil); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Replace replaces the whole content of a policy.
func (o Policies) Replace(
	ctx context.Context, org catalog.OrgID, id catalog.PolicyID, expected int64, input PolicyInput,
) (PolicyView, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return PolicyView{}, err
	}
	spec, err := o.spec(ctx, a, input)
	if err != nil {
		return PolicyView{}, err
	}
	p, err := o.Store.UpdatePolicy(ctx, org, id, expected, spec, a.User)
	return o.written(ctx, a, p, err)
}

// Patch changes some fields. The text of a policy with a definition is generated again if
// its kind or column changes.
func (o Policies) Patch(
	ctx context.Context, org catalog.OrgID, id catalog.PolicyID, expected int64, patch PolicyPatch,
) (PolicyView, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return PolicyView{}, err
	}
	old, err := o.Store.Policy(ctx, org, id)
	if err != nil {
		return PolicyView{}, err
	}
	if expected != old.Version {
		return PolicyView{}, &catalog.VersionConflictError{Current: old.Version}
	}
	spec, err := o.patched(ctx, a, old.PolicySpec, patch)
	if err != nil {
		return PolicyView{}, err
	}
	p, err := o.Store.UpdatePolicy(ctx, org, id, expected, spec, a.User)
	return o.written(ctx, a, p, err)
}

// patched returns old with a patch applied. A patch of enabled alone checks nothing else,
// so that a policy can be disabled even if its table no longer exists.
func (o Policies) patched(ctx context.Context, a caller.Identity, old catalog.PolicySpec, patch PolicyPatch) (catalog.PolicySpec, error) {
	spec := old
	if patch.Enabled != nil {
		spec.Enabled = *patch.Enabled
	}
	if patch.TableFQN == nil && patch.TableID == nil && patch.ColumnName == nil && patch.Kind == nil && patch.Text == nil &&
		patch.Definition == nil {
		return spec, nil
	}
	input := PolicyInput{ColumnName: old.Column, Kind: string(old.Kind), TableID: string(old.Table), Enabled: spec.Enabled}
	set(&input.ColumnName, patch.ColumnName)
	set(&input.Kind, patch.Kind)
	if patch.TableFQN != nil || patch.TableID != nil {
		input.TableID = ""
		set(&input.TableFQN, patch.TableFQN)
		set(&input.TableID, patch.TableID)
	}
	switch {
	case patch.Text != nil || patch.Definition != nil:
		set(&input.Text, patch.Text)
		input.Definition = patch.Definition
	case old.BuilderManaged:
		input.Definition = old.Definition
	default:
		input.Text = old.Text
	}
	return o.spec(ctx, a, input)
}

func set(field, value *string) {
	if value != nil {
		*field = *value
	}
}

// Delete removes a policy. Its history remains.
func (o Policies) Delete(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, expected int64) error {
	a, err := caller.In(ctx, org)
	if err != nil {
		return err
	}
	return o.Store.DeletePolicy(ctx, org, id, expected, a.User)
}

// History lists the revisions of a policy, newest first.
func (o Policies) History(
	ctx context.Context, org catalog.OrgID, id catalog.PolicyID, page catalog.Page,
) (catalog.List[catalog.PolicyRevision], error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.List[catalog.PolicyRevision]{}, err
	}
	return o.Store.PolicyHistory(ctx, org, id, page)
}

// written adds the table's name and the warnings about a policy that was just written.
func (o Policies) written(ctx context.Context, a caller.Identity, p catalog.Policy, err error) (PolicyView, error) {
	v, err := o.view(ctx, a, p, err)
	if err == nil {
		v.Warnings = o.warnings(ctx, a.Viewer, p)
	}
	return v, err
}

// view adds the table's name, which a policy of all tables lacks.
func (o Policies) view(ctx context.Context, a caller.Identity, p catalog.Policy, err error) (PolicyView, error) {
	v := PolicyView{Policy: p}
	if err != nil || p.Table == "" {
		return v, err
	}
	// The policy was found, or has been changed already, so a failure to look up the name
	// is not an error.
	list, err := o.Store.ListTables(ctx, a.Viewer, catalog.TableFilter{DeltaID: p.Table}, catalog.Page{Size: 1})
	if err == nil && len(list.Items) > 0 {
		v.TableFQN = list.Items[0].FQN()
	}
	return v, nil
}

// spec checks an input against its table and generates the text from the definition.
func (o Policies) spec(ctx context.Context, a caller.Identity, input PolicyInput) (catalog.PolicySpec, error) {
	spec := catalog.PolicySpec{Column: input.ColumnName, Kind: catalog.PolicyKind(input.Kind), Enabled: input.Enabled}
	switch {
	case !spec.Kind.Valid():
		return spec, fault.Invalid("kind", "must be rls, cls or mask")
	case spec.Kind != catalog.PolicyRows && spec.Column == "":
		return spec, fault.Invalid("column_name", "is required for policies of kind cls and mask")
	case (input.Text == "") == (len(input.Definition) == 0):
		return spec, fault.Invalid("definition", "exactly one of definition and policyText is required")
	}
	var columns []engine.Column
	if input.TableFQN != "" || input.TableID != "" {
		table, located, err := o.target(ctx, a, input.TableFQN, input.TableID)
		if err != nil {
			return spec, err
		}
		spec.Table = table
		if columns, err = o.Lake.Columns(ctx, located); err != nil {
			return spec, err
		}
		if input.ColumnName != "" && !policy.HasColumn(columns, input.ColumnName) {
			return spec, fault.Invalid("column_name", "is not a column of the table; members of columns have no policies")
		}
	}
	return o.withText(spec, input, columns)
}

func (o Policies) withText(spec catalog.PolicySpec, input PolicyInput, columns []engine.Column) (catalog.PolicySpec, error) {
	if input.Text != "" {
		parsed, err := policy.Parse(input.Text)
		if err != nil {
			return spec, err
		}
		if err := sqlfilter.Check(parsed); err != nil {
			return spec, err
		}
		kind := policy.Kind(spec.Kind)
		if err := parsed.Suits(kind, spec.Column, columns); err != nil {
			return spec, err
		}
		if err := parsed.CheckTypes(columns); err != nil {
			return spec, err
		}
		spec.Text = input.Text
		if d, ok := sqlfilter.Derive(parsed, kind, columns); ok {
			if !knownRole(d) {
				return spec, fault.Invalid("policyText", "names a role that does not exist")
			}
			raw, err := json.Marshal(d)
			if err != nil {
				return spec, err
			}
			spec.Definition = raw
		}
		return spec, nil
	}
	d, err := policy.Decode(input.Definition)
	if err != nil {
		return spec, err
	}
	if !knownRole(d) {
		return spec, fault.Invalid("definition.subject.role", "must be one of viewer, editor, builder, admin")
	}
	if spec.Text, err = policy.Render(d, spec.Column, policy.Kind(spec.Kind), columns); err != nil {
		return spec, err
	}
	spec.Definition, spec.BuilderManaged = input.Definition, true
	return spec, nil
}

// knownRole reports whether the role of a definition exists. A forbid for an unknown role
// would look like a rule and hide nothing.
func knownRole(d policy.Definition) bool {
	return d.Subject.Role == nil || catalog.Role(*d.Subject.Role).Valid()
}

// target returns the table that a policy names. An unknown table is an invalid field, not
// a missing resource.
func (o Policies) target(ctx context.Context, a caller.Identity, fqn, id string) (catalog.DeltaID, catalog.LocatedTable, error) {
	var byName, byID catalog.LocatedTable
	var err error
	if fqn != "" {
		name, ok := access.ParseFQN(fqn)
		if !ok {
			return "", byName, fault.Invalid("table_fqn", "must be catalog.schema.table")
		}
		if byName, err = access.ResolveName(ctx, o.Store, a.Viewer, name); errors.Is(err, catalog.ErrNotFound) {
			return "", byName, fault.Invalid("table_fqn", "is not a table")
		} else if err != nil {
			return "", byName, err
		}
		if id == "" {
			return byName.DeltaID, byName, nil
		}
	}
	list, err := o.Store.ListTables(ctx, a.Viewer, catalog.TableFilter{DeltaID: catalog.DeltaID(id)}, catalog.Page{Size: 1})
	if err != nil {
		return "", byID, err
	}
	if len(list.Items) == 0 {
		return "", byID, fault.Invalid("table_id", "is not a table")
	}
	byID = list.Items[0]
	if fqn != "" {
		if byName.DeltaID != byID.DeltaID {
			return "", byID, fault.Invalid("table_fqn", "names another table than tableId")
		}
		byID = byName
	}
	return byID.DeltaID, byID, nil
}
