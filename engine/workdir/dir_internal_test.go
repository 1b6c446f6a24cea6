package workdir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDirsOfEndedProcessesGo(t *testing.T) {
	const prefix = "some-engine-"
	base := filepath.Join(t.TempDir(), "odd [name]*")
	require.NoError(t, os.Mkdir(base, 0o700))
	living, err := New(base, prefix)
	require.NoError(t, err)
	dead, err := New(base, prefix)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dead.Path(), "spill"), []byte("x"), 0o600))
	// A process that ends gives its locks up and cleans nothing.
	require.NoError(t, dead.lock.Close())
	foreign, other := filepath.Join(base, prefix+"without-a-lock"), filepath.Join(base, "other")
	require.NoError(t, os.Mkdir(foreign, 0o700))
	require.NoError(t, os.Mkdir(other, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(other, lockName), nil, 0o600))

	next, err := New(base, prefix)
	require.NoError(t, err)
	require.NoDirExists(t, dead.Path())
	for _, dir := range []string{living.Path(), foreign, other} {
		require.DirExists(t, dir)
	}
	made, err := next.Make("x-")
	require.NoError(t, err)
	require.Equal(t, next.Path(), filepath.Dir(made))
	require.NoError(t, living.Remove())
	require.NoError(t, next.Remove())
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Len(t, left, 2)
}

func TestDirErrors(t *testing.T) {
	_, err := New(filepath.Join(t.TempDir(), "missing"), "x-")
	require.Error(t, err)
}
