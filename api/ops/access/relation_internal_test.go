package access

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// mixedTable has a file that mixes tenants, one of tenant a only and one of tenant
// b only, with ids from 0, 10 and 20 on.
func mixedTable(t *testing.T) *delta.Snapshot {
	t.Helper()
	dir := t.TempDir()
	text := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"b0a31b0f-0f8b-4f0e-9d3f-3c3f0a3f7a12","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"tenant\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}
`
	for i, f := range []struct {
		from, to string
		bytes    int
	}{{"a", "b", 100}, {"a", "a", 50}, {"b", "b", 1000}} {
		text += fmt.Sprintf(`{"add":{"path":"%d.parquet","partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":9,\"minValues\":{\"id\":%d,\"tenant\":\"%s\"},\"maxValues\":{\"id\":%d,\"tenant\":\"%s\"},\"nullCount\":{\"id\":0,\"tenant\":0}}"}}`+"\n",
			i, f.bytes, 10*i, f.from, 10*i+9, f.to)
	}
	path := filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", 0))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	return snap
}

// TestConditionsExcludeMixedFilesOfLargeTables checks that conditions of statements
// exclude files that mix hidden and visible rows only if a copy of the table would not
// fit, and row groups of such files never. The sizes in the log decide that.
func TestConditionsExcludeMixedFilesOfLargeTables(t *testing.T) {
	snap := mixedTable(t)
	u := tableVersion{snap: snap, head: snap}
	policies := policySet{{PolicySpec: catalog.PolicySpec{Column: "tenant", Kind: catalog.PolicyRows,
		Text: `permit (principal, action, resource) when { resource has tenant && resource.tenant == "a" };`}}}
	v, err := u.view(policies, Subject{Role: catalog.RoleViewer})
	require.NoError(t, err)
	e := u.exposure(v)
	require.Equal(t, pruning.Exposure{Bytes: 150, Mixed: true, MixedBytes: 100}, e, "files that the policy leaves out do not count")

	id := func(value engine.ConditionValue) engine.Condition {
		return engine.Condition{Op: engine.ConditionEqual, Column: "id", Values: []engine.ConditionValue{value}}
	}
	for _, c := range []struct {
		copyBytes int64
		asked     engine.Condition
		files     []string
	}{
		{100, engine.Condition{}, []string{"0.parquet", "1.parquet"}},
		{100, id("5"), []string{"0.parquet"}},
		{100, id("15"), []string{"0.parquet", "1.parquet"}},
		{100, id("25"), []string{"0.parquet"}},
		{100, id("99"), []string{"0.parquet"}},
		{99, engine.Condition{}, []string{"0.parquet", "1.parquet"}},
		{99, id("5"), []string{"0.parquet"}},
		{99, id("15"), []string{"1.parquet"}},
		{99, id("99"), nil},
	} {
		r := u.relation(v, e, false, c.copyBytes)
		require.True(t, r.Shielded)
		require.Equal(t, int64(150), r.Bytes)
		var files []string
		for _, g := range r.Narrow(r.Condition, c.asked).Files.Groups {
			files = append(files, g.Paths...)
		}
		require.Equal(t, c.files, files, "%d %+v", c.copyBytes, c.asked)
	}

	all, err := u.view(nil, Subject{Role: catalog.RoleViewer})
	require.NoError(t, err)
	require.False(t, u.relation(all, u.exposure(all), false, 0).Shielded, "nothing is hidden")
}
