package dml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// tracked is a table with deletion vectors whose rows have ids.
func tracked(t *testing.T, properties string) *tableOf {
	o := newTableOf(t, newTestEngine(t), kind{vectors: true}, t.TempDir)
	name := filepath.Join(o.dir, "_delta_log", "00000000000000000000.json")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	log := strings.Replace(string(text), `"writerFeatures":[`, `"writerFeatures":["rowTracking","domainMetadata",`, 1)
	log = strings.Replace(log, `"delta.enableDeletionVectors":"true"`, `"delta.enableDeletionVectors":"true"`+properties, 1)
	require.NotEqual(t, string(text), log)
	require.NoError(t, os.WriteFile(name, []byte(log), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(o.dir, "_delta_log", "00000000000000000000.crc")))
	require.NoError(t, o.insert(item{ID: 1}, item{ID: 2}, item{ID: 3}))
	return o
}

// ids maps the first row id of each file to the version that its rows came with.
func (o *tableOf) ids() map[int64]int64 {
	out := map[int64]int64{}
	for f := range o.load().Files() {
		out[*f.Add.BaseRowID] = *f.Add.DefaultRowCommitVersion
	}
	return out
}

// New files get ids of their own, and a file of which rows are hidden keeps its ids.
func TestRowsOfWritesHaveIDs(t *testing.T) {
	o := tracked(t, "")
	require.NoError(t, o.delete("id = 2"))
	require.Equal(t, map[int64]int64{0: 1}, o.ids())
	require.NoError(t, o.update("id = 3", "'x'"))
	require.NoError(t, o.merge("update", item{ID: 1, V: ptr("m")}, item{ID: 9}))
	require.Equal(t, map[int64]int64{3: 3, 4: 4}, o.ids())
	require.JSONEq(t, `{"rowIdHighWaterMark":5}`, o.load().DomainMetadata()["delta.rowTracking"].Configuration)
	require.Equal(t, []string{"1|m|~|~|~", "3|x|~|~|~", "9|~|~|~|~"}, o.read(true))
}

// Where readers go by the ids, rows are added and hidden, and never move.
func TestRowsThatReadersTrackStay(t *testing.T) {
	o := tracked(t, `,"delta.enableRowTracking":"true","delta.rowTracking.materializedRowIdColumnName":"_id","delta.rowTracking.materializedRowCommitVersionColumnName":"_version"`)
	require.NoError(t, o.delete("id = 2"))
	require.NoError(t, o.merge("ignore", item{ID: 1}, item{ID: 9}))
	require.Equal(t, map[int64]int64{0: 1, 3: 3}, o.ids())
	var refused *delta.FeatureError
	require.ErrorAs(t, o.update("id = 3", "'x'"), &refused)
	require.Equal(t, "rowTracking", refused.Feature)
	require.ErrorAs(t, o.merge("update", item{ID: 1}), &refused)
	require.Empty(t, o.unnamed())
	require.Equal(t, []string{"1|~|~|~|~", "3|~|~|~|~", "9|~|~|~|~"}, o.read(true))
}
