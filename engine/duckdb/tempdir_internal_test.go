package duckdb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTempDirsOfEndedProcessesGo(t *testing.T) {
	base := filepath.Join(t.TempDir(), "odd [name]*")
	require.NoError(t, os.Mkdir(base, 0o700))
	living, err := newTempDir(base)
	require.NoError(t, err)
	dead, err := newTempDir(base)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dead.path, "spill"), []byte("x"), 0o600))
	// A process that ends gives its locks up and cleans nothing.
	require.NoError(t, dead.lock.Close())
	foreign := filepath.Join(base, tempPrefix+"without-a-lock")
	require.NoError(t, os.Mkdir(foreign, 0o700))

	next, err := newTempDir(base)
	require.NoError(t, err)
	require.NoDirExists(t, dead.path)
	require.DirExists(t, living.path)
	require.DirExists(t, foreign)
	require.NoError(t, living.remove())
	require.NoError(t, next.remove())
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestTempDirErrors(t *testing.T) {
	_, err := newTempDir(filepath.Join(t.TempDir(), "missing"))
	require.Error(t, err)
	decoded := filepath.Join(t.TempDir(), "50%20")
	require.NoError(t, os.Mkdir(decoded, 0o700))
	_, err = newTempDir(decoded)
	require.Error(t, err)
}
