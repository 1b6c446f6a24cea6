package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// TestRemoteCommits reads a table of several commits with plain DuckDB, on disk
// and through the S3 server with and without a delay.
func TestRemoteCommits(t *testing.T) {
	cfg := peerConfig(t)
	var err error
	cfg.Versitygw, err = oracletest.Path("LAKEWARDEN_TEST_VERSITYGW", "versitygw")
	oracletest.Need(t, err)
	const commits = 12
	require.NoError(t, makeCommits(t.Context(), cfg, commits))
	log, err := filepath.Glob(filepath.Join(cfg.Data, folderCommits, "readings", "_delta_log", "*.json"))
	require.NoError(t, err)
	require.Len(t, log, commits)

	filters, err := filtersOf(filepath.Join(cfg.Data, folderCommits))
	require.NoError(t, err)
	require.Len(t, filters, 1, "those of other tables are left out")
	all := Statement{SQL: "SELECT id FROM readings"}
	ask := func(endpoint string) Answer {
		peer, err := startDuckDB(t.Context(), cfg, plainTables{
			folder: folderCommits, mode: modeScan, filters: filters, endpoint: endpoint,
		})
		require.NoError(t, err)
		answer, err := peer.Ask(t.Context(), all)
		require.NoError(t, err)
		require.NoError(t, peer.Close())
		return answer
	}
	want := ask("").Rows
	require.Equal(t, int64(commits*1000*99/100), want)

	for _, delay := range []int{0, 50} {
		store, err := openStore(t.Context(), cfg, Workload{Folder: folderCommits, Remote: &Remote{DelayMillis: delay}})
		require.NoError(t, err)
		answer := ask(store.endpoint)
		require.Equal(t, want, answer.Rows)
		// Files are read after the log, so there are at least two sequential
		// requests.
		require.Greater(t, answer.Total, 2*time.Duration(delay)*time.Millisecond)
		require.NoError(t, store.Close())
	}
	left, err := os.ReadDir(cfg.Data)
	require.NoError(t, err)
	require.Len(t, left, 1, "the S3 server leaves nothing behind")
}

func TestOpenStoreReports(t *testing.T) {
	cfg := Config{Data: t.TempDir(), Versitygw: "/missing"}
	store, err := openStore(t.Context(), cfg, Workload{})
	require.NoError(t, err)
	require.Nil(t, store, "only remote workloads have one")
	require.NoError(t, store.Close())

	_, err = openStore(t.Context(), cfg, Workload{Remote: &Remote{}})
	require.ErrorIs(t, err, os.ErrNotExist)
	left, err := os.ReadDir(cfg.Data)
	require.NoError(t, err)
	require.Empty(t, left)
}
