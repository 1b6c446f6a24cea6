package write_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/opstest"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// orders is a lake with the table orders, of which editors see the rows of the EU.
func orders(t *testing.T) *opstest.Lake {
	t.Helper()
	l := opstest.New(t)
	made := l.Create("orders",
		table.ColumnDefinition{Name: "id", Type: "long", PrimaryKey: true},
		table.ColumnDefinition{Name: "region", Type: "string", Nullable: true},
		table.ColumnDefinition{Name: "total", Type: "long", Nullable: true})
	l.Insert("orders", `[{"id": 1, "region": "eu", "total": 10}, {"id": 2, "region": "us", "total": 20}]`)
	l.Policy(made, catalog.PolicyRows, "", `permit (principal in Role::"editor", action, resource)
		when { resource has region && resource.region == "eu" };`)
	l.Policy(made, catalog.PolicyRows, "", `permit (principal in Role::"admin", action, resource);`)
	return l
}

func TestWritesReachVisibleRowsOnly(t *testing.T) {
	l := orders(t)
	editor := l.Member(catalog.RoleEditor)
	changed, err := l.Writes.Update(editor, l.Path("orders"), "total > 0", map[string]string{"total": "total + 1"}, write.Options{})
	require.NoError(t, err)
	require.Equal(t, int64(1), changed.Updated)
	deleted, err := l.Writes.Delete(editor, l.Path("orders"), "id = 2", write.Options{})
	require.NoError(t, err)
	require.Zero(t, deleted.Deleted, "the row is hidden")
	all, err := l.Writes.Delete(l.Member(catalog.RoleAdmin), l.Path("orders"), "total IN (11, 20)", write.Options{})
	require.NoError(t, err)
	require.Equal(t, int64(2), all.Deleted)
}

func TestInsertedRowsMustBeVisible(t *testing.T) {
	l := orders(t)
	editor := l.Member(catalog.RoleEditor)
	_, err := l.Writes.Insert(editor, l.Path("orders"), opstest.JSON(`[{"id": 3, "region": "us"}]`), write.Options{})
	var refused *dml.RowsError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, dml.BrokenFilter, refused.Kind)
	done, err := l.Writes.Insert(editor, l.Path("orders"), opstest.JSON(`[{"id": 3, "region": "eu"}]`), write.Options{})
	require.NoError(t, err)
	require.Equal(t, int64(1), done.Inserted)
}

func TestInsertChecksKeysAndKeepsDryRunsOut(t *testing.T) {
	l := orders(t)
	admin := l.Member(catalog.RoleAdmin)
	var refused *dml.RowsError
	_, err := l.Writes.Insert(admin, l.Path("orders"), opstest.JSON(`[{"id": 1}]`), write.Options{})
	require.ErrorAs(t, err, &refused)
	tried, err := l.Writes.Insert(admin, l.Path("orders"), opstest.JSON(`[{"id": 4}]`), write.Options{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, int64(1), tried.Inserted)
	done, err := l.Writes.Insert(admin, l.Path("orders"), opstest.JSON(`[{"id": 4}]`), write.Options{})
	require.NoError(t, err)
	require.Equal(t, tried.Version+1, done.Version, "the dry run committed nothing")
}

func TestARepeatedKeyIsOneCommit(t *testing.T) {
	l := orders(t)
	admin := l.Member(catalog.RoleAdmin)
	options := write.Options{Key: "once"}
	first, err := l.Writes.Insert(admin, l.Path("orders"), opstest.JSON(`[{"id": 5}]`), options)
	require.NoError(t, err)
	again, err := l.Writes.Insert(admin, l.Path("orders"), opstest.JSON(`[{"id": 5}]`), options)
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = l.Writes.Insert(admin, l.Path("orders"), opstest.JSON(`[{"id": 6}]`), options)
	require.ErrorIs(t, err, write.ErrKeyReused)
}

func TestWritesNeedTheirScope(t *testing.T) {
	l := orders(t)
	viewer := l.Member(catalog.RoleViewer)
	_, err := l.Writes.Insert(viewer, l.Path("orders"), opstest.JSON(`[{"id": 7}]`), write.Options{})
	require.ErrorIs(t, err, catalog.ErrDenied)
	_, err = l.Writes.Delete(viewer, l.Path("orders"), "true", write.Options{})
	require.ErrorIs(t, err, catalog.ErrDenied)
}

func TestAMergeDeletesVisibleRowsInTheSameCommit(t *testing.T) {
	l := orders(t)
	editor := l.Member(catalog.RoleEditor)
	merge := func(body, keys string) (write.Result, error) {
		in := write.MergeInput{Body: opstest.JSON(body + `, "delete": ` + keys)}
		return l.Writes.Merge(editor, l.Path("orders"), in, write.Options{})
	}
	done, err := merge(`[{"id": 3, "region": "eu", "total": 30}]`, `[{"id": 1}, {"id": 2}, {"id": 99}]`)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 0, 1}, []int64{done.Inserted, done.Updated, done.Deleted}, "the row 2 is hidden")
	again, err := merge(`[]`, `[{"id": 2}]`)
	require.NoError(t, err)
	require.Equal(t, write.Result{Version: done.Version}, again, "nothing is left to delete")

	for keys, field := range map[string]string{
		`{}`: "delete", `[1]`: "delete", `[null]`: "delete", `[[1]]`: "delete", `[{"id": 1}, {}]`: "delete[1].id",
		`[{"id": null}]`: "delete[0].id",
		`[{"id": "x"}]`:  "delete[0].id", `[{"id": 1}, {"id": 2, "total": 1}]`: "delete[1].total", `[{"no such": 1}]`: "delete[0].no such",
	} {
		_, err := merge(`[]`, keys)
		var refused catalog.FieldErrors
		require.ErrorAs(t, err, &refused, keys)
		require.Equal(t, field, refused[0].Field, keys)
	}
	for keys, field := range map[string]string{`[{"id": 7}, {"id": 8}, {"id": 7}]`: "delete[2]", `[{"id": 7}, {"id": 3}]`: "delete[1]"} {
		_, err := merge(`[{"id": 3, "region": "eu"}]`, keys)
		var refused *dml.RowsError
		require.ErrorAs(t, err, &refused, keys)
		require.Equal(t, "duplicate_key", refused.ProblemCode())
		for name := range refused.FieldProblems() {
			require.Equal(t, field, name)
		}
	}
}
