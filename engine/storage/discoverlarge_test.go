package storage_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// generated is a bucket that makes the names of its listings up: width folders, each of which is a
// table.
type generated struct {
	objstore.Bucket
	width int
	// prefix begins the name of each folder.
	prefix string
}

func (g generated) List(ctx context.Context, prefix string, _ objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		switch {
		case ctx.Err() != nil:
			yield(objstore.Object{}, ctx.Err())
		case prefix == "":
			for i := range g.width {
				if !yield(objstore.Object{Name: fmt.Sprintf("%s%08d/", g.prefix, i)}, nil) {
					return
				}
			}
		case strings.HasSuffix(prefix, "/_delta_log/"):
			yield(objstore.Object{Name: prefix + "00000000000000000000.json", Size: 1}, nil)
		default:
			yield(objstore.Object{Name: prefix + "_delta_log/"}, nil)
		}
	}
}

// heap returns the size of the heap that is in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestDiscoverNeedsLittleMemory measures the heap while the tables of many prefixes are found, and
// while limits cut a listing of many more. The names are as long as a bucket allows.
func TestDiscoverNeedsLittleMemory(t *testing.T) {
	long := strings.Repeat("x", 900)
	for name, c := range map[string]struct {
		bucket generated
		tables int
		most   int64
	}{
		"100,000 tables":           {generated{width: 100_000, prefix: "warehouse/sales/department-of-things/table-"[30:]}, 100_000, 32 << 20},
		"a million folders":        {generated{width: 1_000_000, prefix: "t"}, 100_000, 48 << 20},
		"100,000 paths of a KByte": {generated{width: 100_000, prefix: long}, 32 << 20 / (len(long) + 9), 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			c.bucket.Bucket = mem.New()
			before, peak, seen := heap(), int64(0), 0
			found, err := storage.Discover(context.Background(), c.bucket, storage.DiscoverOptions{}, func(storage.FoundTable) error {
				if seen++; seen%20_000 == 1 {
					peak = max(peak, heap()-before)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, c.tables, seen)
			require.Equal(t, c.tables, found.Tables)
			require.Equal(t, c.tables < c.bucket.width, found.Truncated)
			t.Logf("the heap grew by %d KiB", peak>>10)
			require.Less(t, peak, c.most)
		})
	}
}

// TestDiscoverEnds checks that an end of the context, or an error of the caller, ends a discovery at
// once, without listings that continue.
func TestDiscoverEnds(t *testing.T) {
	bucket := generated{Bucket: mem.New(), width: 100_000}
	ctx, cancel := context.WithCancel(context.Background())
	found, err := storage.Discover(ctx, bucket, storage.DiscoverOptions{}, func(storage.FoundTable) error {
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, found.Folders, 50)

	boom := errors.New("boom")
	found, err = storage.Discover(context.Background(), bucket, storage.DiscoverOptions{}, func(storage.FoundTable) error { return boom })
	require.ErrorIs(t, err, boom)
	require.Equal(t, 1, found.Tables)
	require.Less(t, found.Folders, 50)
}
