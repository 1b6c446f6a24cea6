package delta_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// FuzzLoad reads logs with arbitrary contents: lines of "---" separate the commits, and
// the last part is `_last_checkpoint`. A readable log must read the same from a
// checkpoint and must not name files outside the table.
func FuzzLoad(f *testing.F) {
	const cut = "\n---\n"
	f.Add(firstCommit() + cut + addLine("a") + cut + addLine("b%20c") + cut + `{"version":1}`)
	f.Add(firstCommit(`{"txn":{"appId":"a","version":1}}`, `{"domainMetadata":{"domain":"d","configuration":"{}","removed":false}}`) + cut +
		`{"remove":{"path":"a","deletionTimestamp":1,"dataChange":true}}` + cut + `{"commitInfo":{"inCommitTimestamp":5,"txnId":1}}` + cut)
	f.Add(firstCommit() + cut +
		`{"add":{"path":"x","partitionValues":{"p":null},"size":1,"modificationTime":1,"dataChange":true,"stats":"{}",` +
		`"deletionVector":{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":4,"sizeInBytes":40,"cardinality":6}}}` + cut +
		`{`)
	for _, commit := range twoFiles(f, true, "WriteSerializable") {
		f.Add(commit + cut + commit + cut)
	}
	limits := delta.Options{CheckpointBytes: 1 << 20, NoCheckpoints: true}
	limits.Limits.CommitBytes, limits.Limits.LineBytes = 1<<20, 1<<18
	f.Fuzz(func(t *testing.T, text string) {
		parts := strings.Split(text, cut)
		if len(parts) > 8 {
			return
		}
		b := mem.New()
		for v, body := range parts[:len(parts)-1] {
			mustPut(t, b, logpath.CommitName(int64(v)), body)
		}
		mustPut(t, b, logpath.LastCheckpoint, parts[len(parts)-1])
		s, err := delta.Load(t.Context(), b, limits)
		if err != nil {
			require.True(t, isLogError(err), "%v", err)
			return
		}
		for file := range s.Files() {
			name, err := logpath.Decode(file.Add.Path)
			require.NoError(t, err)
			require.Equal(t, file.Name, name)
		}
		s.Rows()
		require.Positive(t, s.MemoryBytes())
		if s.Checkpoint(t.Context()) != nil {
			return // text that Parquet cannot hold
		}
		again, err := delta.Load(t.Context(), b, limits)
		require.NoError(t, err)
		require.Equal(t, fileNames(s), fileNames(again))
		require.Equal(t, s.TotalBytes(), again.TotalBytes())
		require.Equal(t, s.Identity(), again.Identity())
	})
}

func isLogError(err error) bool {
	for _, known := range []error{
		delta.ErrTableNotFound, delta.ErrLogBroken, delta.ErrMalformed, delta.ErrTooLarge, delta.ErrUnsafePath,
		delta.ErrInvalidSchema, delta.ErrIdentityChanged, checkpoint.ErrCorrupt,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
