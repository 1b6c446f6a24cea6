package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfDataDirectories(t *testing.T) {
	dir := t.TempDir()
	name, err := holdDataDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, name)
	_, err = holdDataDir(dir)
	require.ErrorIs(t, err, errHeld)
	other := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(other, os.DirFS(dir)))
	copied, err := holdDataDir(other)
	require.NoError(t, err)
	require.NotEqual(t, name, copied, "a copy is another directory")
}
