package authz_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// TestDomainsFollowTheWorkspaceOfTheTable checks that a role in a workspace allows changes
// of the domains of its tables, and not of shared ones.
func TestDomainsFollowTheWorkspaceOfTheTable(t *testing.T) {
	f := newFixture(t)
	at := catalog.ColumnDomainAt{Column: "b"}
	for who, role := range map[string]struct{ base, space, organisation bool }{
		"admin": {base: true, organisation: true}, "builder": {base: true, space: true, organisation: true},
		"editor": {space: true}, "curator": {space: true}, "viewer": {},
	} {
		ctx := as(f.people[who])
		set := func(table catalog.Table) error {
			return drop(f.store.SetColumnDomain(ctx, f.viewer(ctx), table.ID, at, fixedDomain(""), f.actor(ctx)))
		}
		_, err := f.store.CreateDomain(ctx, f.org, fixedDomain("of "+who), f.actor(ctx))
		for name, c := range map[string]struct {
			err     error
			allowed bool
		}{"base": {set(f.table), role.base}, "space": {set(f.spaced), role.space}, "organisation": {err, role.organisation}} {
			if c.allowed {
				require.NoError(t, c.err, "%s %s", who, name)
			} else {
				require.Error(t, hiddenAsDenied(ctx, f, c.err), "%s %s", who, name)
				require.ErrorIs(t, hiddenAsDenied(ctx, f, c.err), catalog.ErrDenied, "%s %s", who, name)
			}
		}
	}
}

// TestValueChangesNeedTheRows checks that a value that rows have is only changed by a
// caller who may change rows of every table that uses the domain.
func TestValueChangesNeedTheRows(t *testing.T) {
	f := newFixture(t)
	builder := f.people["builder"]
	values, err := f.inner.DomainValues(context.Background(), f.org, f.shared.ID)
	require.NoError(t, err)
	begin := func(p auth.Principal, shared bool) error {
		ctx := as(p)
		target, value := f.target(ctx), f.value
		if shared {
			target = catalog.DomainTarget{Org: f.org, Domain: f.shared.ID}
			value = values.Values[0].ID
		}
		return drop(f.store.BeginValueChange(ctx, target, catalog.ValueChange{
			Kind: catalog.ValueRename, Value: value, To: "new", By: f.actor(ctx),
		}))
	}
	for _, shared := range []bool{false, true} {
		missing(t, begin(narrow(builder, auth.ScopeDomainsWrite), shared), auth.ScopeRowsUpdate)
		missing(t, begin(narrow(builder, auth.ScopeRowsUpdate, auth.ScopeTablesRead), shared), auth.ScopeDomainsWrite)
		require.NoError(t, begin(narrow(builder, auth.ScopeDomainsWrite, auth.ScopeRowsUpdate), shared))
	}
	ctx := as(narrow(builder, auth.ScopeRowsUpdate, auth.ScopeTablesRead))
	deletion := catalog.ValueChange{Kind: catalog.ValueDelete, Value: f.value, By: f.actor(ctx)}
	missing(t, drop(f.store.BeginValueChange(ctx, f.target(ctx), deletion)), auth.ScopeDomainsWrite)
	ctx = as(narrow(builder, auth.ScopeDomainsWrite))
	require.ErrorIs(t, drop(f.store.BeginValueChange(ctx, f.target(ctx), deletion)), catalog.ErrValueChange,
		"a deletion changes no rows, but the rename is under way")
	ctx = as(builder)
	reason(t, drop(f.store.BeginValueChange(ctx, f.target(ctx), catalog.ValueChange{By: f.users["owner"]})), "actor_mismatch")
	reason(t, drop(f.store.CreateDomain(ctx, f.org, fixedDomain("n"), f.users["owner"])), "actor_mismatch")
	foreign := f.target(ctx)
	foreign.Org = catalog.NewID[catalog.OrgID]()
	require.ErrorIs(t, drop(f.store.DescribeDomainValue(ctx, foreign, f.value, "", "")), catalog.ErrNotFound)
}
