package main

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

const remoteBucket = "cfg-remote"

// mustRemote is an engine whose sessions may name store as remoteBucket.
func mustRemote(tb testing.TB, store objstore.Bucket, opts gateway.Options) engine.Engine {
	tb.Helper()
	dir := os.Getenv("LAKEWARDEN_EXTENSION_DIR")
	if dir == "" {
		dir = "../../bin/extensions"
	}
	inner, err := duckdb.New(context.Background(), duckdb.Options{ExtensionDirs: []string{dir}, TempDir: tb.TempDir()})
	if err != nil && os.Getenv("CI") != "true" {
		tb.Skipf("the extensions are needed; make extensions installs them: %v", err)
	}
	require.NoError(tb, err)
	g, err := gateway.New(opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, g.Close()) })
	return gateway.NewEngine(inner, g, func(_ context.Context, _, bucket string) (gateway.Location, error) {
		return gateway.Location{Bucket: bucket, Identity: bucket, Store: store, Prefixes: []string{""}}, nil
	})
}

func TestRemoteConformance(t *testing.T) {
	enginetest.RunRemote(t, func(tb testing.TB, dir string) (engine.Engine, string) {
		store, err := file.New(dir)
		require.NoError(tb, err)
		return mustRemote(tb, store, gateway.Options{}), gateway.Root(remoteBucket)
	})
}
