package azure_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

func TestMain(m *testing.M) {
	objstoretest.WriterMain(func(location string) (objstore.Bucket, error) {
		endpoint, name, _ := strings.Cut(location, "#")
		return azure.New(options(endpoint, name))
	})
	os.Exit(run(m))
}

func run(m *testing.M) int {
	remove, err := azuretest.Trust()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func options(endpoint, container string) azure.Options {
	return azure.Options{
		Account: azuretest.Account, Container: container, Endpoint: endpoint,
		Credential: azure.Credential{AccountKey: azuretest.Key},
	}
}

func mustNew(tb testing.TB, o azure.Options) *azure.Bucket {
	tb.Helper()
	bucket, err := azure.New(o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, bucket.Close()) })
	return bucket
}

// conformance: the service takes a backslash for a slash.
var conformance = objstoretest.Config{Without: `\`, Copies: true, Sums: true}

func TestConformance(t *testing.T) {
	server := azuretest.Start(t)
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		return objstoretest.Below(t, mustNew(t, options(server.Endpoint, server.Container(t))))
	}, conformance)
}

// TestConformanceInBlocks sends every body that is longer than a few bytes in blocks.
func TestConformanceInBlocks(t *testing.T) {
	conformance := conformance
	conformance.Bodies = true
	server := azuretest.Start(t)
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		o := options(server.Endpoint, server.Container(t))
		o.Limits.PartSize = 1 << 18
		return mustNew(t, o)
	}, conformance)
}

func TestPages(t *testing.T) {
	server := azuretest.Start(t)
	bucket := mustNew(t, options(server.Endpoint, server.Container(t)))
	objstoretest.RunPages(t, bucket, 2600, func(name string) error { return bucket.PutIfAbsent(t.Context(), name, nil) })
}

func TestProcesses(t *testing.T) {
	server := azuretest.Start(t)
	name := server.Container(t)
	objstoretest.RunProcesses(t, mustNew(t, options(server.Endpoint, name)), server.Endpoint+"#"+name)
}

func BenchmarkBucket(b *testing.B) {
	server := azuretest.Start(b)
	objstoretest.Bench(b, func(tb testing.TB) objstore.Bucket {
		return mustNew(tb, options(server.Endpoint, server.Container(tb)))
	})
}
