package pruning_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// Lists name exactly the rows that vectors hide, through versions that hide more,
// take files away and add others; what an earlier version read is not read again.
func TestListsNameDeletedRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bucket := objstore.NewFaults(mem.New())
		mapped := rapid.SampledFrom([]string{"none", "name", "id"}).Draw(rt, "mapping")
		snap, err := delta.Create(background(), bucket, delta.CreateOptions{
			Schema: delta.Struct{Fields: []delta.Field{{Name: "l", Type: delta.Long, Nullable: true},
				{Name: "s", Type: delta.String, Nullable: true}}},
			PartitionColumns: []string{"s"},
			Properties:       map[string]string{"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": mapped},
		})
		require.NoError(rt, err)
		gone := map[string][]int64{}
		for step := range rapid.IntRange(2, 8).Draw(rt, "steps") {
			txn := snap.Begin(delta.Operation{Name: "WRITE"})
			files := slices.Collect(snap.Files())
			if step == 0 || rapid.Bool().Draw(rt, "add") {
				for i := range rapid.IntRange(1, 3).Draw(rt, "files") {
					name := fmt.Sprintf("%d-%d.parquet", step, i)
					require.NoError(rt, txn.Add(delta.AddFile{Name: name, Size: 1, Stats: `{"numRecords":100000}`,
						PartitionValues: map[string]*string{"s": ptr(rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "value"))}}))
				}
			} else {
				f := rapid.SampledFrom(files).Draw(rt, "file")
				// Many rows far apart: the vector is too large to be inlined in the log.
				hidden := rapid.SliceOfNDistinct(rapid.Int64Range(0, 99_999), 1, 300, rapid.ID).Draw(rt, "rows")
				rows, err := deletion.Of(slices.Values(hidden))
				require.NoError(rt, err)
				_, err = txn.DeleteRows(background(), delta.RowDeletion{File: f, Rows: rows})
				require.NoError(rt, err)
				gone[f.Name] = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(gone[f.Name]), hidden...))))
			}
			snap, err = txn.Commit(background())
			require.NoError(rt, err)
			if rapid.IntRange(0, 3).Draw(rt, "look") == 0 {
				continue
			}
			require.NoError(rt, pruning.Load(background(), snap))
			before := bucket.Count()
			require.NoError(rt, pruning.Load(background(), snap))
			require.Equal(rt, before, bucket.Count(), "what is known is not read again")
			require.NoError(rt, pruning.Check(snap))
			require.NoError(rt, pruning.CheckRestricted(snap))
			condition := engine.Condition{}
			if rapid.Bool().Draw(rt, "some") {
				condition = engine.Condition{Op: engine.ConditionEqual, Column: "s", Values: []engine.ConditionValue{"x"}}
			}
			for _, list := range []func(*delta.Snapshot, []engine.Column, engine.Condition) (*engine.FileList, bool){pruning.List,
				pruning.ListRestricted} {
				files, ok := list(snap, columnsOf(snap.Schema()), condition)
				require.True(rt, ok)
				require.Equal(rt, mapped == "id", files.ColumnIDs != nil)
				var names []string
				for _, g := range files.Groups {
					names = append(names, g.Paths...)
				}
				got := map[string][]int64{}
				for _, d := range files.Deleted {
					rows, err := deletion.FromBytes(d.Rows)
					require.NoError(rt, err)
					got[names[d.File]] = slices.Collect(rows.All())
				}
				want := map[string][]int64{}
				for _, name := range names {
					if rows := gone[name]; rows != nil {
						want[name] = rows
					}
				}
				require.Equal(rt, want, got)
			}
		}
	})
}

// Without its vectors a table is not listed for any reader; a malformed vector is an error.
func TestVectorsAreReadFirst(t *testing.T) {
	bucket := mem.New()
	snap, err := delta.Create(background(), bucket, delta.CreateOptions{
		Schema:     delta.Struct{Fields: []delta.Field{{Name: "l", Type: delta.Long, Nullable: true}}},
		Properties: map[string]string{"delta.enableDeletionVectors": "true"},
	})
	require.NoError(t, err)
	columns := columnsOf(snap.Schema())
	_, ok := pruning.ListRestricted(snap, columns, engine.Condition{})
	require.False(t, ok, "whether there are vectors does not decide")
	require.NoError(t, pruning.Load(t.Context(), snap))
	_, ok = pruning.ListRestricted(snap, columns, engine.Condition{})
	require.True(t, ok)

	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(delta.AddFile{Name: "a", Size: 1, Stats: `{"numRecords":9}`, PartitionValues: map[string]*string{},
		DeletionVector: &action.DeletionVector{
			StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", SizeInBytes: 4, Cardinality: 1, Offset: ptr(int32(4))}}))
	snap, err = txn.Commit(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, pruning.Load(t.Context(), snap), delta.ErrLogBroken)
	for _, list := range []func(*delta.Snapshot, []engine.Column, engine.Condition) (*engine.FileList, bool){pruning.List,
		pruning.ListRestricted} {
		_, ok := list(snap, columns, engine.Condition{})
		require.False(t, ok)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, pruning.Load(ctx, snap))
}
