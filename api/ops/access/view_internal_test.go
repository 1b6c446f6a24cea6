package access

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// renamedTable has a column that is called tax in version 0 and ssn in version
// 1, and one that is called ssn in version 0 and note in version 1.
func renamedTable(t *testing.T) (older, head *delta.Snapshot) {
	t.Helper()
	dir := t.TempDir()
	commit := func(version int, names ...string) {
		fields := make([]string, len(names))
		for i, name := range names {
			fields[i] = fmt.Sprintf(`{\"name\":\"%s\",\"type\":\"string\",\"nullable\":true,\"metadata\":{\"delta.columnMapping.id\":%d,`+
				`\"delta.columnMapping.physicalName\":\"col-%d\"}}`, name, i+1, i+1)
		}
		text := `{"commitInfo":{"timestamp":1700000000000,"operation":"WRITE"}}` + "\n"
		if version == 0 {
			text += `{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}` + "\n"
		}
		text += `{"metaData":{"id":"b0a31b0f-0f8b-4f0e-9d3f-3c3f0a3f7a11","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[` +
			strings.Join(fields, ",") + `]}","partitionColumns":["` + names[2] +
			`"],"configuration":{"delta.columnMapping.mode":"name","delta.columnMapping.maxColumnId":"3","delta.constraints.c":"(` + "`SSN`" +
			` > 'a')","note":"assn"}}}` + "\n"
		path := filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", version))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	commit(0, "tax", "ssn", "day")
	commit(1, "ssn", "note", "day")
	bucket, err := file.New(dir)
	require.NoError(t, err)
	head, err = delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	older, err = delta.Load(t.Context(), bucket, delta.Options{At: delta.AtVersion(0)})
	require.NoError(t, err)
	return older, head
}

func viewerPolicy(kind catalog.PolicyKind, column, annotation string) catalog.Policy {
	return catalog.Policy{ID: "p", Version: 1, PolicySpec: catalog.PolicySpec{
		Column: column, Kind: kind, Text: annotation + `forbid (principal in Role::"viewer", action, resource == Column::"` + column + `");`,
	}}
}

func names(v view) []string {
	var out []string
	for _, c := range v.columns {
		out = append(out, c.Name)
	}
	return out
}

// TestARenamingShakesOffNoPolicy: what the newest version hides stays hidden in a
// version that called it otherwise, beside what that version's own names hide.
func TestARenamingShakesOffNoPolicy(t *testing.T) {
	older, head := renamedTable(t)
	hidden := policySet{viewerPolicy(catalog.PolicyColumn, "ssn", "")}
	viewer := Subject{Role: catalog.RoleViewer}
	v, err := tableVersion{snap: head, head: head}.view(hidden, viewer)
	require.NoError(t, err)
	require.Equal(t, []string{"note", "day"}, names(v))
	v, err = tableVersion{snap: older, head: head}.view(hidden, viewer)
	require.NoError(t, err)
	require.Equal(t, []string{"day"}, names(v))
	v, err = tableVersion{snap: older, head: head}.view(hidden, Subject{Role: catalog.RoleAdmin})
	require.NoError(t, err)
	require.Equal(t, []string{"tax", "ssn", "day"}, names(v))
	require.True(t, v.whole())

	masked := policySet{viewerPolicy(catalog.PolicyMask, "ssn", `@mask("last4") `)}
	v, err = tableVersion{snap: older, head: head}.view(masked, viewer)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"tax": "last4", "ssn": "last4"}, v.Masks)
	require.Len(t, v.exprs, 2)
	require.False(t, v.sorted)
}

// TestAViewTellsNothingOfHiddenColumns: properties, partition columns, policies.
func TestAViewTellsNothingOfHiddenColumns(t *testing.T) {
	_, head := renamedTable(t)
	policies := policySet{viewerPolicy(catalog.PolicyColumn, "ssn", ""), viewerPolicy(catalog.PolicyColumn, "day", ""),
		viewerPolicy(catalog.PolicyMask, "note", ""),
		{PolicySpec: catalog.PolicySpec{Column: "SSN", Kind: catalog.PolicyRows,
			Text: `permit (principal, action, resource) when { resource.ssn == "a" };`}}}
	v, err := tableVersion{snap: head, head: head}.view(policies, Subject{Role: catalog.RoleViewer})
	require.NoError(t, err)
	require.Equal(t, []string{"note"}, names(v))
	table := Table{tableVersion: tableVersion{snap: head, head: head}, policies: policies, seen: v}
	require.Empty(t, table.partitionColumns())
	require.True(t, v.sorted, "the order of files tells of days")
	require.NotContains(t, table.properties(), "delta.constraints.c")
	require.Equal(t, "assn", table.properties()["note"], "another word")
	require.Equal(t, []EffectivePolicy{{Kind: catalog.PolicyMask, Column: "note"}, {Kind: catalog.PolicyRows}}, table.effectivePolicies())
	r := tableVersion{snap: head, head: head}.relation(v, pruning.Exposure{}, false, 0)
	require.True(t, r.Filtered && r.Sorted)
	require.Equal(t, `"t"."ssn" = 'a'`, r.Predicate, "rows are decided by what is hidden")

	open, err := tableVersion{snap: head, head: head}.view(policies[:1], Subject{Role: catalog.RoleViewer})
	require.NoError(t, err)
	r = tableVersion{snap: head, head: head}.relation(open, pruning.Exposure{}, false, 0)
	require.False(t, r.Filtered, "what is hidden is not read: no copy is needed")
}

// TestViewsAreRememberedByVersion: each version has its own, the same as without a
// memory, and other rules have a memory of their own.
func TestViewsAreRememberedByVersion(t *testing.T) {
	older, head := renamedTable(t)
	viewer := Subject{Role: catalog.RoleViewer}
	for _, policies := range []policySet{{viewerPolicy(catalog.PolicyColumn, "ssn", "")},
		{viewerPolicy(catalog.PolicyMask, "ssn", `@mask("last4") `)}, nil} {
		held := rules{policies, viewer, memo.NewCache[appliedView](maxViews)}
		for range 2 {
			for _, u := range []tableVersion{{snap: head, head: head}, {snap: older, head: head}, {snap: older, head: older}} {
				want, err := u.view(policies, viewer)
				require.NoError(t, err)
				got, err := held.viewOf(u)
				require.NoError(t, err)
				require.Equal(t, want, got.view)
				require.Equal(t, u.applicable(policies), got.policies)
			}
		}
		require.Equal(t, 3, held.views.Len())
	}
}
