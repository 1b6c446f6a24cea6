package delta_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

var bg = context.Background()

func TestTxnRefuses(t *testing.T) {
	b := mem.New()
	schema := delta.Struct{Fields: append(twoColumns.Fields, delta.Field{Name: "p", Type: delta.Long})}
	s := mustCreate(t, b, delta.CreateOptions{Schema: schema, PartitionColumns: []string{"p"}})
	one, empty := "1", ""
	values := map[string]*string{"p": &one}
	for name, row := range map[string]struct {
		file delta.AddFile
		want error
	}{
		"parent":   {delta.AddFile{Name: "../x", Size: 1, PartitionValues: values}, delta.ErrUnsafePath},
		"absolute": {delta.AddFile{Name: "/x", Size: 1, PartitionValues: values}, delta.ErrUnsafePath},
		"scheme":   {delta.AddFile{Name: "s3://b/x", Size: 1, PartitionValues: values}, delta.ErrUnsafePath},
		"vector elsewhere": {delta.AddFile{Name: "x", Size: 1, PartitionValues: values,
			DeletionVector: &action.DeletionVector{StorageType: "p", PathOrInlineDV: "file:///x"}}, delta.ErrUnsafePath},
		"rows not counted": {
			delta.AddFile{Name: "x", Size: 1, PartitionValues: values, Stats: `{"tightBounds":false}`,
				DeletionVector: &action.DeletionVector{StorageType: "i", PathOrInlineDV: "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
					SizeInBytes: 40, Cardinality: 6}},
			delta.ErrInvalidTxn,
		},
		"empty file":         {delta.AddFile{Name: "x", PartitionValues: values}, delta.ErrInvalidTxn},
		"no partition value": {delta.AddFile{Name: "x", Size: 1}, delta.ErrInvalidTxn},
		"other column":       {delta.AddFile{Name: "x", Size: 1, PartitionValues: map[string]*string{"q": &one}}, delta.ErrInvalidTxn},
		"null in NOT NULL":   {delta.AddFile{Name: "x", Size: 1, PartitionValues: map[string]*string{"p": nil}}, delta.ErrInvalidTxn},
		"empty in NOT NULL":  {delta.AddFile{Name: "x", Size: 1, PartitionValues: map[string]*string{"p": &empty}}, delta.ErrInvalidTxn},
		"one column too many": {delta.AddFile{Name: "x", Size: 1, PartitionValues: map[string]*string{"p": &one, "q": &one}},
			delta.ErrInvalidTxn},
	} {
		require.ErrorIs(t, s.Begin(delta.Operation{}).Add(row.file), row.want, name)
	}

	commit := func(change func(*delta.Txn)) error {
		txn := s.Begin(delta.Operation{Name: "X"})
		change(txn)
		_, err := txn.Commit(t.Context())
		return err
	}
	file := delta.AddFile{Name: "x", Size: 1, PartitionValues: values}
	require.ErrorIs(t, commit(func(txn *delta.Txn) { _ = txn.Add(file, file) }), action.ErrInvalidCommit)
	require.ErrorIs(t, commit(func(txn *delta.Txn) { txn.SetTransaction("a", 1); txn.SetTransaction("a", 2) }), action.ErrInvalidCommit)
	rearranged := delta.AddFile{Name: "y", Size: 1, PartitionValues: values, Rearranged: true}
	require.ErrorIs(t, commit(func(txn *delta.Txn) { _ = txn.Add(file, rearranged) }), delta.ErrInvalidTxn)
	require.ErrorIs(t, commit(func(txn *delta.Txn) { txn.SetDomain("d", "{}", false) }), delta.ErrInvalidTxn)
	require.ErrorIs(t, commit(func(txn *delta.Txn) {
		m := s.Metadata()
		m.ID = "another"
		txn.SetMetadata(m)
	}), delta.ErrInvalidTxn)
	require.ErrorIs(t, commit(func(txn *delta.Txn) {
		m := s.Metadata()
		m.Configuration = map[string]string{"delta.enableDeletionVectors": "true"}
		txn.SetMetadata(m) // without the feature
	}), delta.ErrInvalidTxn)
	require.ErrorIs(t, commit(func(txn *delta.Txn) { txn.SetProtocol(action.Protocol{MinReaderVersion: 1, MinWriterVersion: 1}) }),
		delta.ErrInvalidTxn)
	require.ErrorIs(t, s.Begin(delta.Operation{}).Remove(false, delta.File{Name: "gone", Add: &action.Add{Path: "gone"}}), delta.ErrInvalidTxn)

	again, err := s.Refresh(t.Context())
	require.NoError(t, err)
	require.Same(t, s, again, "nothing was written")
}

func TestAppendOnly(t *testing.T) {
	b := mem.New()
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{Properties: map[string]string{"delta.appendOnly": "true"}}), 1)
	for f := range s.Files() {
		deleting := s.Begin(delta.Operation{Name: "DELETE"})
		require.NoError(t, deleting.Remove(false, f))
		_, err := deleting.Commit(t.Context())
		require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
		moving := s.Begin(delta.Operation{Name: "OPTIMIZE"})
		require.NoError(t, moving.Remove(true, f))
		_, err = moving.Commit(t.Context())
		require.NoError(t, err)
	}
}

func TestMetadataAndProtocolInOneCommit(t *testing.T) {
	b := mem.New()
	s := mustCreate(t, b, delta.CreateOptions{Properties: map[string]string{"keep.me": "x"}})
	m := s.Metadata()
	m.Configuration = map[string]string{"keep.me": "x", "delta.constraints.positive": "id > 0"}
	p, changed := s.ProtocolFor(s.Schema(), m.Configuration)
	require.True(t, changed)
	txn := s.Begin(delta.Operation{Name: "ADD CONSTRAINT", Duties: []delta.Duty{delta.EvaluatesChecks}})
	txn.SetMetadata(m)
	txn.SetProtocol(p)
	s, err := txn.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"positive": "id > 0"}, s.Constraints())
	require.Equal(t, "x", s.Properties()["keep.me"])
	require.ErrorIs(t, delta.CheckWritable(s), delta.ErrUnsupportedFeature)
}

func TestHistory(t *testing.T) {
	b := mem.New()
	s := mustCreate(t, b, delta.CreateOptions{})
	for i := range int64(11) {
		txn := s.Begin(delta.Operation{
			Name: "WRITE", UserName: "ada", Parameters: map[string]string{"mode": action.JSONText("Append")},
			Metrics: map[string]string{"numOutputRows": "1"},
		})
		require.NoError(t, txn.Add(mustWrite(t, b, i)))
		var err error
		s, err = txn.Commit(t.Context())
		require.NoError(t, err)
	}
	all, err := s.History(t.Context(), 100, 0)
	require.NoError(t, err)
	require.Len(t, all, 12)
	require.Equal(t, "CREATE TABLE", all[11].Operation)
	require.Nil(t, all[11].ReadVersion)
	h := all[0]
	require.EqualValues(t, 11, h.Version)
	require.EqualValues(t, 10, *h.ReadVersion)
	require.True(t, *h.IsBlindAppend)
	require.Equal(t, "ada", h.UserName)
	require.Equal(t, `"Append"`, h.OperationParameters["mode"])
	require.Equal(t, "1", h.OperationMetrics["numOutputRows"])
	require.Equal(t, "Lakewarden", h.EngineInfo)
	require.WithinDuration(t, time.Now(), h.Timestamp, time.Hour)
	page, err := s.History(t.Context(), 3, 5)
	require.NoError(t, err)
	require.Len(t, page, 3)
	require.EqualValues(t, []int64{4, 3, 2}, []int64{page[0].Version, page[1].Version, page[2].Version})
	none, err := s.History(t.Context(), 0, 0)
	require.NoError(t, err)
	require.Empty(t, none)
}

// TestRequests bounds the requests of Refresh, which precedes every statement.
func TestRequests(t *testing.T) {
	inner := mem.New()
	s := mustCreate(t, inner, delta.CreateOptions{})
	for i := range int64(13) {
		s = mustAppend(t, s, i)
	}
	b := objstore.NewFaults(inner)
	loaded, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	require.Equal(t, 1, b.Count(objstore.OpList))
	require.Equal(t, 1+2+3, b.Count(objstore.OpGet), "hint, checkpoint with its checksum, three commits")
	before := b.Count()
	_, err = loaded.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, b.Count()-before, "unchanged")
	mustAppend(t, s, 14)
	before = b.Count()
	_, err = loaded.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, b.Count()-before, "one commit: its content, its time, and that there is no other")
}

func TestParseInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"interval 7 days": 7 * 24 * time.Hour, "1 week 12 hours": 180 * time.Hour, "INTERVAL 30 DAY": 720 * time.Hour,
		"interval 0 seconds": 0, "5 milliseconds": 5 * time.Millisecond,
	} {
		got, err := delta.ParseInterval(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"", "interval", "7", "7 months", "-1 days", "1.5 days", "days 7", "9223372036854775807 weeks",
		"interval 1 day 1"} {
		_, err := delta.ParseInterval(bad)
		require.ErrorIs(t, err, delta.ErrInvalidProperty, bad)
	}
}

// TestCommitBeyondTheLimits checks that a commit which exceeds the limits for reading
// is not written.
func TestCommitBeyondTheLimits(t *testing.T) {
	b := mem.New()
	mustCreate(t, b, delta.CreateOptions{})
	opts := testOptions(t)
	opts.Limits.LineBytes = 2000
	s, err := delta.Load(t.Context(), b, opts)
	require.NoError(t, err)
	txn := s.Begin(delta.Operation{Name: "WRITE", Parameters: map[string]string{"x": strings.Repeat("y", 3000)}})
	require.NoError(t, txn.Add(delta.AddFile{Name: "x", Size: 1}))
	_, err = txn.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrTooLarge)
	same, err := s.Refresh(t.Context())
	require.NoError(t, err)
	require.Same(t, s, same)
}
