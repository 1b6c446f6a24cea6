package duckdb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An attack that fails everywhere proves nothing about the sandbox.
func TestAttacksWorkWithoutTheSandbox(t *testing.T) {
	for _, a := range settingsStop {
		t.Run(a.sql, func(t *testing.T) {
			r, err := newRange(t.TempDir())
			require.NoError(t, err)
			in, err := openInstance(baseConfig())
			require.NoError(t, err)
			defer in.close()
			if a.harmless {
				require.Error(t, in.exec(at(a.sql, r.root, r.outside)), "it can be counted among the others")
				return
			}
			require.NoError(t, in.exec(at(a.sql, r.root, r.outside)))
		})
	}
}

func TestTraceSeesWhatAnAttackLeaves(t *testing.T) {
	r, err := newRange(t.TempDir())
	require.NoError(t, err)
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
