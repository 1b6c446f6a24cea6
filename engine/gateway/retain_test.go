package gateway_test

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// TestBlocksOfForgottenStoresGo from memory and disk, also those that an earlier
// process wrote; those of other stores stay.
func TestBlocksOfForgottenStoresGo(t *testing.T) {
	inner := mem.New()
	mustPut(t, inner, "a.parquet", text(300))
	var reads atomic.Int32
	counted := &store{Bucket: inner, getRange: func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
		reads.Add(1)
		return inner.GetRange(ctx, name, offset, length)
	}}
	dir := t.TempDir()
	registry := prometheus.NewPedanticRegistry()
	g := mustGateway(t, gateway.Options{BlockBytes: 1000, Dir: dir, Registerer: registry})
	read := func(g *gateway.Gateway, identity string) (fromStore int32) {
		before := reads.Load()
		got, err := get(t.Context(), client(t, grantOf(t, g, identity, counted)), "a.parquet", "")
		require.NoError(t, err)
		require.Equal(t, string(text(300)), string(got))
		return reads.Load() - before
	}
	for _, identity := range []string{"kept", "gone"} {
		require.EqualValues(t, 1, read(g, identity))
		require.Zero(t, read(g, identity))
	}
	g.Retain([]string{"kept"})
	require.EqualValues(t, 300, counters(t, registry, "lakewarden_gateway_cache_bytes")["memory"])
	require.Zero(t, read(g, "kept"))
	require.EqualValues(t, 1, read(g, "gone"), "nothing of it was left")
	require.NoError(t, g.Close())
	require.Len(t, blockFiles(t, dir), 2)

	later := mustGateway(t, gateway.Options{BlockBytes: 1000, Dir: dir})
	later.Retain([]string{"kept", "new"})
	require.Len(t, blockFiles(t, dir), 1)
	require.Zero(t, read(later, "kept"), "from disk")
	later.Retain(nil)
	require.Empty(t, blockFiles(t, dir))
}

func grantOf(t *testing.T, g *gateway.Gateway, identity string, store objstore.Bucket) *gateway.Grant {
	t.Helper()
	grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: identity, Store: store, Prefixes: []string{""}})
	require.NoError(t, err)
	t.Cleanup(grant.Begin(context.Background()))
	return grant
}

// blockFiles are the names of cached blocks in a folder.
func blockFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if len(e.Name()) == 64 {
			names = append(names, e.Name())
		}
	}
	return names
}
