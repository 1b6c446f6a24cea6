package workdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/workdir"
)

func TestMoveIsAllOrNothing(t *testing.T) {
	for name, failing := range map[string]string{"missing": "gone", "outside": "../b", "nested": "x/y", "itself": "."} {
		t.Run(name, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			for _, name := range []string{"a", "b", "c"} {
				require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(name), 0o600))
			}
			require.Error(t, workdir.Move([]string{"a", "b", failing, "c"}, from, to))
			entries, err := os.ReadDir(to)
			require.NoError(t, err)
			require.Empty(t, entries)
			require.NoError(t, workdir.Move([]string{"c"}, from, to))
			require.FileExists(t, filepath.Join(to, "c"))
		})
	}
}
