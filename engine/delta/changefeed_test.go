package delta_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

var feedProperties = map[string]string{"delta.enableChangeDataFeed": "true"}

func TestChangeFeed(t *testing.T) {
	s := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{Properties: feedProperties}), 1, 2)
	require.True(t, s.ChangeFeed())
	rewrite := func() *delta.Txn {
		txn := s.Begin(delta.Operation{Name: "UPDATE"})
		require.NoError(t, txn.Remove(false, onlyFile(t, s)))
		require.NoError(t, txn.Add(mustWrite(t, s.Bucket(), 1, 20)))
		return txn
	}
	_, err := rewrite().Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
	require.ErrorContains(t, err, "changeDataFeed")

	txn := rewrite()
	for name, f := range map[string]delta.ChangeFile{
		"elsewhere": {Name: "cdc.parquet", Size: 1}, "empty": {Name: "_change_data/c.parquet"},
		"partition": {Name: "_change_data/c.parquet", Size: 1, PartitionValues: map[string]*string{"id": nil}},
	} {
		require.ErrorIs(t, txn.AddChange(f), delta.ErrInvalidTxn, name)
	}
	require.ErrorIs(t, txn.AddChange(delta.ChangeFile{Name: "_change_data/../x", Size: 1}), delta.ErrUnsafePath)
	require.NoError(t, txn.AddChange(delta.ChangeFile{Name: "_change_data/c.parquet", Size: 1}))
	s, err = txn.Commit(t.Context())
	require.NoError(t, err)

	removal, err := txnWith(t, s, func(txn *delta.Txn) { require.NoError(t, txn.Remove(false, onlyFile(t, s))) })
	require.NoError(t, err, "nothing but removals")
	_, _ = mustRestore(t, removal, 1)

	plain := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{}), 1)
	_, err = txnWith(t, plain, func(txn *delta.Txn) {
		require.NoError(t, txn.AddChange(delta.ChangeFile{Name: "_change_data/c.parquet", Size: 1}))
	})
	require.ErrorIs(t, err, delta.ErrInvalidTxn)
}

func TestDeltaRsReadsChanges(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{Properties: feedProperties}), 1, 2)
	size := runPython[int64](t, dir, `
import pyarrow.parquet as pq
os.mkdir(path + "/_change_data")
name = path + "/_change_data/cdc-1.parquet"
pq.write_table(pa.table({"id": pa.array([2, 20], pa.int64()), "s": ["row 2", "row 20"], "_change_type": ["update_preimage", "update_postimage"]}), name)
say(os.path.getsize(name))`)
	txn := s.Begin(delta.Operation{Name: "UPDATE"})
	require.NoError(t, txn.Remove(false, onlyFile(t, s)))
	require.NoError(t, txn.Add(mustWrite(t, b, 1, 20)))
	require.NoError(t, txn.AddChange(delta.ChangeFile{Name: "_change_data/cdc-1.parquet", Size: size}))
	s, err := txn.Commit(t.Context())
	require.NoError(t, err)
	type change struct {
		ID      int64
		Type    string
		Version int64
	}
	got := runPython[[]change](t, dir, `
r = pa.table(DeltaTable(path).load_cdf(starting_version=1).read_all()).to_pylist()
say(sorted([{"ID": x["id"], "Type": x["_change_type"], "Version": x["_commit_version"]} for x in r], key=lambda x: (x["Version"], x["ID"])))`)
	require.Equal(t, []change{{1, "insert", 1}, {2, "insert", 1}, {2, "update_preimage", 2}, {20, "update_postimage", 2}}, got)
	require.Equal(t, []int64{1, 20}, runPython[[]int64](t, dir, `say(rows(DeltaTable(path)))`))
	runPython[int](t, dir, `
write_deltalake(path, pa.table({"id": pa.array([3], pa.int64()), "s": ["theirs"]}), mode="append")
say(DeltaTable(path).version())`)
	s, err = s.Refresh(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, s.Version())
}
