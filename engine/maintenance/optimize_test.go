package maintenance_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// deltaRSTable is a local table that delta-rs writes and reads, and an engine.
type deltaRSTable struct {
	*testing.T
	dir    string
	bucket *file.Bucket
	eng    engine.Engine
	rs     *oracletest.Process
}

func newDeltaRSTable(t *testing.T) *deltaRSTable {
	t.Helper()
	extensions := oracletest.Extensions(t)
	eng, err := duckdb.New(context.Background(), duckdb.Options{ExtensionDirs: []string{extensions}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	w := &deltaRSTable{T: t, dir: t.TempDir(), eng: eng, rs: oracletest.StartProcess(t, deltaRSScript)}
	w.bucket, err = file.New(w.dir)
	require.NoError(t, err)
	return w
}

func (w *deltaRSTable) load() *delta.Snapshot {
	w.Helper()
	snap, err := delta.Load(w.Context(), w.bucket, delta.Options{})
	require.NoError(w, err)
	return snap
}

func (w *deltaRSTable) options() maintenance.OptimizeOptions {
	w.Helper()
	scratch := w.TempDir()
	session, err := w.eng.Open(w.Context(), engine.SessionOptions{Roots: []string{w.dir}, Scratch: scratch})
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, session.Close()) })
	return maintenance.OptimizeOptions{
		Session: session, Writer: session.(engine.Writer), Scratch: scratch,
		Lease: engine.Lease{Memory: 256 << 20, Threads: 2, TempBytes: 4 << 30},
		Source: func(snap *delta.Snapshot, list *engine.FileList) engine.Source {
			return engine.Source{Location: w.dir, Version: snap.Version(), Identity: snap.Identity(), Files: list}
		},
	}
}

func (w *deltaRSTable) optimize(change func(*maintenance.OptimizeOptions)) maintenance.Optimized {
	w.Helper()
	opts := w.options()
	if change != nil {
		change(&opts)
	}
	done, err := maintenance.Optimize(w.Context(), w.load(), opts)
	require.NoError(w, err)
	return done
}

// rows returns the table's rows as delta-rs reads them.
func (w *deltaRSTable) rows() []string {
	w.Helper()
	return ask[[]string](w, w.rs, map[string]any{"do": "rows", "path": w.dir})
}

// write lets delta-rs append n rows, starting at first.
func (w *deltaRSTable) write(first, n int, p any, partitioned bool) {
	w.Helper()
	ask[int](w, w.rs, map[string]any{"do": "write", "path": w.dir, "first": first, "n": n, "p": p, "partitioned": partitioned})
}

func (w *deltaRSTable) files() []string {
	w.Helper()
	var list []string
	for f := range w.load().Files() {
		list = append(list, f.Name)
	}
	return list
}

// dataFiles returns the Parquet files in the table's folder.
func (w *deltaRSTable) dataFiles() []string {
	w.Helper()
	var list []string
	for o, err := range w.bucket.List(w.Context(), "", objstore.ListOptions{}) {
		require.NoError(w, err)
		if !strings.HasPrefix(o.Name, "_delta_log/") {
			list = append(list, o.Name)
		}
	}
	return list
}

func TestOptimizeCompacts(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		t.Run(fmt.Sprintf("partitioned=%v", partitioned), func(t *testing.T) {
			w := newDeltaRSTable(t)
			values := []any{"a b/c=d%e", "é:\\?", nil}
			for i := range 9 {
				w.write(i*100, 100, values[i%3], partitioned)
			}
			before, version := w.rows(), w.load().Version()
			require.Len(t, before, 900)
			dry := w.optimize(func(o *maintenance.OptimizeOptions) { o.DryRun = true })
			want := maintenance.Optimized{FilesAdded: 1, FilesRemoved: 9}
			if partitioned {
				want.FilesAdded = 3
			}
			require.Equal(t, want.FilesAdded, dry.FilesAdded)
			require.Equal(t, version, w.load().Version())
			var made []int64
			committed := func(o *maintenance.OptimizeOptions) {
				o.Commit = func(ctx context.Context, txn *delta.Txn) (*delta.Snapshot, error) {
					snap, err := txn.Commit(ctx)
					made = append(made, snap.Version())
					return snap, err
				}
			}
			done := w.optimize(committed)
			require.Equal(t, [2]int64{want.FilesAdded, want.FilesRemoved}, [2]int64{done.FilesAdded, done.FilesRemoved})
			require.Equal(t, [2]int64{dry.FilesAdded, dry.FilesRemoved}, [2]int64{done.FilesAdded, done.FilesRemoved})
			require.Equal(t, before, w.rows())
			snap := w.load()
			require.Equal(t, version+1, snap.Version(), "one commit")
			rows, known := snap.Rows()
			require.True(t, known)
			require.EqualValues(t, 900, rows)
			for f := range snap.Files() {
				require.False(t, f.Add.DataChange)
			}
			require.Equal(t, maintenance.Optimized{}, w.optimize(committed), "a second run has nothing to do")
			require.Equal(t, version+1, w.load().Version())
			require.Equal(t, []int64{version + 1}, made)

			// The next run includes rows of later writes.
			w.write(900, 10, values[0], partitioned)
			done = w.optimize(nil)
			require.Equal(t, [2]int64{1, 2}, [2]int64{done.FilesAdded, done.FilesRemoved})
			require.Len(t, w.rows(), 910)
		})
	}
}

func TestOptimizeOnePartition(t *testing.T) {
	w := newDeltaRSTable(t)
	for i := range 6 {
		w.write(i*10, 10, []any{"x", "y"}[i%2], true)
	}
	before := w.rows()
	done := w.optimize(func(o *maintenance.OptimizeOptions) {
		o.Partition = func(values map[string]*string) bool { return *values["p"] == "x" }
		o.Predicate = "p = 'x'"
	})
	require.Equal(t, [2]int64{1, 3}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, before, w.rows())
	history, err := w.load().History(t.Context(), 1, 0)
	require.NoError(t, err)
	require.Equal(t, `["p = 'x'"]`, history[0].OperationParameters["predicate"])
}

func TestOptimizeTargetSize(t *testing.T) {
	w := newDeltaRSTable(t)
	for i := range 8 {
		w.write(i*1000, 1000, "x", false)
	}
	before := w.rows()
	var size int64
	for f := range w.load().Files() {
		size = max(size, f.Add.Size)
	}
	compact := func(o *maintenance.OptimizeOptions) { o.TargetBytes = 2*size + size/2 }
	done := w.optimize(compact)
	require.Equal(t, [2]int64{4, 8}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, before, w.rows())
	require.Equal(t, maintenance.Optimized{}, w.optimize(compact), "files that became smaller are not rewritten again")
}

func TestOptimizePurgesDeletedRows(t *testing.T) {
	w := newDeltaRSTable(t)
	ask[int](t, w.rs, map[string]any{"do": "write", "path": w.dir, "first": 0, "n": 100, "p": "x", "vectors": true})
	w.write(100, 100, "x", false)
	snap := w.load()
	txn := snap.Begin(delta.Operation{Name: "DELETE"})
	for f := range snap.Files() {
		rows, err := deletedOf(3, 50, 99)
		require.NoError(t, err)
		_, err = txn.DeleteRows(t.Context(), delta.RowDeletion{File: f, Rows: rows})
		require.NoError(t, err)
	}
	_, err := txn.Commit(t.Context())
	require.NoError(t, err)
	before := w.rows()
	require.Len(t, before, 194)
	done := w.optimize(nil)
	require.Equal(t, [2]int64{1, 2}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, before, w.rows())
	for f := range w.load().Files() {
		require.Nil(t, f.Add.DeletionVector)
	}

	// A single file is rewritten too, however few of its rows are deleted.
	for _, deleted := range [][]int64{{1}, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}} {
		snap = w.load()
		txn = snap.Begin(delta.Operation{Name: "DELETE"})
		rows, err := deletedOf(deleted...)
		require.NoError(t, err)
		for f := range snap.Files() {
			_, err = txn.DeleteRows(t.Context(), delta.RowDeletion{File: f, Rows: rows})
			require.NoError(t, err)
		}
		_, err = txn.Commit(t.Context())
		require.NoError(t, err)
		before = w.rows()
		require.EqualValues(t, 1, w.optimize(nil).FilesAdded)
		require.Equal(t, before, w.rows())
	}
}

func TestOptimizeAlongACurve(t *testing.T) {
	w := newDeltaRSTable(t)
	ask[int](t, w.rs, map[string]any{"do": "grid", "path": w.dir, "side": 300, "files": 6})
	before := w.rows()
	var size int64
	for f := range w.load().Files() {
		size += f.Add.Size
	}
	curve := func(o *maintenance.OptimizeOptions) { o.ZOrderBy, o.TargetBytes = []string{"x", "y"}, size/16 }
	done := w.optimize(curve)
	require.Equal(t, int64(6), done.FilesRemoved)
	require.Greater(t, done.FilesAdded, int64(5))
	require.Equal(t, before, w.rows())
	// Each file covers a small part of the square.
	var area float64
	for f := range w.load().Files() {
		stats, err := f.Stats()
		require.NoError(t, err)
		var minX, maxX, minY, maxY float64
		for text, into := range map[string]*float64{
			string(stats.MinValues["x"]): &minX, string(stats.MaxValues["x"]): &maxX,
		} {
			_, err := fmt.Sscan(text, into)
			require.NoError(t, err)
		}
		_, err = fmt.Sscanf(strings.Trim(string(stats.MinValues["y"]), `"`), "%f", &minY)
		require.NoError(t, err)
		_, err = fmt.Sscanf(strings.Trim(string(stats.MaxValues["y"]), `"`), "%f", &maxY)
		require.NoError(t, err)
		area += (maxX - minX + 1) * (maxY - minY + 1) / (300 * 300)
	}
	require.Less(t, area, 4.0, "in one order they would cover %d times the square", done.FilesAdded)
	require.Equal(t, maintenance.Optimized{}, w.optimize(curve), "a second run has nothing to do")
	require.Equal(t, []string{"x", "y"}, datafile.LaidOutBy(w.load()))

	for name, bad := range map[string][]string{"missing": {"nope"}, "twice": {"x", "x"}, "list": {"l"}} {
		opts := w.options()
		opts.ZOrderBy = bad
		_, err := maintenance.Optimize(t.Context(), w.load(), opts)
		require.ErrorIs(t, err, maintenance.ErrZOrder, name)
	}
}

func TestOptimizeMappedColumns(t *testing.T) {
	w := newDeltaRSTable(t)
	schema := delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true}, {Name: "p", Type: delta.String, Nullable: true},
		{Name: "s t", Type: delta.Struct{Fields: []delta.Field{{Name: "in ner", Type: delta.Long, Nullable: true}}}, Nullable: true},
	}}
	snap, err := delta.Create(t.Context(), w.bucket, delta.CreateOptions{
		Schema: schema, PartitionColumns: []string{"p"}, Properties: map[string]string{"delta.columnMapping.mode": "name"},
	})
	require.NoError(t, err)
	physical := snap.FileColumns()
	for i := range 3 {
		opts := w.options()
		files, err := opts.Writer.Write(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: fmt.Sprintf(
			"SELECT %d::BIGINT AS %s, {%s: %d::BIGINT} AS %s", i, engine.QuoteIdent(physical[0].FileName),
			engine.QuoteString(physical[1].Children[0].FileName), i*10, engine.QuoteIdent(physical[1].FileName)), Lease: opts.Lease}})
		require.NoError(t, err)
		name := fmt.Sprintf("f%d.parquet", i)
		require.NoError(t, os.Rename(filepath.Join(opts.Scratch, files[0].Name), filepath.Join(w.dir, name)))
		txn := snap.Begin(delta.Operation{Name: "WRITE"})
		value := "x"
		require.NoError(t, txn.Add(delta.AddFile{Name: name, Size: files[0].Bytes, PartitionValues: map[string]*string{"p": &value},
			Stats: `{"numRecords":1}`}))
		snap, err = txn.Commit(t.Context())
		require.NoError(t, err)
	}
	before := w.rows()
	require.Len(t, before, 3)
	done := w.optimize(nil)
	require.Equal(t, [2]int64{1, 3}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Equal(t, before, w.rows())
	require.True(t, slices.ContainsFunc(before, func(row string) bool { return strings.Contains(row, `"in ner": 20`) }), "%v", before)
}
