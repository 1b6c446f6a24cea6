package delta_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// trackedTable returns a table of another writer with row tracking supported or
// enabled.
func trackedTable(t *testing.T, properties, domain string) *delta.Snapshot {
	t.Helper()
	return trackedTableIn(t, mem.New(), properties, domain)
}

func trackedTableIn(t *testing.T, b objstore.Bucket, properties, domain string) *delta.Snapshot {
	t.Helper()
	mustLog(t, b, `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],`+
		`"writerFeatures":["rowTracking","domainMetadata","deletionVectors"]}}`+"\n"+
		metaLine("a", schemaText, "", properties)+domain)
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	return s
}

// rowIDs maps the first row id of each file to its default commit version.
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

// TestRowIDsAfterALostRace checks that two concurrent appends assign different ids.
func TestRowIDsAfterALostRace(t *testing.T) {
	s := trackedTable(t, `"delta.enableRowTracking":"true"`, "\n"+
		`{"domainMetadata":{"domain":"delta.rowTracking","configuration":"{\"rowIdHighWaterMark\":99}","removed":false}}`)
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

// rewrite replaces the only file of a table, as a writer that fulfils the given duties.
func rewrite(t *testing.T, s *delta.Snapshot, rearranged bool, duties ...delta.Duty) (*delta.Snapshot, error) {
	t.Helper()
	txn := s.Begin(delta.Operation{Name: "UPDATE", Duties: duties})
	f := mustWrite(t, s.Bucket(), 1, 2)
	f.Rearranged = rearranged
	require.NoError(t, txn.Remove(rearranged, onlyFile(t, s)))
	require.NoError(t, txn.Add(f))
	return txn.Commit(t.Context())
}

const (
	tracking    = `"delta.enableRowTracking":"true","delta.enableDeletionVectors":"true"`
	hiddenID    = `,"delta.rowTracking.materializedRowIdColumnName":"_row_id"`
	hiddenSince = `,"delta.rowTracking.materializedRowCommitVersionColumnName":"_row_version"`
)

// TestRowsMoveWithTheirIDs checks that rows can be moved by a writer that preserves
// their ids. The new file has ids of its own for rows without materialized ids.
func TestRowsMoveWithTheirIDs(t *testing.T) {
	s := mustAppend(t, trackedTable(t, tracking+hiddenID+hiddenSince, ""), 1, 2)
	require.NoError(t, delta.CheckRewritable(s))
	names, kept := s.RowColumns()
	require.True(t, kept)
	require.Equal(t, delta.RowColumns{ID: "_row_id", CommitVersion: "_row_version"}, names)
	for _, rearranged := range []bool{false, true} {
		_, err := rewrite(t, s, rearranged)
		require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
		require.ErrorContains(t, err, "rowTracking")
	}
	moved, err := rewrite(t, s, true, delta.KeepsRowIDs)
	require.NoError(t, err)
	require.Equal(t, map[int64]int64{2: 2}, rowIDs(t, moved))
	require.JSONEq(t, `{"rowIdHighWaterMark":3}`, highWaterMark(moved))

	// A lost race changes the ids of the file, but not its contents.
	second := mustAppend(t, moved, 7)
	late := moved.Begin(delta.Operation{Name: "OPTIMIZE", Duties: []delta.Duty{delta.KeepsRowIDs}})
	f := mustWrite(t, s.Bucket(), 1, 2)
	f.Rearranged = true
	require.NoError(t, late.Remove(true, onlyFile(t, moved)))
	require.NoError(t, late.Add(f))
	won, err := late.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[int64]int64{4: 3, 5: 4}, rowIDs(t, won))
	require.JSONEq(t, `{"rowIdHighWaterMark":4}`, highWaterMark(second))

	for version := int64(1); version <= won.Version(); version++ {
		commit := contentOf(t, s.Bucket(), logpath.CommitName(version))
		require.Contains(t, commit, `"tags":{"delta.rowTracking.preserved":"true"}`)
	}

	// Restored rows have their former ids.
	txn, _, err := won.Restore(t.Context(), at(t, won, 1), delta.Operation{})
	require.NoError(t, err)
	back, err := txn.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[int64]int64{0: 1}, rowIDs(t, back))
	require.Equal(t, highWaterMark(won), highWaterMark(back))
}

// TestRowsMoveOnlyWithRowColumns checks that rows cannot be moved without columns for
// their ids.
func TestRowsMoveOnlyWithRowColumns(t *testing.T) {
	named := func(id, version string) string {
		return fmt.Sprintf(`,"delta.rowTracking.materializedRowIdColumnName":%q,"delta.rowTracking.materializedRowCommitVersionColumnName":%q`,
			id, version)
	}
	for name, properties := range map[string]string{
		"no names": "", "one name": hiddenID, "the other": hiddenSince, "an empty name": named("", "b"),
		"one for both": named("a", "A"), "that of a column": named("Id", "b"), "that of a column, again": named("a", "id"),
		"suspended": hiddenID + hiddenSince + `,"delta.rowTrackingSuspended":"true"`,
	} {
		s := trackedTable(t, tracking+properties, "\n"+
			`{"add":{"path":"f","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"baseRowId":0,"defaultRowCommitVersion":0}}`)
		require.ErrorIs(t, delta.CheckRewritable(s), delta.ErrUnsupportedFeature, name)
		_, kept := s.RowColumns()
		require.False(t, kept, name)
		_, err := rewrite(t, s, true, delta.KeepsRowIDs)
		require.ErrorIs(t, err, delta.ErrUnsupportedFeature, name)
		require.ErrorContains(t, err, "rowTracking", name)
	}
	suspended := trackedTable(t, tracking+`,"delta.rowTrackingSuspended":"true"`, "")
	_, err := txnWith(t, suspended, func(txn *delta.Txn) { require.NoError(t, txn.Add(mustWrite(t, suspended.Bucket(), 1))) })
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature, "rows without ids")
}

// TestHiddenColumnNamesAreReserved checks that no column can get the name of a hidden
// one.
func TestHiddenColumnNamesAreReserved(t *testing.T) {
	s, err := delta.Create(t.Context(), mem.New(), delta.CreateOptions{Schema: twoColumns,
		Properties: map[string]string{"delta.enableRowTracking": "true"}})
	require.NoError(t, err)
	require.Subset(t, s.Protocol().WriterFeatures, []string{"rowTracking", "domainMetadata"})
	names, kept := s.RowColumns()
	require.True(t, kept)
	require.Regexp(t, "^_row-id-col-.{36}$", names.ID)
	require.Regexp(t, "^_row-commit-version-col-.{36}$", names.CommitVersion)
	for _, name := range []string{names.ID, strings.ToUpper(names.CommitVersion)} {
		a := s.Alter()
		require.ErrorIs(t, a.AddColumn(nil, delta.Field{Name: name, Type: delta.Long, Nullable: true}), delta.ErrInvalidSchema)
		require.ErrorIs(t, a.RenameColumn([]string{twoColumns.Fields[1].Name}, name), delta.ErrInvalidSchema)
	}
	const property = "delta.rowTracking.materializedRowIdColumnName"
	require.ErrorIs(t, s.Alter().SetProperties(map[string]string{property: "x"}), delta.ErrInvalidProperty)
	require.ErrorIs(t, s.Alter().UnsetProperties(property), delta.ErrInvalidProperty)
	require.NoError(t, s.Alter().Annotate(s.Schema(), s.Properties()), "unchanged properties are not validated")
	_, err = delta.Create(t.Context(), mem.New(), delta.CreateOptions{Schema: twoColumns, Properties: map[string]string{property: "id"}})
	require.ErrorIs(t, err, delta.ErrInvalidProperty)
}

func TestRowTrackingRefuses(t *testing.T) {
	s := mustAppend(t, trackedTable(t, tracking, ""), 1, 2)
	require.NoError(t, delta.CheckWritable(s))
	switched := trackedTable(t, tracking, "")
	off := switched.Metadata()
	off.Configuration = map[string]string{}
	switched, err := txnWith(t, switched, func(txn *delta.Txn) { txn.SetMetadata(off) })
	require.NoError(t, err)
	_, _, err = switched.Restore(t.Context(), at(t, switched, 0), delta.Operation{})
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
	_, err = txnWith(t, s, func(txn *delta.Txn) { txn.SetDomain("delta.rowTracking", "{}", false) })
	require.ErrorIs(t, err, delta.ErrInvalidTxn)
	_, err = txnWith(t, s, func(txn *delta.Txn) {
		f := mustWrite(t, s.Bucket(), 1)
		f.Stats = ""
		require.NoError(t, txn.Add(f))
	})
	require.ErrorIs(t, err, delta.ErrInvalidTxn, "files without a row count")

	// Rows that stay in their file preserve their ids.
	marked, _ := mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 0)})
	require.Equal(t, map[int64]int64{0: 1}, rowIDs(t, marked))
	require.Equal(t, highWaterMark(s), highWaterMark(marked))

	broken := trackedTable(t, "", "\n"+`{"domainMetadata":{"domain":"delta.rowTracking","configuration":"{}","removed":false}}`)
	_, err = txnWith(t, broken, func(txn *delta.Txn) { require.NoError(t, txn.Add(mustWrite(t, broken.Bucket(), 1))) })
	require.ErrorIs(t, err, delta.ErrMalformed)
	full := trackedTable(t, "", "\n"+fmt.Sprintf(`{"domainMetadata":{"domain":"delta.rowTracking",`+
		`"configuration":"{\"rowIdHighWaterMark\":%d}","removed":false}}`, int64(9223372036854775806)))
	_, err = txnWith(t, full, func(txn *delta.Txn) { require.NoError(t, txn.Add(mustWrite(t, full.Bucket(), 1))) })
	require.ErrorIs(t, err, delta.ErrInvalidTxn)
}

// TestRowTrackingListedOnly: if row tracking is supported but not enabled, rows can be
// moved and the new files get new ids.
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
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustAppend(t, trackedTableIn(t, b, `"delta.enableRowTracking":"true","delta.enableDeletionVectors":"true"`, ""), 1, 2)
	mustDelete(t, s, delta.RowDeletion{File: onlyFile(t, s), Rows: rowSet(t, 0)})
	require.Equal(t, []int64{2}, runPython[[]int64](t, dir, `say(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("select id `+
		`from t").read_all()).column("id").to_pylist())`))
}
