package kill_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestDataDirectoryIsForOneServer checks that a second server refuses the data directory
// of a running one, and takes it over after the first one has ended, however it ended.
func TestDataDirectoryIsForOneServer(t *testing.T) {
	t.Parallel()
	first := harness.NewProgram(t)
	first.JSON("bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")
	server, _ := first.Serve()
	second := harness.NewProgram(t)
	second.Env = append(second.Env, "LAKEWARDEN_DATA_DIR="+filepath.Join(first.Dir, "data"))
	_, stderr, err := second.Run("serve")
	require.Error(t, err)
	require.Contains(t, stderr, "another server has this data directory")
	require.NoError(t, server.Process.Kill())
	require.Error(t, server.Wait())
	second.Serve()
}

// TestWritesOfAKilledServer checks that the next server of a data directory knows that
// writes of the killed one have ended, so that a vacuum of a local table does not wait
// for them. Requests to a store that the killed server sent may still be executed.
func TestWritesOfAKilledServer(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	k := newKilled(t, store, nil)
	server, _ := k.Serve()
	for _, table := range k.tables {
		k.beginWrite(t, table)
	}
	leases := k.OpenCatalog(t)
	org, ids := k.identities(t)
	oldest := func(i int) time.Time {
		begun, err := leases.OldestWrite(t.Context(), org, ids[i], time.Unix(0, 0))
		require.NoError(t, err)
		return begun
	}
	for i := range k.tables {
		require.Eventually(t, func() bool { return !oldest(i).IsZero() }, time.Minute, 10*time.Millisecond, "the write does not begin")
	}
	for _, table := range k.tables {
		require.NoError(t, os.WriteFile(filepath.Join(table.folder, "part-left.parquet"), []byte("x"), 0o600))
	}
	now := object{"retention_hours": 0, "enforce_retention_duration": false}
	deleted := func(i int) any { return k.Client(k.key).OK("POST", k.tables[i].path+"/vacuum", now)["filesDeleted"] }
	require.Equal(t, list{}, deleted(0), "the file of a write that goes on")
	require.NoError(t, server.Process.Kill())
	require.Error(t, server.Wait())
	require.False(t, oldest(0).IsZero(), "nobody has ended it")

	k.Serve()
	require.True(t, oldest(0).IsZero())
	require.False(t, oldest(1).IsZero())
	require.Equal(t, list{"part-left.parquet"}, deleted(0))
	require.Equal(t, list{}, deleted(1))
}

// beginWrite sends half of an insert.
func (k *killed) beginWrite(t *testing.T, table killedTable) {
	t.Helper()
	body, more := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+k.Address+table.path+"/rows", body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+k.key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if got, err := http.DefaultClient.Do(r); err == nil {
			_ = got.Body.Close()
		}
	}()
	t.Cleanup(func() {
		_ = more.Close()
		<-ended
	})
	_, err = io.Copy(more, strings.NewReader("{\"batch\":1}\n"))
	require.NoError(t, err)
}

// OpenCatalog opens the server's catalog next to the server.
func (k *killed) OpenCatalog(t *testing.T) catalog.Store {
	t.Helper()
	config := harness.DefaultSettings(t)
	config.DataDir = filepath.Join(k.Dir, "data")
	store, err := harness.OpenCatalog(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// identities are the organisation and the tables as the catalog knows them.
func (k *killed) identities(t *testing.T) (catalog.OrgID, []catalog.DeltaID) {
	t.Helper()
	admin := k.Client(k.key)
	var ids []catalog.DeltaID
	for _, table := range k.tables {
		ids = append(ids, catalog.DeltaID(admin.OK("GET", table.path, nil)["tableId"].(string)))
	}
	return catalog.OrgID(admin.OK("GET", "/v1/me", nil)["organisationId"].(string)), ids
}
