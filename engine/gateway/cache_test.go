package gateway_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// TestEveryRangeIsTheObjectsBytes reads random ranges of random objects, many at
// once, through caches so small that blocks leave while they are read.
func TestEveryRangeIsTheObjectsBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inner := mem.New()
		faults := objstore.NewFaults(inner, objstore.Cut{Ops: []objstore.Op{objstore.OpGetRange}, After: true,
			Nth: rapid.IntRange(1, 20).Draw(rt, "broken body")})
		var objects [][]byte
		for i, size := range rapid.SliceOfN(rapid.IntRange(1, 5000), 1, 4).Draw(rt, "sizes") {
			content := text(size + i)[i:]
			objects = append(objects, content)
			mustPut(t, inner, fmt.Sprintf("%d.parquet", i), content)
		}
		opts := gateway.Options{
			BlockBytes:  int64(rapid.SampledFrom([]int{1, 7, 64, 1000, 8192}).Draw(rt, "block")),
			MemoryBytes: int64(rapid.IntRange(1, 4000).Draw(rt, "memory")),
			DiskBytes:   int64(rapid.IntRange(1, 4000).Draw(rt, "disk")),
			ReadAhead:   rapid.IntRange(-1, 3).Draw(rt, "ahead"),
		}
		if rapid.Bool().Draw(rt, "with disk") {
			dir, err := os.MkdirTemp(t.TempDir(), "")
			require.NoError(t, err)
			opts.Dir = dir
		}
		g, err := gateway.New(opts)
		require.NoError(t, err)
		defer func() { require.NoError(t, g.Close()) }()
		type ask struct{ object, start, length int }
		asks := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) ask {
			object := rapid.IntRange(0, len(objects)-1).Draw(rt, "object")
			start := rapid.IntRange(0, len(objects[object])-1).Draw(rt, "start")
			return ask{object, start, rapid.IntRange(1, len(objects[object])-start).Draw(rt, "length")}
		}), 1, 30).Draw(rt, "asks")
		var readers errgroup.Group
		for reader := range 3 {
			grant := mustGrant(t, g, faults, "")
			c := client(t, grant)
			readers.Go(func() error {
				for i := range asks {
					a := asks[(i+reader*7)%len(asks)]
					got, err := get(t.Context(), c, fmt.Sprintf("%d.parquet", a.object), fmt.Sprintf("bytes=%d-%d", a.start, a.start+a.length-1))
					if err != nil {
						return fmt.Errorf("%+v: %w", a, err)
					}
					if string(got) != string(objects[a.object][a.start:a.start+a.length]) {
						return fmt.Errorf("%+v: other bytes", a)
					}
				}
				return nil
			})
		}
		require.NoError(rt, readers.Wait())
	})
}

// TestABlockIsReadOnceForAll: those who ask while it is on its way wait for it,
// and neighbours come in the same request.
func TestABlockIsReadOnceForAll(t *testing.T) {
	const readers, size = 16, 8 * 64
	inner := mem.New()
	mustPut(t, inner, "a.parquet", text(size))
	gate, asked := make(chan struct{}), atomic.Int32{}
	slow := &store{Bucket: inner, getRange: func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
		asked.Add(1)
		<-gate
		return inner.GetRange(ctx, name, offset, length)
	}}
	registry := prometheus.NewPedanticRegistry()
	g := mustGateway(t, gateway.Options{BlockBytes: 64, Registerer: registry})
	var all errgroup.Group
	for range readers {
		c := client(t, mustGrant(t, g, slow, ""))
		all.Go(func() error {
			got, err := get(t.Context(), c, "a.parquet", "")
			if err == nil && string(got) != string(text(size)) {
				err = io.ErrUnexpectedEOF
			}
			return err
		})
	}
	require.Eventually(t, func() bool {
		return counters(t, registry, "lakewarden_gateway_cache_blocks_total")["joined"] == readers-1
	}, time.Minute, time.Millisecond)
	close(gate)
	require.NoError(t, all.Wait())
	require.EqualValues(t, 1, asked.Load())
	require.EqualValues(t, size, counters(t, registry, "lakewarden_gateway_upstream_bytes_total")[""])
	require.EqualValues(t, readers*size, counters(t, registry, "lakewarden_gateway_sent_bytes_total")[""])
	require.EqualValues(t, size, counters(t, registry, "lakewarden_gateway_cache_bytes")["memory"])
}

// TestALoadLivesAsLongAsOneOfItsStatements: the first who asked may leave, the
// last may not.
func TestALoadLivesAsLongAsOneOfItsStatements(t *testing.T) {
	inner := mem.New()
	mustPut(t, inner, "a.parquet", text(100))
	gate, cancelled := make(chan struct{}), make(chan struct{}, 2)
	slow := &store{Bucket: inner, getRange: func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
		select {
		case <-gate:
			return inner.GetRange(ctx, name, offset, length)
		case <-ctx.Done():
			cancelled <- struct{}{}
			return nil, ctx.Err()
		}
	}}
	registry := prometheus.NewPedanticRegistry()
	g := mustGateway(t, gateway.Options{Registerer: registry})
	joined := func(n float64) {
		require.Eventually(t, func() bool { return counters(t, registry, "lakewarden_gateway_cache_blocks_total")["joined"] == n },
			time.Minute, time.Millisecond)
	}
	read := func(grant *gateway.Grant) chan error {
		c, done := client(t, grant), make(chan error, 1)
		go func() {
			_, err := get(t.Context(), c, "a.parquet", "")
			done <- err
		}()
		return done
	}
	first, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: slow, Prefixes: []string{""}})
	require.NoError(t, err)
	second, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: slow, Prefixes: []string{""}})
	require.NoError(t, err)
	endFirst, endSecond := first.Begin(t.Context()), second.Begin(t.Context())
	a := read(first)
	b := read(second)
	joined(1)
	endFirst()
	require.Error(t, <-a)
	require.Empty(t, cancelled)
	endSecond()
	require.Error(t, <-b)
	<-cancelled

	endFirst = first.Begin(t.Context())
	c := read(first)
	defer second.Begin(t.Context())()
	d := read(second)
	joined(2)
	endFirst()
	require.Error(t, <-c)
	close(gate)
	require.NoError(t, <-d)
}

// TestSequentialReadsGetAhead: what continues cached blocks brings the next ones
// along; what jumps does not.
func TestSequentialReadsGetAhead(t *testing.T) {
	inner := mem.New()
	mustPut(t, inner, "a.parquet", text(100*64))
	faults := objstore.NewFaults(inner)
	c := client(t, mustGrant(t, mustGateway(t, gateway.Options{BlockBytes: 64, ReadAhead: 4}), faults, ""))
	read := func(block int) {
		_, err := get(t.Context(), c, "a.parquet", fmt.Sprintf("bytes=%d-%d", block*64, block*64+63))
		require.NoError(t, err)
	}
	for block := range 20 {
		read(block)
	}
	// Blocks 0, 1 to 5, 6 to 10, 11 to 15, 16 to 20.
	require.Equal(t, 5, faults.Count(objstore.OpGetRange))
	for block := 30; block < 50; block += 2 {
		read(block)
	}
	require.Equal(t, 15, faults.Count(objstore.OpGetRange))
	require.Equal(t, 1, faults.Count(objstore.OpStat))
}

// TestBlocksAreNotSharedBetweenIdentities: equal names in two places are two
// objects, in memory and on disk.
func TestBlocksAreNotSharedBetweenIdentities(t *testing.T) {
	g := mustGateway(t, gateway.Options{Dir: t.TempDir()})
	for range 2 {
		for i, identity := range []string{"one", "two", "onea", "one/"} {
			inner := &fixedTime{mem.New()}
			mustPut(t, inner, "a.parquet", []byte(fmt.Sprint(i)))
			grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: identity, Store: inner, Prefixes: []string{""}})
			require.NoError(t, err)
			defer grant.Begin(t.Context())()
			got, err := get(t.Context(), client(t, grant), "a.parquet", "")
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), string(got))
		}
	}
}

// fixedTime is a store whose objects are all of one time.
type fixedTime struct{ objstore.Bucket }

func (f fixedTime) Stat(ctx context.Context, name string) (objstore.Object, error) {
	object, err := f.Bucket.Stat(ctx, name)
	object.ModTime = time.Unix(1_900_000_000, 0)
	return object, err
}

// TestTheDiskIsUnreadableToOthers: blocks are encrypted, do not outlive the process, and nothing
// that was damaged is handed out.
func TestTheDiskIsUnreadableToOthers(t *testing.T) {
	dir, size := filepath.Join(t.TempDir(), "cache"), 10*64+5
	inner := &fixedTime{mem.New()}
	content := text(size)
	mustPut(t, inner, "a.parquet", content)
	// Blocks that a process left which was killed, of this version and of earlier ones.
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for _, name := range []string{strings.Repeat("ab", 32), "writing", "block-1", "foreign"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	faults, registry := objstore.NewFaults(inner), prometheus.NewPedanticRegistry()
	// Memory has room for one block, so every other one comes from disk.
	g, err := gateway.New(gateway.Options{Dir: dir, Registerer: registry, BlockBytes: 64, MemoryBytes: 64, ReadAhead: -1})
	require.NoError(t, err)
	require.Empty(t, blockFiles(t, dir))
	require.FileExists(t, filepath.Join(dir, "foreign"))
	_, err = gateway.New(gateway.Options{Dir: dir})
	require.ErrorIs(t, err, gateway.ErrCacheDir, "one process at a time")
	c := client(t, mustGrant(t, g, faults, ""))
	read := func() {
		t.Helper()
		got, err := get(t.Context(), c, "a.parquet", "")
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
	written := func() []string {
		require.Eventually(t, func() bool {
			return counters(t, registry, "lakewarden_gateway_cache_bytes")["disk"] == float64(size+11*16)
		}, time.Minute, time.Millisecond)
		return blockFiles(t, dir)
	}
	read()
	require.Len(t, written(), 11)
	asked := faults.Count(objstore.OpGetRange)
	read()
	require.Equal(t, asked, faults.Count(objstore.OpGetRange), "from disk")
	for _, path := range written() {
		stored, err := os.ReadFile(path)
		require.NoError(t, err)
		for at := 0; at+16 <= size; at += 16 {
			require.NotContains(t, string(stored), string(content[at:at+16]))
		}
	}

	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	files := written()
	damage := []func(path string) error{
		func(path string) error { return os.Truncate(path, 0) },
		func(path string) error { return os.Truncate(path, 63) },
		func(path string) error { return flip(path, 0) },
		func(path string) error { return os.WriteFile(path, make([]byte, 64+16), 0o600) },
		func(path string) error { return swap(path, files[10]) },
		os.Remove,
		func(path string) error { return replace(path, func() error { return os.Symlink("/etc/passwd", path) }) },
		func(path string) error { return replace(path, func() error { return os.Mkdir(path, 0o700) }) },
	}
	for i, harm := range damage {
		info, err := os.Stat(files[i])
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.NoError(t, harm(files[i]))
	}
	read()
	require.Greater(t, faults.Count(objstore.OpGetRange), asked)
	require.GreaterOrEqual(t, counters(t, registry, "lakewarden_gateway_cache_lost_total")["damaged"], 6.0)
	read()

	require.NoError(t, g.Close())
	require.Empty(t, blockFiles(t, dir))
	require.FileExists(t, filepath.Join(dir, "foreign"))
}

// TestTheDiskIsBounded: a smaller limit deletes.
func TestTheDiskIsBounded(t *testing.T) {
	dir, inner, registry := t.TempDir(), mem.New(), prometheus.NewPedanticRegistry()
	mustPut(t, inner, "a.parquet", text(1000))
	g := mustGateway(t, gateway.Options{Dir: dir, BlockBytes: 128, DiskBytes: 400, MemoryBytes: 1, ReadAhead: -1, Registerer: registry})
	c := client(t, mustGrant(t, g, inner, ""))
	for range 3 {
		_, err := get(t.Context(), c, "a.parquet", "")
		require.NoError(t, err)
	}
	require.NoError(t, g.Close())
	require.LessOrEqual(t, counters(t, registry, "lakewarden_gateway_cache_bytes")["disk"], 400.0)
}

func flip(path string, at int) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content[at] ^= 1
	return os.WriteFile(path, content, 0o600)
}

func swap(a, b string) error {
	for _, move := range [][2]string{{a, a + "x"}, {b, a}, {a + "x", b}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			return err
		}
	}
	return nil
}

func replace(path string, with func() error) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return with()
}

func TestACacheDirThatCannotBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := gateway.New(gateway.Options{Dir: path})
	require.ErrorIs(t, err, gateway.ErrCacheDir)
}

// TestACacheDirThatWasDeleted checks that a gateway without its folder serves and closes, and that
// the next one makes the folder again.
func TestACacheDirThatWasDeleted(t *testing.T) {
	dir, inner := filepath.Join(t.TempDir(), "cache"), mem.New()
	mustPut(t, inner, "a.parquet", text(300))
	for range 2 {
		g, err := gateway.New(gateway.Options{Dir: dir})
		require.NoError(t, err)
		require.DirExists(t, dir)
		require.NoError(t, os.RemoveAll(dir))
		got, err := get(t.Context(), client(t, mustGrant(t, g, inner, "")), "a.parquet", "")
		require.NoError(t, err)
		require.Equal(t, text(300), got)
		require.NoError(t, g.Close())
	}
}

// TestEverythingAtOnce is for the race detector: statements that end, grants that
// close and objects that change while others read.
func TestEverythingAtOnce(t *testing.T) {
	inner := mem.New()
	for i := range 4 {
		mustPut(t, inner, fmt.Sprintf("%d.parquet", i), text(3000))
	}
	g := mustGateway(t, gateway.Options{BlockBytes: 64, MemoryBytes: 2000, DiskBytes: 3000, Dir: t.TempDir(), Recheck: time.Millisecond})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for round := range 30 {
				grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: inner, Prefixes: []string{""}})
				if err != nil {
					t.Error(err)
					return
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round)*time.Millisecond/4)
				end := grant.Begin(ctx)
				c := client(t, grant)
				for i := range 4 {
					got, err := get(t.Context(), c, fmt.Sprintf("%d.parquet", i), "")
					if err == nil && string(got) != string(text(3000)) {
						t.Errorf("other bytes: %d", len(got))
					}
				}
				switch (round + worker) % 3 {
				case 0:
					end()
				case 1:
					grant.Close()
				}
				cancel()
				grant.Close()
			}
		})
	}
	all.Wait()
}
