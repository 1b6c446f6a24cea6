package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCatalogIsForTheServersUserOnly(t *testing.T) {
	s := startServer(t, func(c *settings) { require.NoError(t, os.Chmod(c.DataDir, 0o755)) })
	for _, name := range []string{"catalog.db", "catalog.db-wal", "catalog.db-shm"} {
		info, err := os.Stat(filepath.Join(s.config.DataDir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}
