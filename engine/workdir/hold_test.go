package workdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/workdir"
)

func TestNamesOfDataDirectories(t *testing.T) {
	dir := t.TempDir()
	name, err := workdir.Hold(dir)
	require.NoError(t, err)
	require.NotEmpty(t, name)
	_, err = workdir.Hold(dir)
	require.ErrorIs(t, err, workdir.ErrHeld)
	other := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(other, os.DirFS(dir)))
	copied, err := workdir.Hold(other)
	require.NoError(t, err)
	require.NotEqual(t, name, copied, "a copy is another directory")
}
