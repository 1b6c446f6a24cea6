package delta_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// trackedTable is one that another writer made: rows have ids, which are read or
// not.
func trackedTable(t *testing.T, properties, domain string) *delta.Snapshot {
	t.Helper()
	return trackedTableIn(t, mem.New(), properties, domain)
}

func trackedTableIn(t *testing.T, b objstore.Bucket, properties, domain string) *delta.Snapshot {
	t.Helper()
	mustLog(t, b, `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["rowTracking","domainMetadata","deletionVectors"]}}`+"\n"+
		metaLine("a", schemaText, "", properties)+domain)
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	return s
}

// rowIDs maps the first id of each file to the version that its rows came with.
func rowIDs(t *testing.T, s *delta.Snapshot) map[int64]int64 {
	t.Helper()
	ids := map[int64]int64{}
	for f := range s.Files() {
		require.NotNil(t, f.Add.BaseRowID)
		require.NotNil(t, f.Add.DefaultRowCommitVersion)
		ids[*f.Add.BaseRowID] = *f.Add.DefaultRowCommitVersion
	}
	return ids
}

func highWaterMark(s *delta.Snapshot) string {
	return s.DomainMetadata()["delta.rowTracking"].Configuration
}

func TestRowsAreNumbered(t *testing.T) {
	for _, properties := range []string{"", `"delta.enableRowTracking":"true"`} {
		s := trackedTable(t, properties, "")
		s = mustAppend(t, s, 1, 2, 3)
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(t, txn.Add(mustWrite(t, s.Bucket(), 4), mustWrite(t, s.Bucket(), 5, 6)))
		s, err := txn.Commit(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[int64]int64{0: 1, 3: 2, 4: 2}, rowIDs(t, s))
		require.JSONEq(t, `{"rowIdHighWaterMark":5}`, highWaterMark(s))
		again, err := delta.Load(t.Context(), s.Bucket(), testOptions(t))
		require.NoError(t, err)
		require.Equal(t, viewOf(s), viewOf(again))
	}
}

// Two appends take different ids, whichever wins.
func TestRowIDsAfterALostRace(t *testing.T) {
	s := trackedTable(t, `"delta.enableRowTracking":"true"`, "\n"+`{"domainMetadata":{"domain":"delta.rowTracking","configuration":"{\"rowIdHighWaterMark\":99}","removed":false}}`)
	var txns []*delta.Txn
	for i := range 3 {
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(t, txn.Add(mustWrite(t, s.Bucket(), int64(i), 7)))
		txns = append(txns, txn)
	}
	for _, txn := range txns {
		var err error
		s, err = txn.Commit(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, map[int64]int64{100: 1, 102: 2, 104: 3}, rowIDs(t, s))
	require.JSONEq(t, `{"rowIdHighWaterMark":105}`, highWaterMark(s))
}

func TestRowTrackingRefuses(t *testing.T) {
	on := `"delta.enableRowTracking":"true","delta.enableDeletionVectors":"true"`
	s := mustAppend(t, trackedTable(t, on, ""), 1, 2)
	require.NoError(t, delta.CheckWritable(s))
	require.ErrorIs(t, delta.CheckRewritable(s), delta.ErrUnsupportedFeature)
	for _, rearranged := range []bool{false, true} {
		_, err := txnWith(t, s, func(txn *delta.Txn) {
			f := mustWrite(t, s.Bucket(), 1, 2)
			f.Rearranged = rearranged
			require.NoError(t, txn.Remove(rearranged, onlyFile(t, s)))
			require.NoError(t, txn.Add(f))
		})
		require.ErrorContains(t, err, "rowTracking")
		require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
	}
	_, _, err := s.Restore(t.Context(), at(t, s, 0), delta.Operation{})
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
	_, err = txnWith(t, s, func(txn *delta.Txn) { txn.SetDomain("delta.rowTracking", "{}", false) })
	require.ErrorIs(t, err, delta.ErrInvalidTxn)
	_, err = txnWith(t, s, func(txn *delta.Txn) {
		f := mustWrite(t, s.Bucket(), 1)
		f.Stats = ""
		require.NoError(t, txn.Add(f))
	})
	require.ErrorIs(t, err, delta.ErrInvalidTxn, "rows that nobody counted")

	// Rows that stay in their file keep their ids.
	marked, _ := mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 0)})
	require.Equal(t, map[int64]int64{0: 1}, rowIDs(t, marked))
	require.Equal(t, highWaterMark(s), highWaterMark(marked))

	broken := trackedTable(t, "", "\n"+`{"domainMetadata":{"domain":"delta.rowTracking","configuration":"{}","removed":false}}`)
	_, err = txnWith(t, broken, func(txn *delta.Txn) { require.NoError(t, txn.Add(mustWrite(t, broken.Bucket(), 1))) })
	require.ErrorIs(t, err, delta.ErrMalformed)
	full := trackedTable(t, "", "\n"+fmt.Sprintf(`{"domainMetadata":{"domain":"delta.rowTracking","configuration":"{\"rowIdHighWaterMark\":%d}","removed":false}}`, int64(9223372036854775806)))
	_, err = txnWith(t, full, func(txn *delta.Txn) { require.NoError(t, txn.Add(mustWrite(t, full.Bucket(), 1))) })
	require.ErrorIs(t, err, delta.ErrInvalidTxn)
}

// While it is only listed, rows may move: the new files get new ids.
func TestRowTrackingListedOnly(t *testing.T) {
	s := mustAppend(t, trackedTable(t, "", ""), 1, 2)
	s, err := txnWith(t, s, func(txn *delta.Txn) {
		f := mustWrite(t, s.Bucket(), 1, 2)
		f.Rearranged = true
		require.NoError(t, txn.Remove(true, onlyFile(t, s)))
		require.NoError(t, txn.Add(f))
	})
	require.NoError(t, err)
	require.Equal(t, map[int64]int64{2: 2}, rowIDs(t, s))
	suspended := mustAppend(t, trackedTable(t, `"delta.rowTrackingSuspended":"true"`, ""), 1)
	require.Nil(t, onlyFile(t, suspended).Add.BaseRowID)
	require.Empty(t, highWaterMark(suspended))
}

func TestDeltaRsReadsTrackedTables(t *testing.T) {
	t.Parallel()
	python(t)
	b, dir := fileBucket(t)
	s := mustAppend(t, trackedTableIn(t, b, `"delta.enableRowTracking":"true","delta.enableDeletionVectors":"true"`, ""), 1, 2)
	mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 0)})
	require.Equal(t, []int64{2}, runPython[[]int64](t, dir, `say(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("select id from t").read_all()).column("id").to_pylist())`))
}
