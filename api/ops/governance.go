package ops

import (
	"context"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// subject is whom policies are compiled for.
type subject struct {
	user       catalog.UserID
	role       catalog.Role
	attributes map[string]string
}

func subjectOf(m catalog.Membership) subject {
	return subject{user: m.User, role: m.Role, attributes: m.Attributes}
}

// enforced are the enabled policies that can concern some tables.
type enforced []catalog.Policy

// policiesFor reads what is enforced on the tables, in one statement.
func policiesFor(ctx context.Context, store catalog.Policies, org catalog.OrgID, tables []catalog.LocatedTable) (enforced, error) {
	ids := make([]catalog.DeltaID, len(tables))
	for i, t := range tables {
		ids[i] = t.DeltaID
	}
	return store.EnabledPolicies(ctx, org, ids)
}

// heldRules are what the statements of one member are held to.
type heldRules struct {
	policies enforced
	subject  subject
	// views are what follows from them for the versions of tables that were read
	// last. They go with the rules.
	views *recent[appliedView]
}

// maxViews bounds the views that are remembered of one set of rules.
const maxViews = 32

// rulesStore is what rules are read from.
type rulesStore interface {
	catalog.Policies
	Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
}

// rulesFor reads policies and member as they were at one epoch. Were one older
// than the other, a statement could join an attribute with a policy that was
// narrowed before the attribute was given, and see what nobody ever allowed.
func rulesFor(ctx context.Context, store rulesStore, a Actor, m *moment, tables []catalog.LocatedTable, kept *recent[heldRules]) (heldRules, error) {
	fields := []string{string(a.Org), string(a.User)}
	for _, t := range tables {
		fields = append(fields, string(t.DeltaID))
	}
	return answer(ctx, m, kept, fields, func() (heldRules, error) { return readRules(ctx, store, a, tables) })
}

func readRules(ctx context.Context, store rulesStore, a Actor, tables []catalog.LocatedTable) (heldRules, error) {
	policies, err := policiesFor(ctx, store, a.Org, tables)
	if err != nil {
		return heldRules{}, err
	}
	member, err := store.Membership(ctx, a.Org, a.User)
	return heldRules{policies, subjectOf(member), newRecent[appliedView](maxViews)}, err
}

// on returns the policies of one table: its own, and those of every table that
// has their column.
func (e enforced) on(table catalog.DeltaID, columns []engine.Column) enforced {
	var out enforced
	for _, p := range e {
		switch {
		case p.Table == table:
		case p.Table == "" && (p.Column == "" || policy.HasColumn(columns, p.Column)):
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

// lost is an error when a policy hides or masks a column that its table does not
// have at its newest version: somebody else renamed or dropped it, or did so while
// the policy was stored. What it protects may be there under another name, so that
// the table is closed until the policy is corrected. Nothing else orders changes
// of policies and changes of columns, on any replica or by any writer: a policy
// that comes first is seen by the change here, and one that comes too late closes
// the table. Row policies need no such care, what they cannot decide is hidden.
func (e enforced) lost(table catalog.DeltaID, columns []engine.Column) error {
	for _, p := range e {
		if p.Table == table && p.Kind != catalog.PolicyRows && !policy.HasColumn(columns, p.Column) {
			return fmt.Errorf("%w: %s version %d: the table has no column %q", policy.ErrPolicy, p.ID, p.Version, p.Column)
		}
	}
	return nil
}

// hideRows reports whether the policies, all of which apply, let anybody see some rows
// only. How the table's rows lie must then tell nothing of how many there are.
func (e enforced) hideRows() bool {
	return slices.ContainsFunc(e, func(p catalog.Policy) bool { return p.Kind == catalog.PolicyRows })
}

// tableAlias is what the columns of a predicate are qualified with.
const tableAlias = "t"

// filter compiles the policies, all of which apply, for one subject over the
// columns of a table's newest version.
func (e enforced) filter(s subject, columns []engine.Column) (policy.Filter, error) {
	return e.filterOver(s, columns, tableAlias)
}

// filterOver is filter with another alias for the table.
func (e enforced) filterOver(s subject, columns []engine.Column, alias string) (policy.Filter, error) {
	return policy.Compile(e.request(s, columns, alias, lostFrom(columns)))
}

// uncertainty reports whether a row policy cannot rely on the absence of a column
// that is not among those it is compiled for.
type uncertainty func(p catalog.Policy, column string) bool

// lostFrom returns the uncertainty about columns of a table's newest version. A policy
// of every table also applies to tables that never had its column. If a policy of one
// table names a missing column, another writer has renamed or dropped it.
func lostFrom(newest []engine.Column) uncertainty {
	return func(p catalog.Policy, column string) bool {
		return p.Table != "" && !policy.HasColumn(newest, column)
	}
}

func (e enforced) request(s subject, columns []engine.Column, alias string, uncertain uncertainty) policy.Request {
	request := policy.Request{
		Policies:  make([]policy.Policy, len(e)),
		Principal: policy.Principal{UserID: string(s.user), Role: string(s.role), Attributes: s.attributes},
		Columns:   columns,
		Alias:     alias,
	}
	for i, p := range e {
		request.Policies[i] = policy.Policy{
			ID: string(p.ID), Version: p.Version, Kind: policy.Kind(p.Kind), Text: p.Text, ColumnName: p.Column,
			Uncertain: func(column string) bool { return uncertain(p, column) },
		}
	}
	return request
}
