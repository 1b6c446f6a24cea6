package objstoretest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// listedNames sort in ways that a naive walk over folders gets wrong: they have characters on both
// sides of the slash, in the names of folders and of their neighbours.
var listedNames = []string{
	"d/x", "d/y/z", "d!x", "d x", "d%2Fx", "d-x", "d.x", "d.x2/a", "d0x", "d00/b", "dé/1", "d~/1",
	"d-/1", "d-/1-/2", "d-/1.2", "d-/10",
	"t/_delta_log/00000000000000000000.json", "t/_delta_log/00000000000000000001.json", "t/_delta_log/_last_checkpoint",
	"t/x=1/part-0.parquet", "t/x=10/part-0.parquet", "t/x=1 1/part-0.parquet", "t/x=/part", "t/.hidden/a",
	"t2/a", "T/a", "é/à=1/x", "é2", "\U0001F600/a", "\uFFFD/a",
}

// testList compares every combination of prefix, start and depth with the filtered sorted names.
func testList(t *testing.T, bucket objstore.Bucket, _ Config) {
	for _, name := range listedNames {
		MustPut(t, bucket, name, "size is "+name)
	}
	prefixes := map[string]bool{
		"": true, "nothing": true, "d": true, "t": true, "d/x/": true, "d/xx": true, "z/": true, "..": true, "d/.": true, "t/x=1": true,
	}
	starts := map[string]bool{"": true, "\U0010FFFF": true, "!": true, "d/x0": true, "t/": true, "t/x": true}
	for _, name := range listedNames {
		starts[name] = true
		for i, c := range name {
			if c == '/' {
				prefixes[name[:i]] = true
				prefixes[name[:i+1]] = true
				starts[name[:i+1]] = true
			}
		}
	}
	for i, prefix := range slices.Sorted(maps.Keys(prefixes)) {
		for j, start := range slices.Sorted(maps.Keys(starts)) {
			for _, shallow := range []bool{false, true} {
				if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" && shallow != ((i+j)%2 == 0) {
					continue
				}
				opts := objstore.ListOptions{StartAfter: start, Shallow: shallow}
				require.Equal(t, expectedList(listedNames, prefix, opts), mustNames(t, bucket, prefix, opts),
					"prefix %q %+v", prefix, opts)
			}
		}
	}
	for object, err := range bucket.List(context.Background(), "d", objstore.ListOptions{Shallow: true}) {
		require.NoError(t, err)
		if strings.HasSuffix(object.Name, "/") {
			require.Zero(t, object.Size, object.Name)
			continue
		}
		require.EqualValues(t, len("size is "+object.Name), object.Size, object.Name)
		require.False(t, object.ModTime.IsZero(), object.Name)
	}
}

func expectedList(names []string, prefix string, opts objstore.ListOptions) []string {
	expected := []string{}
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if slash := strings.Index(name[len(prefix):], "/"); opts.Shallow && slash >= 0 {
			name = name[:len(prefix)+slash+1]
		}
		if name > opts.StartAfter {
			expected = append(expected, name)
		}
	}
	slices.Sort(expected)
	return slices.Compact(expected)
}

// testListStops: a consumer may stop at any object, and list again.
func testListStops(t *testing.T, bucket objstore.Bucket, _ Config) {
	names := []string{"a/1", "a/2", "b/c/1", "d"}
	for _, name := range names {
		MustPut(t, bucket, name, "")
	}
	list := bucket.List(context.Background(), "", objstore.ListOptions{})
	for stop := 1; stop <= len(names); stop++ {
		var seen []string
		for object, err := range list {
			require.NoError(t, err)
			if seen = append(seen, object.Name); len(seen) == stop {
				break
			}
		}
		require.Equal(t, names[:stop], seen)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for _, err := range bucket.List(ctx, "", objstore.ListOptions{}) {
		last = err
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled, "the context ends a running listing")
}

func testListInvalidPrefix(t *testing.T, bucket objstore.Bucket, _ Config) {
	MustPut(t, bucket, "a/b", "x")
	for _, prefix := range []string{"/", "//", "a//", "../", "a/../", "./", "a/./b", "\x00", "\xff", strings.Repeat("p", 2000)} {
		calls := 0
		for object, err := range bucket.List(context.Background(), prefix, objstore.ListOptions{}) {
			require.ErrorIs(t, err, objstore.ErrInvalidName, "%q %v", prefix, object)
			calls++
		}
		require.Equal(t, 1, calls, "%q", prefix)
	}
}

// RunPages lists more than a page holds, in both depths and from the middle, in an empty bucket with
// twice as many objects as folders. put creates an empty object; several goroutines call it.
func RunPages(t *testing.T, bucket objstore.Bucket, folders int, put func(name string) error) {
	var names, shallow []string
	for folder := range folders {
		dir := fmt.Sprintf("t/x=%04d/", folder)
		shallow = append(shallow, dir)
		names = append(names, dir+"0", dir+"1")
	}
	const writers = 8
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for i := writer; i < len(names); i += writers {
				if err := put(names[i]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	last := len(names) - 1
	for _, test := range []struct {
		opts objstore.ListOptions
		want []string
	}{
		{objstore.ListOptions{}, names},
		{objstore.ListOptions{StartAfter: names[998]}, names[999:]},
		{objstore.ListOptions{StartAfter: names[last-1]}, names[last:]},
		{objstore.ListOptions{Shallow: true}, shallow},
		{objstore.ListOptions{Shallow: true, StartAfter: shallow[999]}, shallow[1000:]},
	} {
		require.Equal(t, test.want, mustNames(t, bucket, "t/", test.opts))
	}
}
