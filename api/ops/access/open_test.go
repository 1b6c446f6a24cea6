package access_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

const (
	hideFromViewers = `forbid (principal in Role::"viewer", action, resource == Column::"secret");`
	maskForViewers  = `@mask("last4") forbid (principal in Role::"viewer", action, resource == Column::"phone");`
	ownRegion       = `permit (principal, action, resource) when { resource has region && resource.region == "eu" };`
)

// people is a lake with the table people, which has two versions.
func people(t *testing.T) (*opstest.Lake, table.Created) {
	t.Helper()
	l := opstest.New(t)
	made := l.Create("people", column("id", "long"), column("region", "string"), column("phone", "string"), column("secret", "string"))
	l.Insert("people", `[{"id": 1, "region": "eu", "phone": "5550001", "secret": "a"},
		{"id": 2, "region": "us", "phone": "5550002", "secret": "b"}]`)
	return l, made
}

func column(name, kind string) table.ColumnDefinition {
	return table.ColumnDefinition{Name: name, Type: kind, Nullable: true}
}

func columnNames(opened access.Table) []string {
	var names []string
	for _, c := range opened.Columns() {
		names = append(names, c.Name)
	}
	return names
}

func TestOpenAppliesPoliciesToEachCaller(t *testing.T) {
	l, made := people(t)
	l.Policy(made, catalog.PolicyColumn, "secret", hideFromViewers)
	l.Policy(made, catalog.PolicyMask, "phone", maskForViewers)
	viewer, admin := l.Member(catalog.RoleViewer), l.Member(catalog.RoleAdmin)
	open := func(ctx context.Context, ref access.Ref) access.Table {
		ref.Path, ref.Rows = l.Path("people"), true
		opened, err := l.Tables.Open(ctx, l.Caller(ctx), ref)
		require.NoError(t, err)
		return opened
	}
	seen := open(viewer, access.Ref{})
	require.Equal(t, []string{"id", "region", "phone"}, columnNames(seen))
	require.True(t, seen.Hides("SECRET"))
	require.True(t, seen.Masks("phone"))
	require.False(t, seen.Whole())
	_, ok := seen.Column("secret")
	require.False(t, ok, "a hidden column is one that does not exist")
	require.Len(t, seen.AllColumns(), 4)

	whole := open(admin, access.Ref{})
	require.True(t, whole.Whole())
	require.Equal(t, []string{"id", "region", "phone", "secret"}, columnNames(whole))

	before := delta.AtVersion(0)
	old := open(viewer, access.Ref{At: &before})
	require.True(t, old.Historical())
	require.Equal(t, []string{"id", "region", "phone"}, columnNames(old), "an older version shows no more")
}

func TestOpenFollowsTheNextPolicy(t *testing.T) {
	l, made := people(t)
	viewer := l.Member(catalog.RoleViewer)
	ref := access.Ref{Path: l.Path("people")}
	first, err := l.Tables.Open(viewer, l.Caller(viewer), ref)
	require.NoError(t, err)
	require.True(t, first.Whole())
	require.False(t, first.HidesRows())
	l.Policy(made, catalog.PolicyRows, "region", ownRegion)
	next, err := l.Tables.Open(viewer, l.Caller(viewer), ref)
	require.NoError(t, err)
	require.True(t, next.Filter().Restricted)
	require.True(t, next.HidesRows())
	require.Equal(t, `"t"."region" = 'eu'`, next.Filter().Predicate)
}

func TestOpenRefuses(t *testing.T) {
	l, _ := people(t)
	viewer := l.Member(catalog.RoleViewer)
	open := func(ref access.Ref) error {
		_, err := l.Tables.Open(viewer, l.Caller(viewer), ref)
		return err
	}
	require.ErrorIs(t, open(access.Ref{Path: l.Path("nobody")}), catalog.ErrNotFound)
	require.ErrorIs(t, open(access.Ref{Path: access.Path{Catalog: "other", Schema: l.Config.Schema(), Table: "people"}}), catalog.ErrNotFound)
	require.ErrorIs(t, open(access.Ref{Path: l.Path("people"), Scope: auth.ScopeTablesModify}), catalog.ErrDenied)
	missing := delta.AtVersion(99)
	require.ErrorIs(t, open(access.Ref{Path: l.Path("people"), At: &missing}), delta.ErrVersionNotFound)
}

func TestOpenAllReadsAllTablesAtOneEpoch(t *testing.T) {
	l, made := people(t)
	l.Create("others", column("id", "long"))
	l.Policy(made, catalog.PolicyRows, "region", ownRegion)
	viewer := l.Member(catalog.RoleViewer)
	who := l.Caller(viewer)
	names := []catalog.TableName{{Schema: l.Config.Schema(), Table: "people"}, {Schema: l.Config.Schema(), Table: "others"}}
	found, err := l.Store.ResolveTables(viewer, who.Viewer, names)
	require.NoError(t, err)
	opened, err := l.Tables.OpenAll(viewer, who, epochView(viewer, t, l),
		[]access.Ref{{Table: &found[0].Table, Rows: true}, {Table: &found[1].Table, Rows: true}})
	require.NoError(t, err)
	require.False(t, opened[0].Whole())
	require.True(t, opened[1].Whole())
	basis := access.BasisOf(opened...)
	require.Len(t, basis.Tables(), 2)
	check := l.Tables.CheckBasis(who, basis)
	require.NoError(t, check(viewer, epochView(viewer, t, l)))
	l.Policy(made, catalog.PolicyRows, "region", ownRegion)
	require.Error(t, check(viewer, epochView(viewer, t, l)), "another policy applies now")
}

func epochView(ctx context.Context, t *testing.T, l *opstest.Lake) *memo.EpochView {
	t.Helper()
	v, err := memo.NewEpochView(ctx, l.Store)
	require.NoError(t, err)
	return v
}
