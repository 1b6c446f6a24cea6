package gcs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

func TestMain(m *testing.M) {
	objstoretest.WriterMain(func(location string) (objstore.Bucket, error) {
		parts := strings.SplitN(location, "#", 3)
		return gcs.New(options(parts[0], parts[1], parts[2]))
	})
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func options(endpoint, bucket, key string) gcs.Options {
	return gcs.Options{Bucket: bucket, Endpoint: endpoint, Credential: gcs.Credential{ServiceAccountKey: key}}
}

func mustNew(tb testing.TB, o gcs.Options) *gcs.Bucket {
	tb.Helper()
	bucket, err := gcs.New(o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, bucket.Close()) })
	return bucket
}

// open returns an empty bucket behind a guard.
func open(tb testing.TB, change func(*gcs.Options)) *gcs.Bucket {
	tb.Helper()
	server := gcstest.Start(tb)
	guard := server.Guard(tb)
	o := options(guard.Endpoint, server.Bucket(tb), guard.Key(tb, "one"))
	if change != nil {
		change(&o)
	}
	return mustNew(tb, o)
}

func TestConformance(t *testing.T) {
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		return objstoretest.Below(t, open(t, nil))
	}, objstoretest.Config{Copies: true, Sums: true})
}

// TestConformanceInParts sends every body that is longer than a few bytes in parts.
func TestConformanceInParts(t *testing.T) {
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		return open(t, func(o *gcs.Options) { o.Limits.PartSize = 256 << 10 })
	}, objstoretest.Config{Copies: true, Sums: true, Bodies: true})
}

func TestPages(t *testing.T) {
	bucket := open(t, nil)
	objstoretest.RunPages(t, bucket, 1050, func(name string) error { return bucket.PutIfAbsent(t.Context(), name, nil) })
}

func TestProcesses(t *testing.T) {
	server := gcstest.Start(t)
	guard := server.Guard(t)
	name, key := server.Bucket(t), guard.Key(t, "one")
	objstoretest.RunProcesses(t, mustNew(t, options(guard.Endpoint, name, key)), guard.Endpoint+"#"+name+"#"+key)
}

func BenchmarkBucket(b *testing.B) {
	objstoretest.Bench(b, func(tb testing.TB) objstore.Bucket { return open(tb, nil) })
}
