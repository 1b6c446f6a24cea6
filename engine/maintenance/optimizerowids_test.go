package maintenance_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/maintenance"
)

// rowIDs holds the id, row id and row commit version of rows.
type rowIDs struct {
	Rows        [][3]int64
	Mark, Moved int64
}

func (w *deltaRSTable) identities() rowIDs {
	w.Helper()
	got := ask[rowIDs](w, w.rs, map[string]any{"do": "identities", "path": w.dir})
	slices.SortFunc(got.Rows, func(a, b [3]int64) int { return int(a[0] - b[0]) })
	return got
}

// hide marks rows of every file in deletion vectors.
func (w *deltaRSTable) hide(rows ...int64) {
	w.Helper()
	snap := w.load()
	txn := snap.Begin(delta.Operation{Name: "DELETE"})
	for f := range snap.Files() {
		set, err := deletedOf(rows...)
		require.NoError(w, err)
		_, err = txn.DeleteRows(w.Context(), delta.RowDeletion{File: f, Rows: set})
		require.NoError(w, err)
	}
	_, err := txn.Commit(w.Context())
	require.NoError(w, err)
}

// TestOptimizeKeepsRowIDs checks that rows keep their ids and commit versions
// through two optimizes.
func TestOptimizeKeepsRowIDs(t *testing.T) {
	for _, mapping := range []string{"none", "name", "id"} {
		for _, vectors := range []bool{false, true} {
			t.Run(fmt.Sprint(mapping, " ", vectors), func(t *testing.T) {
				w := newDeltaRSTable(t)
				snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{
					Schema: delta.Struct{Fields: []delta.Field{
						{Name: "id", Type: delta.Long, Nullable: true}, {Name: "x", Type: delta.Double, Nullable: true},
					}},
					Properties: map[string]string{"delta.columnMapping.mode": mapping, "delta.enableRowTracking": "true",
						"delta.enableDeletionVectors": fmt.Sprint(vectors)},
				})
				require.NoError(t, err)
				var ids []engine.FieldID
				columns := snap.FileColumns()
				for _, c := range columns {
					if c.ID != 0 {
						ids = append(ids, engine.FieldID{Column: c.FileName, ID: c.ID})
					}
				}
				for first := range 4 {
					snap = w.append(snap, fmt.Sprintf("SELECT i AS %s, sin(i) AS %s FROM range(%d, %d) AS r(i)",
						engine.QuoteIdent(columns[0].FileName), engine.QuoteIdent(columns[1].FileName), first*100, first*100+100), ids)
				}
				if vectors {
					w.hide(0, 7, 99)
				}
				before, rows := w.identities(), w.rows()
				require.Zero(t, before.Moved)
				for i, change := range []func(*maintenance.OptimizeOptions){
					nil,
					func(o *maintenance.OptimizeOptions) { o.ZOrderBy = []string{"x"} },
					func(o *maintenance.OptimizeOptions) { o.ZOrderBy = []string{"x", "id"} },
				} {
					done := w.optimize(change)
					require.Positive(t, done.FilesAdded)
					after := w.identities()
					require.Equal(t, before.Rows, after.Rows, "after optimize %d", i)
					require.Equal(t, int64(len(before.Rows)), after.Moved)
					require.Greater(t, after.Mark, before.Mark)
					require.Equal(t, rows, w.rows())
				}
				if vectors {
					moved := w.identities()
					w.hide(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25)
					require.Positive(t, w.optimize(nil).FilesAdded)
					require.Subset(t, moved.Rows, w.identities().Rows)
					require.Len(t, w.identities().Rows, len(moved.Rows)-25)
				}
			})
		}
	}
}

// TestOptimizeWithoutRowColumns checks that nothing is written if files have no
// columns for row ids.
func TestOptimizeWithoutRowColumns(t *testing.T) {
	w := newDeltaRSTable(t)
	snap, err := delta.Create(t.Context(), w.bucket,
		delta.CreateOptions{Schema: twoColumns, Properties: map[string]string{"delta.enableRowTracking": "true"}})
	require.NoError(t, err)
	m := snap.Metadata()
	delete(m.Configuration, "delta.rowTracking.materializedRowIdColumnName")
	txn := snap.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
	txn.SetMetadata(m)
	snap, err = txn.Commit(t.Context())
	require.NoError(t, err)
	for range 3 {
		snap = w.append(snap, "SELECT 1::BIGINT AS id, 'p' AS p", nil)
	}
	files := w.dataFiles()
	_, err = maintenance.Optimize(t.Context(), snap, w.options())
	var refused *delta.FeatureError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "rowTracking", refused.Feature)
	require.Equal(t, files, w.dataFiles())
}

// TestOptimizeKeepsRowIDsBesideOthers deletes a row and adds others during an
// optimize: the bin is planned again, and new rows get new ids.
func TestOptimizeKeepsRowIDsBesideOthers(t *testing.T) {
	w := newDeltaRSTable(t)
	snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{Schema: twoColumns, Properties: map[string]string{
		"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true",
	}})
	require.NoError(t, err)
	rows := "SELECT i AS id, 'p' AS p FROM range(%d, %d) AS r(i)"
	for first := range 3 {
		snap = w.append(snap, fmt.Sprintf(rows, first*10, first*10+10), nil)
	}
	var before rowIDs
	_, calls, err := w.optimizeWhile(func(call int) error {
		if call == 1 {
			w.hide(4)
			w.append(w.load(), fmt.Sprintf(rows, 100, 110), nil)
			before = w.identities()
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	after := w.identities()
	require.Len(t, after.Rows, 37)
	require.Equal(t, before.Rows, after.Rows)
	require.Equal(t, before.Mark+37, after.Mark)
}
