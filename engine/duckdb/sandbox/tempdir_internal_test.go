package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTempDirErrors(t *testing.T) {
	_, err := NewTempDir(filepath.Join(t.TempDir(), "missing"))
	require.Error(t, err)
	decoded := filepath.Join(t.TempDir(), "50%20")
	require.NoError(t, os.Mkdir(decoded, 0o700))
	_, err = NewTempDir(decoded)
	require.Error(t, err)
	left, err := os.ReadDir(decoded)
	require.NoError(t, err)
	require.Empty(t, left)
}
