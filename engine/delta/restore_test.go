package delta_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

func at(tb testing.TB, s *delta.Snapshot, version int64) *delta.Snapshot {
	tb.Helper()
	o := testOptions(tb)
	o.At = delta.AtVersion(version)
	old, err := delta.Load(tb.Context(), s.Bucket(), o)
	require.NoError(tb, err)
	return old
}

func mustRestore(tb testing.TB, s *delta.Snapshot, version int64) (*delta.Snapshot, delta.Restoration) {
	tb.Helper()
	txn, r, err := s.Restore(tb.Context(), at(tb, s, version), delta.Operation{UserName: "ada"})
	require.NoError(tb, err)
	next, err := txn.Commit(tb.Context())
	require.NoError(tb, err)
	return next, r
}

// content returns what readers see of a version.
func content(s *delta.Snapshot) map[string]any {
	v := viewOf(s)
	return map[string]any{"files": v.Files, "schema": s.Metadata().SchemaString, "partitions": s.PartitionColumns(), "bytes": v.Bytes}
}

func TestRestore(t *testing.T) {
	s := mustCreate(t, mem.New(), delta.CreateOptions{Properties: vectorProperties})
	s = mustAppend(t, s, 1, 2)
	s = mustAppend(t, s, 3, 4)
	old := s
	for f := range s.Files() {
		s, _ = mustDelete(t, s, delta.RowDeletion{File: f, Rows: rowSet(t, 0)})
	}
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		if err := a.SetProperties(map[string]string{"own": "1"}); err != nil {
			return err
		}
		return a.RenameColumn([]string{"s"}, "text")
	})
	s = mustAppend(t, s, 5)
	s, err := txnWith(t, s, func(txn *delta.Txn) { txn.SetTransaction("app", 7) })
	require.NoError(t, err)
	protocol := s.Protocol()
	latest := content(s)

	restored, r := mustRestore(t, s, old.Version())
	require.Equal(t, content(old), content(restored))
	require.Equal(t, old.Properties(), restored.Properties())
	require.Equal(t, protocol, restored.Protocol(), "never less")
	last, _ := restored.SetTransaction("app")
	require.EqualValues(t, 7, last)
	require.EqualValues(t, 2, r.Restored)
	require.EqualValues(t, 3, r.Removed)
	require.EqualValues(t, 2, r.Files)
	require.False(t, restored.WholeFiles())
	history, err := restored.History(t.Context(), 1, 0)
	require.NoError(t, err)
	require.Equal(t, "RESTORE", history[0].Operation)
	require.Equal(t, "ada", history[0].UserName)
	require.Equal(t, "2", history[0].OperationParameters["version"])
	require.Equal(t, "3", history[0].OperationMetrics["numRemovedFiles"])
	rows, _ := restored.Rows()
	require.EqualValues(t, 4, rows)

	// And back again.
	again, _ := mustRestore(t, restored, s.Version())
	require.Equal(t, latest, content(again))
	require.Equal(t, s.Properties(), again.Properties())
}

func txnWith(tb testing.TB, s *delta.Snapshot, do func(*delta.Txn)) (*delta.Snapshot, error) {
	tb.Helper()
	txn := s.Begin(delta.Operation{Name: "TEST"})
	do(txn)
	return txn.Commit(tb.Context())
}

func TestRestoreRefuses(t *testing.T) {
	s := mustCreate(t, mem.New(), delta.CreateOptions{Properties: vectorProperties})
	all, odd := numbers(1000)
	s = mustAppend(t, s, 1, 2)
	s = mustAppend(t, s, all...)
	var large, small delta.File
	for f := range s.Files() {
		if n, err := f.Stats(); err == nil && *n.NumRecords == 2 {
			small = f
		} else {
			large = f
		}
	}
	s, done := mustDelete(t, s, delta.RowDeletion{File: large, Rows: rowSet(t, odd...)})
	marked := s.Version()
	removing := func(txn *delta.Txn) {
		for f := range s.Files() {
			require.NoError(t, txn.Remove(false, f))
		}
	}
	s, err := txnWith(t, s, removing)
	require.NoError(t, err)

	// Concurrently added rows are not lost.
	txn, _, err := s.Restore(t.Context(), at(t, s, 2), delta.Operation{})
	require.NoError(t, err)
	mustAppend(t, s, 9)
	_, err = txn.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrConflict)
	s, err = s.Refresh(t.Context())
	require.NoError(t, err)

	require.NoError(t, s.Bucket().Delete(t.Context(), done.Object))
	_, _, err = s.Restore(t.Context(), at(t, s, marked), delta.Operation{})
	require.ErrorIs(t, err, delta.ErrVersionNotFound, "a vector is gone")
	require.ErrorContains(t, err, "1 of its files")
	require.NoError(t, s.Bucket().Delete(t.Context(), small.Name))
	_, _, err = s.Restore(t.Context(), at(t, s, marked), delta.Operation{})
	require.ErrorContains(t, err, "2 of its files")
	_, _, err = s.Restore(t.Context(), at(t, s, 0), delta.Operation{})
	require.NoError(t, err, "which needs none of them")

	other := mustCreate(t, mem.New(), delta.CreateOptions{})
	if other.TableID() == s.TableID() {
		o := testOptions(t)
		o.NewID() // the next table has another id
		other = mustCreate(t, mem.New(), delta.CreateOptions{Options: o})
	}
	_, _, err = s.Restore(t.Context(), other, delta.Operation{})
	require.ErrorIs(t, err, delta.ErrIdentityChanged)

	appendOnly := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{Properties: map[string]string{"delta.appendOnly": "true"}}), 1)
	txn, _, err = appendOnly.Restore(t.Context(), at(t, appendOnly, 0), delta.Operation{})
	require.NoError(t, err)
	_, err = txn.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
}

// TestRestoreKeepsColumnIDs checks that ids of columns added after the restored version
// are not reused.
func TestRestoreKeepsColumnIDs(t *testing.T) {
	s := mustCreate(t, mem.New(), delta.CreateOptions{Properties: map[string]string{"delta.columnMapping.mode": "name",
		"delta.enableInCommitTimestamps": "true"}})
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		return a.AddColumn(nil, delta.Field{Name: "c", Type: delta.Long, Nullable: true})
	})
	s, _ = mustRestore(t, s, 0)
	require.Equal(t, []string{"id", "s"}, names(s.Schema()))
	require.Equal(t, "3", s.Properties()["delta.columnMapping.maxColumnId"])
	require.Equal(t, "true", s.Properties()["delta.enableInCommitTimestamps"])
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		return a.AddColumn(nil, delta.Field{Name: "d", Type: delta.Long, Nullable: true})
	})
	require.Equal(t, 4, columnID(t, field(t, s.Schema(), "d")))
}

// TestRestoreAnyVersion checks that every version of a table can be restored after any
// changes.
func TestRestoreAnyVersion(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := mustCreate(t, mem.New(), delta.CreateOptions{Properties: vectorProperties})
		versions := []map[string]any{content(s)}
		n := 0
		for range rapid.IntRange(1, 8).Draw(r, "commits") {
			txn := s.Begin(delta.Operation{Name: "TEST"})
			files := slices.Collect(s.Files())
			kind := rapid.IntRange(0, 3).Draw(r, "kind")
			switch {
			case kind == 0 && len(files) > 0:
				require.NoError(r, txn.Remove(false, rapid.SampledFrom(files).Draw(r, "file")))
			case kind == 1 && len(files) > 0:
				row := rapid.Int64Range(0, 3).Draw(r, "row")
				_, err := txn.DeleteRows(t.Context(), delta.RowDeletion{File: rapid.SampledFrom(files).Draw(r, "file"), Rows: rowSet(r, row)})
				require.NoError(r, err)
			case kind == 2:
				back := int64(rapid.IntRange(0, len(versions)-1).Draw(r, "version"))
				next, _ := mustRestore(t, s, back)
				require.Equal(r, versions[back], content(next))
				s, versions = next, append(versions, content(next))
				continue
			default:
				n++
				f := mustWrite(t, s.Bucket(), int64(n), 1, 2, 3)
				require.NoError(r, txn.Add(f))
			}
			next, err := txn.Commit(t.Context())
			require.NoError(r, err)
			s, versions = next, append(versions, content(next))
		}
	})
}

func TestDeltaRsReadsRestored(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustCreate(t, b, delta.CreateOptions{Properties: vectorProperties})
	s = mustAppend(t, s, 1, 2, 3)
	s, _ = mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 1)})
	s = mustAppend(t, s, 4)
	const look = `say(sorted(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("select id from ` +
		`t").read_all()).column("id").to_pylist()))`
	for version, want := range map[int64][]int64{1: {1, 2, 3}, 2: {1, 3}} {
		s, _ = mustRestore(t, s, version)
		require.Equal(t, want, runPython[[]int64](t, dir, look), version)
	}
	runPython[int](t, dir, `
write_deltalake(path, pa.table({"id": pa.array([9], pa.int64()), "s": ["theirs"]}), mode="append")
say(DeltaTable(path).version())`)
	s, err := s.Refresh(t.Context())
	require.NoError(t, err)
	before, _ := s.Rows()
	s, _ = mustRestore(t, s, s.Version()-1)
	rows, _ := s.Rows()
	require.Equal(t, before-1, rows)
}
