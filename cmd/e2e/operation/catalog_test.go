package operation_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestTheCatalogIsForTheServersUserOnly(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { require.NoError(t, os.Chmod(c.DataDir, 0o755)) })
	for _, name := range []string{"catalog.db", "catalog.db-wal", "catalog.db-shm"} {
		info, err := os.Stat(filepath.Join(s.Config.DataDir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}
