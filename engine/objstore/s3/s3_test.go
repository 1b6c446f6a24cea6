package s3_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestMain(m *testing.M) {
	objstoretest.WriterMain(func(location string) (objstore.Bucket, error) {
		endpoint, bucket, _ := strings.Cut(location, "#")
		return s3.New(options(endpoint, bucket))
	})
	// The links of a proxy that cut a connection off wait for each other.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"))
}

func options(endpoint, bucket string) s3.Options {
	return s3.Options{
		Bucket: bucket, Region: s3test.Region, Endpoint: endpoint, PathStyle: true,
		Credential: s3.Credential{AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey},
	}
}

func mustNew(tb testing.TB, o s3.Options) *s3.Bucket {
	tb.Helper()
	bucket, err := s3.New(o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, bucket.Close()) })
	return bucket
}

// conformance: the server keeps objects as files, so it has folders.
var conformance = objstoretest.Config{Folders: true, MaxSegment: 255, Copies: true, Sums: true}

func TestConformance(t *testing.T) {
	server := s3test.Start(t)
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		return objstoretest.Below(t, mustNew(t, options(server.Endpoint, server.Bucket(t))))
	}, conformance)
}

// TestConformanceInParts sends every body that is longer than a few bytes in
// parts.
func TestConformanceInParts(t *testing.T) {
	conformance := conformance
	conformance.Uploads, conformance.Bodies = 6<<20, true
	server := s3test.Start(t)
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		o := options(server.Endpoint, server.Bucket(t))
		o.Limits.PartSize = 5 << 20
		return mustNew(t, o)
	}, conformance)
}

// TestPages writes the files of the server directly, which is faster.
func TestPages(t *testing.T) {
	server := s3test.Start(t)
	name := server.Bucket(t)
	objstoretest.RunPages(t, mustNew(t, options(server.Endpoint, name)), 1050, func(object string) error {
		file := filepath.Join(server.Folder(name), object)
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644))
	})
}

func TestProcesses(t *testing.T) {
	server := s3test.Start(t)
	name := server.Bucket(t)
	objstoretest.RunProcesses(t, mustNew(t, options(server.Endpoint, name)), server.Endpoint+"#"+name)
}

func BenchmarkBucket(b *testing.B) {
	server := s3test.Start(b)
	objstoretest.Bench(b, func(tb testing.TB) objstore.Bucket {
		return mustNew(tb, options(server.Endpoint, server.Bucket(tb)))
	})
}
