package delta_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

var vectorProperties = map[string]string{"delta.enableDeletionVectors": "true"}

func rowSet(tb require.TestingT, rows ...int64) *deletion.Rows {
	set, err := deletion.Of(slices.Values(rows))
	require.NoError(tb, err)
	return set
}

func onlyFile(tb require.TestingT, s *delta.Snapshot) delta.File {
	require.Equal(tb, 1, s.NumFiles())
	for f := range s.Files() {
		return f
	}
	panic("no file")
}

// mustDelete deletes rows by deletion vectors and returns the result.
func mustDelete(tb testing.TB, s *delta.Snapshot, list ...delta.RowDeletion) (*delta.Snapshot, delta.Deletion) {
	tb.Helper()
	txn := s.Begin(delta.Operation{Name: "DELETE"})
	done, err := txn.DeleteRows(tb.Context(), list...)
	require.NoError(tb, err)
	next, err := txn.Commit(tb.Context())
	require.NoError(tb, err)
	return next, done
}

// numbers returns n row numbers and every other one of them, which no deletion vector
// encodes compactly.
func numbers(n int64) (all, odd []int64) {
	for i := range n {
		all = append(all, i)
		if i%2 == 1 {
			odd = append(odd, i)
		}
	}
	return all, odd
}

func TestDeleteRows(t *testing.T) {
	b := mem.New()
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{Properties: vectorProperties}), 10, 11, 12, 13)
	before := onlyFile(t, s)
	s, done := mustDelete(t, s, delta.RowDeletion{File: before, Rows: rowSet(t, 1)})
	require.Equal(t, delta.Deletion{Rows: 1}, done)

	f := onlyFile(t, s)
	require.Equal(t, before.Name, f.Name)
	require.JSONEq(t, `{"numRecords":4,"tightBounds":false}`, f.Add.Stats)
	n, ok := s.Rows()
	require.True(t, ok)
	require.EqualValues(t, 3, n)
	require.Equal(t, before.Add.Size, s.TotalBytes())
	hidden, err := s.DeletedRows(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, []int64{1}, slices.Collect(hidden.All()))
	none, err := s.DeletedRows(t.Context(), before)
	require.NoError(t, err)
	require.Zero(t, none.Count())
	require.True(t, s.WholeFiles(), "the file is as it was")

	// Deleted rows count once, and vectors accumulate.
	s, done = mustDelete(t, s, delta.RowDeletion{File: f, Rows: rowSet(t, 1, 3)})
	require.EqualValues(t, 1, done.Rows)
	f = onlyFile(t, s)
	hidden, err = s.DeletedRows(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 3}, slices.Collect(hidden.All()))

	// Without new deletions there is no action for the file, but it counts as read.
	same := s.Begin(delta.Operation{Name: "DELETE"})
	done, err = same.DeleteRows(t.Context(), delta.RowDeletion{File: f, Rows: rowSet(t, 3)})
	require.NoError(t, err)
	require.Zero(t, done)
	s, _ = mustDelete(t, s, delta.RowDeletion{File: f, Rows: rowSet(t, 0)})
	_, err = same.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrConcurrentDeleteRead)

	// Deleting the last row removes the file.
	s, done = mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 2)})
	require.Equal(t, delta.Deletion{Rows: 1, Files: 1}, done)
	require.Zero(t, s.NumFiles())
	again, err := delta.Load(t.Context(), b, delta.Options{})
	require.NoError(t, err)
	require.Equal(t, viewOf(s).Tombstones, viewOf(again).Tombstones)
}

func TestDeleteRowsRefuses(t *testing.T) {
	s := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{Properties: vectorProperties}), 1, 2)
	f := onlyFile(t, s)
	_, err := s.Begin(delta.Operation{}).DeleteRows(t.Context(), delta.RowDeletion{File: f, Rows: rowSet(t, 2)})
	require.ErrorIs(t, err, delta.ErrInvalidTxn, "a row that is not there")
	uncounted := *f.Add
	uncounted.Stats = ""
	_, err = s.Begin(delta.Operation{}).DeleteRows(t.Context(), delta.RowDeletion{File: delta.File{Name: f.Name, Add: &uncounted},
		Rows: rowSet(t, 0)})
	require.ErrorIs(t, err, delta.ErrInvalidTxn)
	twice := s.Begin(delta.Operation{})
	_, err = twice.DeleteRows(t.Context(), delta.RowDeletion{File: f, Rows: rowSet(t, 0)}, delta.RowDeletion{File: f, Rows: rowSet(t, 1)})
	require.NoError(t, err)
	_, err = twice.Commit(t.Context())
	require.ErrorIs(t, err, action.ErrInvalidCommit)

	for name, properties := range map[string]map[string]string{
		"no property": nil, "switched off": {"delta.enableDeletionVectors": "false"},
	} {
		s := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{Properties: properties}), 1, 2)
		require.False(t, s.WritesVectors())
		_, err := s.Begin(delta.Operation{}).DeleteRows(t.Context(), delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 0)})
		require.ErrorIs(t, err, delta.ErrUnsupportedFeature, name)
		txn := s.Begin(delta.Operation{})
		file := mustWrite(t, s.Bucket(), 1, 2)
		file.DeletionVector, err = deletion.Inline(rowSet(t, 0))
		require.NoError(t, err)
		require.NoError(t, txn.Add(file))
		_, err = txn.Commit(t.Context())
		require.ErrorIs(t, err, delta.ErrInvalidTxn, name)
	}
	appendOnly := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{Properties: map[string]string{
		"delta.enableDeletionVectors": "true", "delta.appendOnly": "true",
	}}), 1, 2)
	txn := appendOnly.Begin(delta.Operation{})
	_, err = txn.DeleteRows(t.Context(), delta.RowDeletion{File: onlyFile(t, appendOnly), Rows: rowSet(t, 0)})
	require.NoError(t, err)
	_, err = txn.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
}

// TestDeleteRowsLikeASet checks that any sequence of deletions leaves the same rows as
// in a plain set.
func TestDeleteRowsLikeASet(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const rows = 3000
		b := mem.New()
		s := mustCreate(t, b, delta.CreateOptions{Properties: vectorProperties})
		add := s.Begin(delta.Operation{Name: "WRITE"})
		for _, name := range []string{"a", "b"} {
			require.NoError(r, add.Add(delta.AddFile{Name: name, Size: 1, Stats: fmt.Sprintf(`{"numRecords":%d}`, rows)}))
		}
		s, err := add.Commit(t.Context())
		require.NoError(r, err)
		gone := map[string]map[int64]bool{}
		for range rapid.IntRange(1, 4).Draw(r, "commits") {
			var list []delta.RowDeletion
			for f := range s.Files() {
				if rapid.Bool().Draw(r, "skip") {
					continue
				}
				if gone[f.Name] == nil {
					gone[f.Name] = map[int64]bool{}
				}
				var set []int64
				first := rapid.Int64Range(0, rows-1).Draw(r, "first")
				step := rapid.SampledFrom([]int64{1, 2, 97}).Draw(r, "step")
				for n := first; n < rows; n += step {
					set = append(set, n)
					gone[f.Name][n] = true
				}
				list = append(list, delta.RowDeletion{File: f, Rows: rowSet(r, set...)})
			}
			s, _ = mustDelete(t, s, list...)
		}
		again, err := delta.Load(t.Context(), b, delta.Options{})
		require.NoError(r, err)
		require.Equal(r, viewOf(s), viewOf(again))
		left := int64(0)
		for f := range s.Files() {
			hidden, err := s.DeletedRows(t.Context(), f)
			require.NoError(r, err)
			require.EqualValues(r, len(gone[f.Name]), hidden.Count())
			for n := range hidden.All() {
				require.True(r, gone[f.Name][n])
			}
			left += rows - hidden.Count()
		}
		n, ok := s.Rows()
		require.True(r, ok)
		require.Equal(r, left, n)
	})
}

func TestDamagedVectors(t *testing.T) {
	_, odd := numbers(1000)
	all, _ := numbers(1000)
	b := mem.New()
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{Properties: vectorProperties}), all...)
	s, done := mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, odd...)})
	require.NotEmpty(t, done.Object)
	f := onlyFile(t, s)
	read := func() error {
		_, err := s.DeletedRows(t.Context(), f)
		return err
	}
	require.NoError(t, read())
	body := string(mustRead(t, b, done.Object))
	mustPut(t, b, done.Object, body[:len(body)-1])
	require.ErrorIs(t, read(), delta.ErrMalformed)
	mustPut(t, b, done.Object, body[:20]+"x"+body[21:])
	require.ErrorIs(t, read(), delta.ErrMalformed)
	require.NoError(t, b.Delete(t.Context(), done.Object))
	require.ErrorIs(t, read(), objstore.ErrNotFound)

	fewer := *f.Add
	fewer.Stats = `{"numRecords":500}`
	mustPut(t, b, done.Object, body)
	_, err := s.DeletedRows(t.Context(), delta.File{Name: f.Name, Add: &fewer})
	require.ErrorIs(t, err, delta.ErrMalformed, "a row beyond the file")
	// A deletion in a file with an unreadable vector must not make it readable.
	mustPut(t, b, done.Object, strings.Repeat("x", len(body)))
	_, err = s.Begin(delta.Operation{}).DeleteRows(t.Context(), delta.RowDeletion{File: f, Rows: rowSet(t, 0)})
	require.ErrorIs(t, err, delta.ErrMalformed)
}

// TestDeleteRowsRace checks that two writers which delete different rows of one file do
// not both succeed, because each replaces the whole vector.
func TestDeleteRowsRace(t *testing.T) {
	s := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{Properties: vectorProperties}), 1, 2, 3)
	one, other := s.Begin(delta.Operation{Name: "DELETE"}), s.Begin(delta.Operation{Name: "DELETE"})
	for i, txn := range []*delta.Txn{one, other} {
		_, err := txn.DeleteRows(t.Context(), delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, int64(i))})
		require.NoError(t, err)
	}
	_, err := one.Commit(t.Context())
	require.NoError(t, err)
	_, err = other.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrConflict)
}

// TestVectorsDoNotMakeFilesWhole checks that a file of another writer does not count as
// holding every column after this engine deletes rows of it.
func TestVectorsDoNotMakeFilesWhole(t *testing.T) {
	o := testOptions(t)
	o.NoCheckpoints = true
	s := mustCreate(t, mem.New(), delta.CreateOptions{Properties: vectorProperties, Options: o})
	foreign := o
	foreign.EngineInfo = "Apache-Spark/4"
	other, err := delta.Load(t.Context(), s.Bucket(), foreign)
	require.NoError(t, err)
	mustAppend(t, other, 1, 2)
	s, err = s.Refresh(t.Context())
	require.NoError(t, err)
	require.False(t, s.WholeFiles())
	s, _ = mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 0)})
	require.False(t, s.WholeFiles())
	again, err := delta.Load(t.Context(), s.Bucket(), o)
	require.NoError(t, err)
	require.False(t, again.WholeFiles())
}

func TestDeltaRsReadsDeletionVectors(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	b, dir := fileBucket(t)
	all, odd := numbers(2000)
	s := mustCreate(t, b, delta.CreateOptions{Properties: vectorProperties})
	s = mustAppend(t, s, all...)
	large := onlyFile(t, s)
	s = mustAppend(t, s, 5000, 5001, 5002)
	s = mustAppend(t, s, 6000, 6001)
	s = mustAppend(t, s, slices.Collect(func(yield func(int64) bool) {
		for n := int64(10_000); n < 11_000 && yield(n); n++ {
		}
	})...)
	var list []delta.RowDeletion
	want := []int64{}
	for f := range s.Files() {
		n, err := f.Stats()
		require.NoError(t, err)
		switch *n.NumRecords {
		case 2000:
			list = append(list, delta.RowDeletion{File: f, Rows: rowSet(t, odd...)})
		case 3:
			list = append(list, delta.RowDeletion{File: f, Rows: rowSet(t, 1)})
		case 2:
			list = append(list, delta.RowDeletion{File: f, Rows: rowSet(t, 0, 1)})
		case 1000:
			_, odd := numbers(1000)
			list = append(list, delta.RowDeletion{File: f, Rows: rowSet(t, odd...)})
		}
	}
	s, done := mustDelete(t, s, list...)
	require.NotEmpty(t, done.Object)
	require.Equal(t, 1, done.Files)
	require.EqualValues(t, 1000+1+2+500, done.Rows)
	kinds := map[string]int{}
	for f := range s.Files() {
		kinds[f.Add.DeletionVector.StorageType]++
	}
	require.Equal(t, map[string]int{"u": 2, "i": 1}, kinds)
	for _, n := range all {
		if n%2 == 0 {
			want = append(want, n)
		}
	}
	want = append(want, 5000, 5002)
	for n := int64(10_000); n < 11_000; n += 2 {
		want = append(want, n)
	}
	const look = `say(sorted(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("select id from ` +
		`t").read_all()).column("id").to_pylist()))`
	require.Equal(t, want, runPython[[]int64](t, dir, look))

	// delta-rs appends, and its checkpoint preserves the deletion vectors.
	runPython[int](t, dir, `
write_deltalake(path, pa.table({"id": pa.array([7000], pa.int64()), "s": ["theirs"]}), mode="append")
t = DeltaTable(path); t.create_checkpoint(); say(t.version())`)
	loaded, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	var f delta.File
	for live := range loaded.Files() {
		if live.Name == large.Name {
			f = live
		}
	}
	require.NotNil(t, f.Add)
	hidden, err := loaded.DeletedRows(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, odd, slices.Collect(hidden.All()))
	loaded, _ = mustDelete(t, loaded, delta.RowDeletion{File: f, Rows: rowSet(t, 0)})
	require.NoError(t, loaded.Checkpoint(t.Context()))
	want = append(want[1:], 7000)
	slices.Sort(want)
	require.Equal(t, want, runPython[[]int64](t, dir, look))
}

// TestReadsForeignVectors reads deletion vectors that an independent script wrote, with
// an offset after another vector and with a folder before the file's id.
func TestReadsForeignVectors(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{Properties: vectorProperties}), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	s = mustAppend(t, s, 100, 101, 102)
	type added struct{ Path, Stats string }
	adds := []added{}
	for f := range s.Files() {
		adds = append(adds, added{f.Add.Path, f.Add.Stats})
	}
	text, err := json.Marshal(adds)
	require.NoError(t, err)
	got := runPython[[]int64](t, dir, fmt.Sprintf(`
import struct, uuid, zlib
digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%%$#"
def z85(raw):
    out = ""
    for i in range(0, len(raw), 4):
        n = int.from_bytes(raw[i:i+4], "big"); part = ""
        for _ in range(5): part = digits[n %% 85] + part; n //= 85
        out += part
    return out
def bitmap(rows):
    return struct.pack("<IQIIIHHI", 1681511377, 1, 0, 12346, 1, 0, len(rows) - 1, 16) + b"".join(struct.pack("<H", r) for r in rows)
def framed(data): return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
first, second = bitmap([2, 3, 9]), bitmap([1])
id = uuid.uuid4()
os.mkdir(path + "/a7")
open(f"{path}/a7/deletion_vector_{id}.bin", "wb").write(b"\x01" + framed(first) + framed(second))
lines = []
for add, data, offset, n in zip(json.loads(%q), [first, second], [1, 1 + 8 + len(first)], [3, 1]):
    lines.append({"remove": {"path": add["Path"], "dataChange": True, "deletionTimestamp": 1}})
    lines.append({"add": {"path": add["Path"], "partitionValues": {}, "size": os.path.getsize(path + "/" + add["Path"]), "modificationTime": 1, "dataChange": True, "stats": add["Stats"],
        "deletionVector": {"storageType": "u", "pathOrInlineDv": "a7" + z85(id.bytes), "offset": offset, "sizeInBytes": len(data), "cardinality": n}}})
open(path + "/_delta_log/%020d.json", "w").write("\n".join(json.dumps(l) for l in lines))
say(sorted(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("select id from t").read_all()).column("id").to_pylist()))`,
		string(text), s.Version()+1))
	s, err = s.Refresh(t.Context())
	require.NoError(t, err)
	ours := []int64{}
	for f := range s.Files() {
		stats, err := f.Stats()
		require.NoError(t, err)
		hidden, err := s.DeletedRows(t.Context(), f)
		require.NoError(t, err)
		first := int64(0)
		if *stats.NumRecords == 3 {
			first = 100
		}
		for n := range *stats.NumRecords {
			if !hidden.Contains(n) {
				ours = append(ours, first+n)
			}
		}
	}
	slices.Sort(ours)
	require.Equal(t, got, ours)
	require.Len(t, ours, 9)
}

func mustRead(tb testing.TB, b objstore.Bucket, name string) []byte {
	tb.Helper()
	r, err := b.Get(tb.Context(), name)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, r.Close()) }()
	body, err := io.ReadAll(r)
	require.NoError(tb, err)
	return body
}
