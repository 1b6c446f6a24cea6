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
	"github.com/lakewarden/lakewarden/engine/pruning"
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

// identities are what rows are known by, as somebody else reads it.
type identities struct {
	// Rows are triples: id, row id, row commit version.
	Rows [][3]int64
	// Mark is the highest row id that was given out, Moved how many rows bring theirs
	// with them.
	Mark, Moved int64
}

// checkIDs demands that rows which were there before the last write have the ids that
// they had, and those that it left alone the commit versions, too.
func (o *tableOf) checkIDs(t require.TestingT, rs *deltaRS, before map[int64]item) {
	now, failed := ask[identities](t, rs, map[string]any{"do": "identities", "path": o.dir})
	require.Empty(t, failed)
	was, version := map[int64][3]int64{}, o.load().Version()
	for _, row := range o.known.Rows {
		was[row[0]] = row
	}
	taken := map[int64]bool{}
	require.Len(t, now.Rows, len(o.rows))
	for _, row := range now.Rows {
		old, stayed := was[row[0]]
		switch {
		case !stayed:
			require.Greater(t, row[1], o.known.Mark, "a new row has an id that was given out before")
			require.Equal(t, version, row[2], "a new row")
		case before[row[0]].text() == o.rows[row[0]].text():
			require.Equal(t, old, row, "a row that nobody changed")
		default:
			require.Equal(t, [3]int64{old[0], old[1], version}, row, "a row with new values")
		}
		require.LessOrEqual(t, row[1], now.Mark)
		require.False(t, taken[row[1]], "two rows have the id %d", row[1])
		taken[row[1]] = true
	}
	require.GreaterOrEqual(t, now.Mark, o.known.Mark)
	o.known = now
}

// A table that asks for ids and has no columns for them takes no rows that would
// move, and nothing is written before it says so.
func TestRowsWithoutColumnsForTheirIDsStay(t *testing.T) {
	o := tracked(t, `,"delta.enableRowTracking":"true"`)
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

// Files hold the ids of rows that moved, and nobody who reads the table sees them.
func TestIDsOfRowsAreNoColumns(t *testing.T) {
	rs := startDeltaRS(t)
	o := newTableOf(t, newTestEngine(t), kind{tracked: true}, t.TempDir)
	ids := func() identities {
		got, failed := ask[identities](t, rs, map[string]any{"do": "identities", "path": o.dir})
		require.Empty(t, failed)
		slices.SortFunc(got.Rows, func(a, b [3]int64) int { return int(a[0] - b[0]) })
		return got
	}
	require.NoError(t, o.insert(item{ID: 1}, item{ID: 2}, item{ID: 3}))
	require.Equal(t, identities{Rows: [][3]int64{{1, 0, 1}, {2, 1, 1}, {3, 2, 1}}, Mark: 2}, ids())
	require.NoError(t, o.update("id = 2", "'x'"))
	require.Equal(t, identities{Rows: [][3]int64{{1, 0, 1}, {2, 1, 2}, {3, 2, 1}}, Mark: 5, Moved: 3}, ids())
	require.NoError(t, o.merge("update", item{ID: 3, V: ptr("m")}, item{ID: 4}))
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
		require.Equal(t, []string{"id v p"}, texts(t, o.eng, o.dir, sql, source))
	}
	names, kept := snap.RowColumns()
	require.True(t, kept)
	for f := range snap.Files() {
		require.NotContains(t, f.Add.Stats, names.ID)
	}
}
