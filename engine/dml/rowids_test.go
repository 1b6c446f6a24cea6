package dml_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// tracked returns a table with deletion vectors and row tracking.
func tracked(t *testing.T, properties string) *modelTable {
	o := newModelTable(t, newTestEngine(t), tableKind{vectors: true}, t.TempDir)
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
func (o *modelTable) ids() map[int64]int64 {
	out := map[int64]int64{}
	for f := range o.load().Files() {
		out[*f.Add.BaseRowID] = *f.Add.DefaultRowCommitVersion
	}
	return out
}

// TestRowsOfWritesHaveIDs checks that new files get new ids, and that a file keeps
// its ids when deletion vectors mark rows of it.
func TestRowsOfWritesHaveIDs(t *testing.T) {
	o := tracked(t, "")
	require.NoError(t, o.delete("id = 2"))
	require.Equal(t, map[int64]int64{0: 1}, o.ids())
	require.NoError(t, o.update("id = 3", "'x'"))
	require.NoError(t, o.merge("update", nil, item{ID: 1, V: ptr("m")}, item{ID: 9}))
	require.Equal(t, map[int64]int64{3: 3, 4: 4}, o.ids())
	require.JSONEq(t, `{"rowIdHighWaterMark":5}`, o.load().DomainMetadata()["delta.rowTracking"].Configuration)
	require.Equal(t, []string{"1|m|~|~|~", "3|x|~|~|~", "9|~|~|~|~"}, o.read(true))
}

// trackedRows holds the ids and commit versions of rows as delta-rs reads them.
type trackedRows struct {
	// Rows are triples: id, row id, row commit version.
	Rows [][3]int64
	// Mark is the highest row id that was assigned, Moved the number of rows that
	// have stored ids.
	Mark, Moved int64
}

// checkIDs checks that rows which existed before the last write kept their ids, and
// that unchanged rows kept their commit versions.
func (o *modelTable) checkIDs(t require.TestingT, rs *oracletest.Process, before map[int64]item) {
	now, failed := oracletest.Ask[trackedRows](t, rs, map[string]any{"do": "identities", "path": o.dir})
	require.Empty(t, failed)
	was, version := map[int64][3]int64{}, o.load().Version()
	for _, row := range o.lastIDs.Rows {
		was[row[0]] = row
	}
	taken := map[int64]bool{}
	require.Len(t, now.Rows, len(o.rows))
	for _, row := range now.Rows {
		old, stayed := was[row[0]]
		switch {
		case !stayed:
			require.Greater(t, row[1], o.lastIDs.Mark, "a new row has an id that was assigned before")
			require.Equal(t, version, row[2], "commit version of a new row")
		case before[row[0]].text() == o.rows[row[0]].text():
			require.Equal(t, old, row, "an unchanged row")
		default:
			require.Equal(t, [3]int64{old[0], old[1], version}, row, "an updated row")
		}
		require.LessOrEqual(t, row[1], now.Mark)
		require.False(t, taken[row[1]], "two rows have the id %d", row[1])
		taken[row[1]] = true
	}
	require.GreaterOrEqual(t, now.Mark, o.lastIDs.Mark)
	o.lastIDs = now
}

// TestRowsWithoutColumnsForTheirIDsStay checks that a table with row tracking but
// without names for the id columns refuses writes that would move rows, before
// anything is written.
func TestRowsWithoutColumnsForTheirIDsStay(t *testing.T) {
	o := tracked(t, `,"delta.enableRowTracking":"true"`)
	require.NoError(t, o.delete("id = 2"))
	require.NoError(t, o.merge("ignore", nil, item{ID: 1}, item{ID: 9}))
	require.Equal(t, map[int64]int64{0: 1, 3: 3}, o.ids())
	var refused *delta.FeatureError
	require.ErrorAs(t, o.update("id = 3", "'x'"), &refused)
	require.Equal(t, "rowTracking", refused.Feature)
	require.ErrorAs(t, o.merge("update", nil, item{ID: 1}), &refused)
	require.Empty(t, o.unnamed())
	require.Equal(t, []string{"1|~|~|~|~", "3|~|~|~|~", "9|~|~|~|~"}, o.read(true))
}

// TestIDsOfRowsAreNoColumns checks that readers of the table do not see the ids
// stored in its files.
func TestIDsOfRowsAreNoColumns(t *testing.T) {
	rs := oracletest.StartProcess(t, deltaRSScript)
	o := newModelTable(t, newTestEngine(t), tableKind{tracked: true}, t.TempDir)
	ids := func() trackedRows {
		got, failed := oracletest.Ask[trackedRows](t, rs, map[string]any{"do": "identities", "path": o.dir})
		require.Empty(t, failed)
		slices.SortFunc(got.Rows, func(a, b [3]int64) int { return int(a[0] - b[0]) })
		return got
	}
	require.NoError(t, o.insert(item{ID: 1}, item{ID: 2}, item{ID: 3}))
	require.Equal(t, trackedRows{Rows: [][3]int64{{1, 0, 1}, {2, 1, 1}, {3, 2, 1}}, Mark: 2}, ids())
	require.NoError(t, o.update("id = 2", "'x'"))
	require.Equal(t, trackedRows{Rows: [][3]int64{{1, 0, 1}, {2, 1, 2}, {3, 2, 1}}, Mark: 5, Moved: 3}, ids())
	require.NoError(t, o.merge("update", nil, item{ID: 3, V: ptr("m")}, item{ID: 4}))
	got := ids()
	require.Equal(t, [][3]int64{{1, 0, 1}, {2, 1, 2}, {3, 2, 3}}, got.Rows[:3])
	require.Equal(t, [2]int64{9, 3}, [2]int64{got.Mark, got.Moved})
	require.Greater(t, got.Rows[3][1], int64(5))
	require.NoError(t, o.delete("id = 1"))
	require.Equal(t, got.Rows[1:], ids().Rows)

	snap := o.load()
	listed := o.source(snap)
	listed.Files, _ = pruning.List(snap, o.columns, engine.Condition{})
	for _, source := range []engine.Source{listed, o.source(snap)} {
		sql := "SELECT string_agg(column_name, ' ') FROM (DESCRIBE SELECT * FROM " + source.Relation() + ")"
		require.Equal(t, []string{"id v p"}, queryTexts(t, o.eng, o.dir, sql, source))
	}
	names, kept := snap.RowColumns()
	require.True(t, kept)
	for f := range snap.Files() {
		require.NotContains(t, f.Add.Stats, names.ID)
	}
}
