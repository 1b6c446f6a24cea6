package table_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// located finds a table.
func located(t *testing.T, l *opstest.Lake, name string) catalog.LocatedTable {
	t.Helper()
	ctx := l.Member(catalog.RoleAdmin)
	found, err := l.Path(name).Resolve(ctx, l.Store, l.Caller(ctx).Viewer)
	require.NoError(t, err)
	return found
}

// restrict gives a column of a table a domain.
func restrict(t *testing.T, l *opstest.Lake, name, column string, spec catalog.DomainSpec, values ...string) {
	t.Helper()
	domain := catalog.NewDomain{DomainSpec: spec}
	for _, v := range values {
		domain.Values = append(domain.Values, catalog.NewDomainValue{Value: v})
	}
	system := authz.System(context.Background(), "test")
	_, err := l.Store.SetColumnDomain(system, catalog.SystemViewer(l.Org.ID), located(t, l, name).ID, catalog.ColumnDomainAt{Column: column},
		domain, l.Org.Owner)
	require.NoError(t, err)
}

var fixed = catalog.DomainSpec{Kind: catalog.DomainFixed}

func reference(t *testing.T, l *opstest.Lake, name, column string) catalog.DomainSpec {
	source := located(t, l, name)
	return catalog.DomainSpec{Kind: catalog.DomainReference,
		Source: &catalog.DomainSource{Config: source.Config, Table: source.DeltaID, Column: column}}
}

func TestColumnsOfDomainsStay(t *testing.T) {
	l, _ := items(t)
	l.Create("orders", column("item"))
	builder := l.Member(catalog.RoleBuilder)
	restrict(t, l, "items", "size", fixed, "5")
	restrict(t, l, "orders", "item", reference(t, l, "items", "id"))

	var used *table.ColumnInUseError
	_, err := l.Rules.DropColumn(builder, l.Path("items"), "size")
	require.ErrorAs(t, err, &used)
	require.Equal(t, catalog.FieldErrors{{Field: "domains", Message: "the domain of the column size depends on it"}}, used.Dependants)
	_, err = l.Rules.DropColumn(builder, l.Path("items"), "id")
	require.ErrorAs(t, err, &used)
	require.Equal(t, catalog.FieldErrors{{Field: "domains",
		Message: "the domain of the column item of " + located(t, l, "orders").FQN() + " takes its values from it"}}, used.Dependants)

	var taken *table.TableInUseError
	for _, purge := range []bool{false, true} {
		require.ErrorAs(t, l.Files.Drop(builder, l.Path("items"), purge), &taken)
		require.Contains(t, taken.Error(), "the column item")
	}
	require.NoError(t, l.Files.Drop(builder, l.Path("orders"), true))
}

func TestDependantsOfOthersAreCounted(t *testing.T) {
	l, _ := items(t)
	orders := l.Create("orders", column("item"), column("id"))
	restrict(t, l, "orders", "item", reference(t, l, "items", "id"))
	l.Policy(orders, catalog.PolicyColumn, "item", `forbid (principal, action, resource);`)
	var taken *table.TableInUseError
	require.ErrorAs(t, l.Files.Drop(l.Member(catalog.RoleBuilder), l.Path("items"), false), &taken)
	require.Equal(t, catalog.FieldErrors{{Field: "domains",
		Message: "domains of columns that the caller does not see take their values from it: 1"}}, taken.Dependants)
}

func TestTypesChangeIfValuesOfDomainsStayTheSame(t *testing.T) {
	l := opstest.New(t)
	l.Create("items", table.ColumnDefinition{Name: "size", Type: "integer", Nullable: true})
	restrict(t, l, "items", "size", fixed, "5")
	builder := l.Member(catalog.RoleBuilder)
	_, err := l.Rules.ChangeProperties(builder, l.Path("items"), map[string]string{"delta.enableTypeWidening": "true"}, nil)
	require.NoError(t, err)
	change := func(to string) error {
		_, err := l.Rules.ChangeColumn(builder, l.Path("items"), "size", table.ColumnChange{Type: &to})
		return err
	}
	var used *table.ColumnInUseError
	require.ErrorAs(t, change("double"), &used)
	require.ErrorAs(t, change("decimal(12,2)"), &used, "5 would be 5.00")
	require.NoError(t, change("long"))
}

func TestRestoreLeavesDomainsAlone(t *testing.T) {
	l, _ := items(t) // version 1 has the size 5
	admin := l.Member(catalog.RoleAdmin)
	_, err := l.Rules.AddColumn(admin, l.Path("items"), column("weight")) // version 2
	require.NoError(t, err)
	restrict(t, l, "items", "weight", fixed, "1")
	restore := func(version int64) error {
		_, err := l.Rules.Restore(admin, l.Path("items"), table.RestorePoint{Version: &version})
		return err
	}
	var used *table.ColumnInUseError
	require.ErrorAs(t, restore(1), &used)
	require.Contains(t, used.Error(), "the domain of the column weight")

	restrict(t, l, "items", "size", fixed, "6")
	_, err = l.Writes.Delete(admin, l.Path("items"), "true", write.Options{})
	require.NoError(t, err) // version 3
	var refused *table.RowsError
	require.ErrorAs(t, restore(2), &refused)
	require.Contains(t, refused.Error(), "2 values outside the domain of the column size")
	restrict(t, l, "items", "size", fixed, "5", "6")
	require.NoError(t, restore(2))
	restrict(t, l, "items", "size", fixed, "6")
	require.NoError(t, restore(3), "it has no rows")
}

func TestRestoreOfRowsThatAreOutsideAnyway(t *testing.T) {
	l, _ := items(t)
	l.Insert("items", `[{"id": 3, "size": 5}]`)
	restrict(t, l, "items", "size", fixed, "6")
	version := int64(1)
	_, err := l.Rules.Restore(l.Member(catalog.RoleAdmin), l.Path("items"), table.RestorePoint{Version: &version})
	require.NoError(t, err)
}

func TestViolationsOfDomains(t *testing.T) {
	l, made := items(t)
	l.Create("sizes", column("size"))
	l.Insert("sizes", `[{"size": 6}]`)
	restrict(t, l, "items", "id", fixed, "1", "2")
	restrict(t, l, "items", "size", reference(t, l, "sizes", "size"))
	builder := l.Member(catalog.RoleBuilder)
	list, err := l.Rules.Violations(builder, l.Path("items"))
	require.NoError(t, err)
	none, two := int64(0), int64(2)
	require.Equal(t, []table.RuleState{
		{Kind: "domain", Name: "id", Columns: []string{"id"}, Holds: true, Violations: &none},
		{Kind: "domain", Name: "size", Columns: []string{"size"}, Violations: &two},
	}, list)
	l.Policy(made, catalog.PolicyRows, "", `permit (principal, action, resource) when { resource has size && resource.size < 10 };`)
	list, err = l.Rules.Violations(builder, l.Path("items"))
	require.NoError(t, err)
	require.Empty(t, list, "the caller does not see all rows")
}
