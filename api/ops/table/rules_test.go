package table_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/catalog"
)

// items is a lake with the table items.
func items(t *testing.T) (*opstest.Lake, table.Created) {
	t.Helper()
	l := opstest.New(t)
	made := l.Create("items", column("id"), column("size"))
	l.Insert("items", `[{"id": 1, "size": 5}, {"id": 2, "size": 5}]`)
	return l, made
}

func column(name string) table.ColumnDefinition {
	return table.ColumnDefinition{Name: name, Type: "long", Nullable: true}
}

func TestColumnsChangeInOneCommitEach(t *testing.T) {
	l, _ := items(t)
	builder := l.Member(catalog.RoleBuilder)
	added, err := l.Rules.AddColumn(builder, l.Path("items"), column("weight"))
	require.NoError(t, err)
	require.Equal(t, int64(2), added.TableVersion)
	name := "mass"
	renamed, err := l.Rules.ChangeColumn(builder, l.Path("items"), "WEIGHT", table.ColumnChange{Name: &name})
	require.NoError(t, err)
	require.Equal(t, "mass", renamed.Columns[2].Name)
	dropped, err := l.Rules.DropColumn(builder, l.Path("items"), "mass")
	require.NoError(t, err)
	require.Len(t, dropped.Columns, 2)
	_, err = l.Rules.DropColumn(builder, l.Path("items"), "mass")
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func TestAColumnThatAPolicyNamesStays(t *testing.T) {
	l, made := items(t)
	l.Policy(made, catalog.PolicyRows, "", `permit (principal, action, resource) when { resource has size && resource.size < 10 };`)
	var used *table.ColumnInUseError
	wider := "double"
	_, err := l.Rules.ChangeColumn(l.Member(catalog.RoleAdmin), l.Path("items"), "size", table.ColumnChange{Type: &wider})
	require.ErrorAs(t, err, &used)
	_, err = l.Rules.ChangeColumn(l.Member(catalog.RoleBuilder), l.Path("items"), "size", table.ColumnChange{Type: &wider})
	require.ErrorIs(t, err, access.ErrPartlyVisible)
	_, err = l.Rules.DropColumn(l.Member(catalog.RoleBuilder), l.Path("items"), "size")
	require.ErrorIs(t, err, access.ErrPartlyVisible, "who does not see all rows drops nothing")
}

func TestConstraintsAreJudgedByAllRows(t *testing.T) {
	l, _ := items(t)
	builder := l.Member(catalog.RoleBuilder)
	_, err := l.Rules.AddConstraints(builder, l.Path("items"),
		[]catalog.NewConstraint{{Name: "small", Expression: "size < 10"}, {Name: "tiny", Expression: "size < 5"}}, false)
	require.NoError(t, err)
	list, err := l.Rules.Constraints(builder, l.Path("items"))
	require.NoError(t, err)
	validated := map[string]bool{}
	for _, c := range list {
		validated[c.Name] = c.Validated
	}
	require.Equal(t, map[string]bool{"small": true, "tiny": false}, validated, "rows break the second one")
}

func TestKeysAreRefusedForRepeatedValues(t *testing.T) {
	l, _ := items(t)
	states, err := l.Rules.Violations(l.Member(catalog.RoleBuilder), l.Path("items"))
	require.NoError(t, err)
	require.Empty(t, states)
	primary := []table.ColumnDefinition{{Name: "id", Type: "long", PrimaryKey: true}}
	l.Create("keyed", primary...)
	l.Insert("keyed", `[{"id": 1}]`)
	states, err = l.Rules.Violations(l.Member(catalog.RoleBuilder), l.Path("keyed"))
	require.NoError(t, err)
	require.Equal(t, "primary_key", states[0].Kind)
	require.True(t, states[0].Holds)
}

func TestRestoreBringsRowsBack(t *testing.T) {
	l, _ := items(t)
	admin := l.Member(catalog.RoleAdmin)
	empty := int64(0)
	restored, err := l.Rules.Restore(admin, l.Path("items"), table.RestorePoint{Version: &empty})
	require.NoError(t, err)
	require.Equal(t, int64(2), restored.TableVersion)
	details, err := l.Tables.Get(admin, l.Path("items"))
	require.NoError(t, err)
	require.Equal(t, int64(0), *details.Rows)
}
