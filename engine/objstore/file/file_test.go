package file_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

func TestMain(m *testing.M) {
	objstoretest.WriterMain(func(location string) (objstore.Bucket, error) { return file.New(location) })
	goleak.VerifyTestMain(m)
}

var conformance = objstoretest.Config{Folders: true, MaxSegment: 255, Uploads: 1, Copies: true}

func TestConformance(t *testing.T) {
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket { return mustNew(t, t.TempDir()) }, conformance)
}

func TestConformanceBelowPrefix(t *testing.T) {
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		bucket := mustNew(t, t.TempDir())
		objstoretest.MustPut(t, bucket, "x-y", "sibling")
		objstoretest.MustPut(t, bucket, "x/y0/z", "sibling")
		return objstore.Prefix(bucket, "x/y")
	}, conformance)
}

func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	objstoretest.RunProcesses(t, mustNew(t, dir), dir)
}

func mustNew(tb testing.TB, dir string) *file.Bucket {
	tb.Helper()
	bucket, err := file.New(dir)
	require.NoError(tb, err)
	return bucket
}

func BenchmarkBucket(b *testing.B) {
	objstoretest.Bench(b, func(tb testing.TB) objstore.Bucket { return mustNew(tb, tb.TempDir()) })
}
