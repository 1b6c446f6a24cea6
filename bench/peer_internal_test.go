package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// peerConfig finds Python and the extensions that `make test-deps` installs.
func peerConfig(t *testing.T) Config {
	t.Helper()
	return Config{
		Python:     oracletest.Python(t),
		Extensions: oracletest.Extensions(t),
		Data:       t.TempDir(), Scale: "0.01", Threads: runtime.NumCPU(), Env: os.Environ(), Progress: t.Logf,
	}
}

// TestPlainDuckDB creates a small data set and runs all TPC-H statements with plain
// DuckDB in its three modes, which must return the same rows.
func TestPlainDuckDB(t *testing.T) {
	cfg := peerConfig(t)
	require.NoError(t, Prepare(t.Context(), cfg, []Workload{{Kind: KindCompare}}))
	stamp, err := os.Stat(filepath.Join(cfg.Data, "complete.json"))
	require.NoError(t, err)
	require.NoError(t, Prepare(t.Context(), cfg, []Workload{{Kind: KindCompare}}))
	again, err := os.Stat(filepath.Join(cfg.Data, "complete.json"))
	require.NoError(t, err)
	require.Equal(t, stamp.ModTime(), again.ModTime(), "data that is there is not made again")

	text, err := os.ReadFile(filepath.Join(cfg.Data, "tpch.sql"))
	require.NoError(t, err)
	statements, err := ParseQueries(string(text))
	require.NoError(t, err)
	require.Len(t, statements, 22)
	filters, err := Filters()
	require.NoError(t, err)

	rows := map[string]int64{}
	for _, mode := range []string{modeScan, modeAttached, modeCopied} {
		peer, err := startDuckDB(t.Context(), cfg, plainTables{folder: folderTPCH, mode: mode, filters: filters})
		require.NoError(t, err)
		for _, st := range statements {
			answer, err := peer.Ask(t.Context(), st)
			require.NoError(t, err, st.Name)
			require.Positive(t, answer.Total)
			if mode == modeScan {
				rows[st.Name] = answer.Rows
			}
			require.Equal(t, rows[st.Name], answer.Rows, "%s, %s", st.Name, mode)
		}
		_, err = peer.Ask(t.Context(), Statement{SQL: "SELECT nothing FROM nowhere"})
		require.ErrorContains(t, err, "nowhere")
		require.NoError(t, peer.Close())
	}

	// Without the filters there are more rows.
	count := Statement{SQL: "SELECT * FROM region"}
	open, err := startDuckDB(t.Context(), cfg, plainTables{folder: folderTPCH, mode: modeScan})
	require.NoError(t, err)
	answer, err := open.Ask(t.Context(), count)
	require.NoError(t, err)
	require.Equal(t, int64(5), answer.Rows)
	require.NoError(t, open.Close())
}

func TestTableFoldersNeedsTables(t *testing.T) {
	_, err := tableFolders(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
