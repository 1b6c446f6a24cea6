package delta_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// benchTable returns a table of many files in a checkpoint and a few later commits.
func benchTable(b *testing.B, files int) *delta.Snapshot {
	bucket, err := file.New(b.TempDir())
	require.NoError(b, err)
	opts := testOptions(b)
	opts.NoCheckpoints = true
	s := mustCreate(b, bucket, delta.CreateOptions{Options: opts})
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	for i := range files {
		require.NoError(b, txn.Add(delta.AddFile{
			Name: fmt.Sprintf("part-%05d-3a0d65cd-4056-49b8-937b-95f9e3ee90e5-c000.snappy.parquet", i), Size: 1, ModTime: time.Unix(1, 0),
			Stats: `{"numRecords":1000,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}`,
		}))
	}
	s, err = txn.Commit(b.Context())
	require.NoError(b, err)
	require.NoError(b, s.Checkpoint(b.Context()))
	return s
}

func BenchmarkLoad(b *testing.B) {
	s := benchTable(b, 20_000)
	b.ReportAllocs()
	for b.Loop() {
		_, err := delta.Load(b.Context(), s.Bucket(), delta.Options{})
		require.NoError(b, err)
	}
}

func BenchmarkRefreshUnchanged(b *testing.B) {
	s := benchTable(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		same, err := s.Refresh(b.Context())
		require.NoError(b, err)
		require.Same(b, s, same)
	}
}

func BenchmarkAppend(b *testing.B) {
	s := benchTable(b, 20_000)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(b, txn.Add(delta.AddFile{Name: fmt.Sprintf("f%d", n), Size: 1, ModTime: time.Unix(1, 0)}))
		next, err := txn.Commit(b.Context())
		require.NoError(b, err)
		s = next
	}
}
