package bench

import (
	"context"
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

// TestMovesOfRclone moves objects with rclone inside and between stores of all kinds.
func TestMovesOfRclone(t *testing.T) {
	cfg := Config{Data: t.TempDir(), Env: os.Environ(), Progress: t.Logf}
	program := func(variable, name string) string {
		path, err := oracletest.Path(variable, name)
		oracletest.Need(t, err)
		return path
	}
	cfg.Versitygw = program("LAKEWARDEN_TEST_VERSITYGW", "versitygw")
	cfg.Azurite = program("LAKEWARDEN_TEST_AZURITE", "azurite/node_modules/azurite/dist/src/blob/main.js")
	cfg.FakeGCS = program("LAKEWARDEN_TEST_FAKE_GCS", "fake-gcs-server")
	var err error
	if cfg.Rclone, err = oracletest.Path("LAKEWARDEN_TEST_RCLONE", "rclone"); err != nil {
		t.Skipf("only make bench gets rclone: %v", err)
	}
	objects := t.TempDir()
	r := &runner{cfg: cfg, workload: Workload{Move: &Move{Objects: 3, Bytes: 100, Transfers: 2}}}
	require.NoError(t, makeObjects(objects, 3, 100))
	for _, route := range []string{"s3", "azure", "gcs", "s3-azure", "azure-gcs", "gcs-s3"} {
		t.Run(route, func(t *testing.T) {
			_, err := r.moveOnce(t.Context(), objects, route, mover{peerRclone, r.moveRclone})
			require.NoError(t, err)
		})
	}
	_, err = r.moveOnce(t.Context(), objects, "s3", mover{"nobody", func(context.Context, []*objectStore) (moved, error) {
		return moved{}, nil
	}})
	require.ErrorContains(t, err, "0 objects of 0 bytes arrived and 3 were left, of 3")
	left, err := os.ReadDir(cfg.Data)
	require.NoError(t, err)
	require.Empty(t, left)
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
