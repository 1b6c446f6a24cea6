package gateway_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// countedStore counts the reads of a store with the objects t/a.parquet and u/a.parquet.
func countedStore(t *testing.T) (counted objstore.Bucket, inner *mem.Bucket, reads *atomic.Int32) {
	t.Helper()
	inner, reads = mem.New(), &atomic.Int32{}
	for _, name := range []string{"t/a.parquet", "u/a.parquet"} {
		mustPut(t, inner, name, text(300))
	}
	return &store{Bucket: inner, getRange: func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
		reads.Add(1)
		return inner.GetRange(ctx, name, offset, length)
	}}, inner, reads
}

// TestForgottenBlocksGo from memory and disk; those of other objects and stores stay.
func TestForgottenBlocksGo(t *testing.T) {
	counted, inner, reads := countedStore(t)
	dir, registry := t.TempDir(), prometheus.NewPedanticRegistry()
	g := mustGateway(t, gateway.Options{BlockBytes: 1000, Dir: dir, Registerer: registry})
	read := func(identity, name string) (fromStore int32) {
		before := reads.Load()
		got, err := get(t.Context(), client(t, grantOf(t, g, identity, counted)), name, "")
		require.NoError(t, err)
		require.Equal(t, string(text(300)), string(got))
		return reads.Load() - before
	}
	cached := func(blocks int) {
		require.Eventually(t, func() bool {
			bytes := counters(t, registry, "lakewarden_gateway_cache_bytes")
			// The file of a block that was forgotten while it was written is deleted after that.
			return bytes["memory"] == float64(blocks*300) && bytes["disk"] == float64(blocks*316) && len(blockFiles(t, dir)) == blocks
		}, time.Minute, time.Millisecond)
	}
	for _, identity := range []string{"kept", "gone"} {
		for _, name := range []string{"t/a.parquet", "u/a.parquet"} {
			require.EqualValues(t, 1, read(identity, name))
			require.Zero(t, read(identity, name))
		}
	}
	cached(4)
	g.Forget(func(identity, name string) bool { return identity == "gone" && strings.HasPrefix(name, "t/") })
	cached(3)
	require.Zero(t, read("kept", "t/a.parquet"))
	require.Zero(t, read("gone", "u/a.parquet"))
	require.EqualValues(t, 1, read("gone", "t/a.parquet"))

	// The description of a forgotten object is gone, too.
	g.Forget(func(string, string) bool { return true })
	cached(0)
	require.NoError(t, inner.Delete(t.Context(), "t/a.parquet"))
	_, err := get(t.Context(), client(t, grantOf(t, g, "kept", counted)), "t/a.parquet", "")
	require.ErrorContains(t, err, "404")
}

// TestAReadUnderWayDoesNotRefillTheCache after its object was forgotten. Whoever waits for it
// gets it.
func TestAReadUnderWayDoesNotRefillTheCache(t *testing.T) {
	inner := mem.New()
	mustPut(t, inner, "a.parquet", text(300))
	begun, gate := make(chan struct{}), make(chan struct{})
	slow := &store{Bucket: inner, getRange: func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
		body, err := inner.GetRange(ctx, name, offset, length)
		close(begun)
		<-gate
		return body, err
	}}
	dir, registry := t.TempDir(), prometheus.NewPedanticRegistry()
	g := mustGateway(t, gateway.Options{Dir: dir, Registerer: registry})
	done := make(chan error)
	c := client(t, grantOf(t, g, "one", slow))
	go func() {
		got, err := get(t.Context(), c, "a.parquet", "")
		if err == nil && string(got) != string(text(300)) {
			err = io.ErrUnexpectedEOF
		}
		done <- err
	}()
	<-begun
	g.Forget(func(string, string) bool { return true })
	close(gate)
	require.NoError(t, <-done)
	require.NoError(t, g.Close())
	bytes := counters(t, registry, "lakewarden_gateway_cache_bytes")
	require.Zero(t, bytes["memory"])
	require.Zero(t, bytes["disk"])
}

// TestBlocksOfObjectsThatOthersDeleteEnd: a description is believed for five minutes; then the
// missing object is found out, and what nobody asks for expires.
func TestBlocksOfObjectsThatOthersDeleteEnd(t *testing.T) {
	counted, inner, reads := countedStore(t)
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	dir, registry := t.TempDir(), prometheus.NewPedanticRegistry()
	g := mustGateway(t, gateway.Options{Dir: dir, Registerer: registry, Now: func() time.Time { return time.Unix(0, now.Load()) }})
	read := func(name string) error {
		_, err := get(t.Context(), client(t, grantOf(t, g, "one", counted)), name, "")
		return err
	}
	pass := func(d time.Duration) { now.Add(int64(d)) }
	cached := func(blocks int) {
		require.Eventually(t, func() bool {
			bytes := counters(t, registry, "lakewarden_gateway_cache_bytes")
			return bytes["memory"] == float64(blocks*300) && bytes["disk"] == float64(blocks*316)
		}, time.Minute, time.Millisecond)
		require.Len(t, blockFiles(t, dir), blocks)
	}
	require.NoError(t, read("t/a.parquet"))
	require.NoError(t, read("u/a.parquet"))
	cached(2)
	require.NoError(t, inner.Delete(t.Context(), "t/a.parquet"))
	pass(6 * time.Minute)
	require.ErrorContains(t, read("t/a.parquet"), "404")
	cached(1)
	require.NoError(t, read("u/a.parquet"))
	require.EqualValues(t, 2, reads.Load(), "from the cache")

	pass(40 * time.Minute)
	g.Expire()
	cached(1)
	pass(11 * time.Minute)
	g.Expire()
	cached(0)
}

func grantOf(t *testing.T, g *gateway.Gateway, identity string, store objstore.Bucket) *gateway.Grant {
	t.Helper()
	grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: identity, Store: store, Prefixes: []string{""}})
	require.NoError(t, err)
	t.Cleanup(grant.Begin(context.Background()))
	return grant
}

// blockFiles are the paths of cached blocks in a folder.
func blockFiles(t *testing.T, dir string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "lock" && e.Name() != "foreign" {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
