package objstore_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPrefixConformance(t *testing.T) {
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		bucket := mem.New()
		for _, sibling := range []string{"a", "a b", "a b/c", "a b/c/d!e/x", "a b/c/d0/x", "a b/c/e", "z"} {
			objstoretest.MustPut(t, bucket, sibling, "not below the prefix")
		}
		return objstore.Prefix(bucket, "a b/c/d")
	}, objstoretest.Config{Sums: true})
}

func TestNamedConformance(t *testing.T) {
	objstoretest.Run(t, func(*testing.T) objstore.Bucket { return objstore.Named(mem.New(), "main") }, objstoretest.Config{Sums: true})
}

func TestMetricsConformance(t *testing.T) {
	metrics := objstore.NewMetrics(prometheus.NewPedanticRegistry())
	objstoretest.Run(t, func(*testing.T) objstore.Bucket {
		return metrics.Wrap(mem.New(), "mem")
	}, objstoretest.Config{Sums: true})
}

func TestFaultsWithoutCutsConformance(t *testing.T) {
	objstoretest.Run(t, func(*testing.T) objstore.Bucket {
		return objstore.NewFaults(mem.New())
	}, objstoretest.Config{Sums: true})
}

// TestWrappedConformance runs the suite over all wrappers around a store that lists
// uploads.
func TestWrappedConformance(t *testing.T) {
	metrics := objstore.NewMetrics(prometheus.NewPedanticRegistry())
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		bucket, err := file.New(t.TempDir())
		require.NoError(t, err)
		return objstore.Named(metrics.Wrap(objstore.NewFaults(objstore.Prefix(bucket, "a b/c")), "file"), "main")
	}, objstoretest.Config{Folders: true, MaxSegment: 255, Uploads: 1, Copies: true})
}
