package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// An attack that fails everywhere proves nothing about the sandbox.
func TestAttacksWorkWithoutTheSandbox(t *testing.T) {
	for _, a := range settingsStop {
		t.Run(a.sql, func(t *testing.T) { getsThrough(t, a, false) })
	}
}

func TestRemoteAttacksWorkWithoutTheSandbox(t *testing.T) {
	for _, a := range remoteStop {
		t.Run(a.sql, func(t *testing.T) { getsThrough(t, a, true) })
	}
}

// getsThrough tries a on an open instance, or on one that has the key of a
// session and nothing of its lock.
func getsThrough(t *testing.T, a attack, remote bool) {
	r, err := newRange(t.Context(), t.TempDir())
	require.NoError(t, err)
	defer r.remove()
	in, err := native.Open(native.BaseConfig())
	require.NoError(t, err)
	defer in.Close()
	if remote {
		platform, err := extension.Platform()
		require.NoError(t, err)
		dir := oracletest.Extensions(t)
		path, err := extension.Find([]string{dir}, platform, extension.Remote)
		if err != nil && os.Getenv("CI") != "true" {
			t.Skipf("the httpfs extension is needed; make extensions installs it: %v", err)
		}
		require.NoError(t, err)
		require.NoError(t, in.Exec("LOAD "+engine.QuoteString(path)))
		require.NoError(t, in.Exec(strings.Join(remoteLockdown(r.decoy.remote()), ";")))
	}
	err = in.Exec(r.at(a.sql))
	trace, traceErr := r.trace()
	require.NoError(t, traceErr)
	if a.harmless {
		require.Error(t, err, "it can be counted among the others")
		return
	}
	require.True(t, err == nil || strings.HasPrefix(trace, "/"), "%v", err)
}

func TestTraceSeesWhatAnAttackLeaves(t *testing.T) {
	r, err := newRange(t.Context(), t.TempDir())
	require.NoError(t, err)
	defer r.remove()
	trace, err := r.trace()
	require.NoError(t, err)
	require.Empty(t, trace)
	require.NoError(t, os.WriteFile(filepath.Join(r.outside, "blob"), []byte("x"), 0o600))
	trace, err = r.trace()
	require.NoError(t, err)
	require.Equal(t, "blob", trace)
	require.NoError(t, os.Remove(filepath.Join(r.outside, "blob")))
	require.NoError(t, os.WriteFile(filepath.Join(r.outside, "file.csv"), []byte("changed"), 0o600))
	trace, err = r.trace()
	require.NoError(t, err)
	require.Equal(t, "file.csv", trace)
}
