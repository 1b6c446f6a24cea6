package move_test

import (
	"context"
	"io"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
	"github.com/lakewarden/lakewarden/engine/storage/move"
)

// stores start the real stores, each once. A function opens an empty bucket.
func stores(t *testing.T, limits remote.Limits) map[string]func(*testing.T) objstore.Bucket {
	s3Server := sync.OnceValue(func() s3test.Server { return s3test.Start(t) })
	azureServer := sync.OnceValue(func() azuretest.Server { return azuretest.Start(t) })
	gcsServer := sync.OnceValue(func() gcstest.Server { return gcstest.Start(t) })
	return map[string]func(*testing.T) objstore.Bucket{
		"file": func(t *testing.T) objstore.Bucket {
			bucket, err := file.New(t.TempDir())
			require.NoError(t, err)
			return bucket
		},
		"s3": func(t *testing.T) objstore.Bucket {
			bucket, err := s3.New(s3.Options{
				Bucket: s3Server().Bucket(t), Region: s3test.Region, Endpoint: s3Server().Endpoint, PathStyle: true,
				Credential: s3.Credential{AccessKeyID: s3test.AccessKeyID, SecretAccessKey: s3test.SecretAccessKey},
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, bucket.Close()) })
			return bucket
		},
		"azure": func(t *testing.T) objstore.Bucket {
			bucket, err := azure.New(azure.Options{
				Account: azuretest.Account, Container: azureServer().Container(t), Endpoint: azureServer().Endpoint,
				Credential: azure.Credential{AccountKey: azuretest.Key}, Limits: limits,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, bucket.Close()) })
			return bucket
		},
		"gcs": func(t *testing.T) objstore.Bucket {
			guard := gcsServer().Guard(t)
			bucket, err := gcs.New(gcs.Options{
				Bucket: gcsServer().Bucket(t), Endpoint: guard.Endpoint, Credential: gcs.Credential{ServiceAccountKey: guard.Key(t, "one")},
				Limits: limits,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, bucket.Close()) })
			return bucket
		},
	}
}

// TestStores moves between every two of the stores, and inside each. A copy is killed and resumed.
func TestStores(t *testing.T) {
	ctx := context.Background()
	content := lake()
	content["large"] = strings.Repeat("0123456789abcdef", 3<<16) // in parts
	opened := stores(t, remote.Limits{PartSize: 1 << 20})
	for from, source := range opened {
		for to, target := range opened {
			t.Run(from+" to "+to, func(t *testing.T) {
				root := fill(t, source(t), map[string]string{"b": "sibling", "x0": "sibling"})
				destination := root
				if from != to {
					destination = fill(t, target(t), map[string]string{"a": "sibling", "y/z0": "sibling"})
				}
				kept, want := contentOf(t, root), contentOf(t, destination)
				job := move.Job{Source: objstore.Prefix(root, "x"), Target: objstore.Prefix(destination, "y/z")}
				fill(t, job.Source, content)
				killed := job
				killed.Target = objstore.NewFaults(job.Target, objstore.Cut{Nth: 20, After: true, Forever: true, Err: errKilled})
				_, err := killed.Copy(ctx, false)
				require.ErrorIs(t, err, errKilled)

				copied, err := job.Copy(ctx, true)
				require.NoError(t, err)
				require.Equal(t, sizeOf(content), copied)
				require.Equal(t, content, contentOf(t, job.Target))
				deleted, err := job.Delete(ctx)
				require.NoError(t, err)
				require.Equal(t, copied, deleted)
				for name, text := range content {
					want["y/z/"+name] = text
				}
				require.Equal(t, want, contentOf(t, destination))
				if root != destination {
					require.Equal(t, kept, contentOf(t, root))
				}
			})
		}
	}
}

// plain is a bucket without the abilities of its store.
type plain struct{ objstore.Bucket }

// TestStoresThatOnlyStore moves between stores that neither copy nor have checksums.
func TestStoresThatOnlyStore(t *testing.T) {
	ctx := context.Background()
	source, target := fill(t, mem.New(), lake()), mem.New()
	reads := objstore.NewFaults(target)
	job := move.Job{Source: plain{source}, Target: plain{reads}}
	_, err := job.Copy(ctx, false)
	require.NoError(t, err)
	require.GreaterOrEqual(t, reads.Count(objstore.OpGet), len(lake()), "each copy is read back")
	_, err = job.Copy(ctx, true)
	require.NoError(t, err)
	_, err = job.Delete(ctx)
	require.NoError(t, err)
	require.Empty(t, contentOf(t, source))
	require.Equal(t, lake(), contentOf(t, target))
}

// large is a bucket with one object, whose content it makes up.
type large struct {
	objstore.Bucket
	size int64
	// sample is called every few MiB that are read.
	sample func()
}

func (l large) object() objstore.Object { return objstore.Object{Name: "large", Size: l.size} }

func (l large) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.LimitReader(&zeros{sample: l.sample}, l.size)), nil
}

func (l large) Stat(context.Context, string) (objstore.Object, error) { return l.object(), nil }

func (l large) List(context.Context, string, objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) { yield(l.object(), nil) }
}

type zeros struct {
	sample func()
	read   int
}

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	if z.read += len(p); z.read > 8<<20 {
		z.sample()
		z.read = 0
	}
	return len(p), nil
}

// TestLargeObjectsNeedLittleMemory streams an object to each store.
func TestLargeObjectsNeedLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("copies 256 MiB")
	}
	for name, open := range stores(t, remote.Limits{}) {
		t.Run(name, func(t *testing.T) {
			target, size := open(t), int64(256<<20)
			if name == "azure" || name == "gcs" {
				size = 64 << 20 // their servers are slow
			}
			before, peak := heap(), int64(0)
			source := large{Bucket: mem.New(), size: size, sample: func() { peak = max(peak, heap()-before) }}
			copied, err := move.Job{Source: source, Target: target}.Copy(context.Background(), false)
			require.NoError(t, err)
			require.Equal(t, move.Count{Objects: 1, Bytes: size}, copied)
			t.Logf("the heap grew by %d KiB", peak>>10)
			require.Less(t, peak, int64(64<<20))
		})
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
