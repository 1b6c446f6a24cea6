package storage_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// cachedTables are tables in an S3 store that two replicas read.
type cachedTables struct {
	replicas []*harness.Server
	config   map[string]any
	schema   string
	store    string // the folder of the bucket
}

func newCachedTables(t *testing.T) cachedTables {
	t.Helper()
	store := s3test.Start(t)
	bucket, results := store.Bucket(t), store.Bucket(t)
	replicas := harness.StartReplicas(t, 2, func(c *harness.Settings) {
		c.AllowPrivateEndpoints = true
		harness.KeepInS3(store, results)(c)
	})
	s := replicas[0]
	config := s.Admin.OK("POST", harness.ConfigsPath,
		harness.S3Body(store, bucket, map[string]any{"prefix": "/lake/", "workspaceId": s.Boot.WorkspaceID}))
	return cachedTables{replicas, config, config["schema"].(string), filepath.Dir(store.Folder(bucket))}
}

// table makes a table with a row of a secret and returns the version that has it.
func (c cachedTables) table(name, secret string) (path string, version float64) {
	s := c.replicas[0]
	s.T.Helper()
	s.Admin.OK("POST", "/v1/tables", s.NewTable(c.schema, name, nil, harness.Col("id", "BIGINT"), harness.Col("word", "VARCHAR")))
	path = "/v1/tables/lake/" + c.schema + "/" + name
	s.Admin.Write(path+"/rows", harness.RowsOf(map[string]any{"id": 1, "word": "public"}, map[string]any{"id": 2, "word": secret}))
	return path, s.Admin.Version(path)
}

// cached waits until a replica has blocks on disk, or has none at all.
func cached(t *testing.T, s *harness.Server, some bool) {
	t.Helper()
	harness.Reaches(t, []*harness.Server{s}, fmt.Sprintf("blocks on disk: %v", some), func(s *harness.Server) bool {
		entries, err := os.ReadDir(filepath.Join(s.Config.DataDir, "cache"))
		require.NoError(t, err)
		return (len(entries) > 1) == some // one is the lock
	})
	if !some {
		require.Zero(t, s.Metric(t, `lakewarden_gateway_cache_bytes{tier="memory"}`))
	}
}

// filesWith lists the files below folders that hold a text.
func filesWith(t *testing.T, text string, folders ...string) (found []string) {
	t.Helper()
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil // a running server removes files
			}
			content, err := os.ReadFile(path)
			if err == nil && bytes.Contains(content, []byte(text)) {
				found = append(found, path)
			}
			return nil
		}))
	}
	return found
}

// TestDeletedValuesLeaveEveryReplica checks that after a delete and a vacuum no replica answers
// with the deleted value, from any of its caches, and that no file holds it.
func TestDeletedValuesLeaveEveryReplica(t *testing.T) {
	t.Parallel()
	c := newCachedTables(t)
	first, second := c.replicas[0], c.replicas[1]
	secret := "zz-" + rand.Text()
	path, version := c.table("t", secret)
	// A policy makes copies of the visible rows; they are in the memory of sessions.
	first.Admin.OK("POST", "/v1/organisations/"+first.Boot.OrganisationID+"/policies", map[string]any{
		"kind": "rls", "tableFqn": "lake." + c.schema + ".t", "columnName": "id", "definition": harness.Definition(
			`{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gt","value":0}}`),
	})
	from := fmt.Sprintf("%s.t AT (VERSION => %v)", c.schema, version)
	statements := []string{
		"SELECT word FROM " + from, "SELECT upper(word) FROM " + from + " WHERE id > 1", "SELECT max(word) FROM " + from,
	}
	for _, s := range c.replicas {
		for _, sql := range statements {
			r := s.Admin.Query(sql)
			require.Equal(t, 200, r.Status, "%s", r.Body)
			require.Contains(t, strings.ToLower(string(r.Body)), strings.ToLower(secret))
		}
		cached(t, s, true)
		require.Empty(t, filesWith(t, secret, s.Config.DataDir), "blocks on disk are encrypted")
	}
	kept := second.Admin.Await(second.Admin.Start("SELECT word FROM " + from))
	require.Contains(t, string(second.Admin.Result(kept).Body), secret)
	require.NotEmpty(t, filesWith(t, secret, c.store), "the search finds the value while it is there")

	// Nobody reads the response, so its unread part is on disk.
	slow := unread(t, second, fmt.Sprintf("SELECT t.word, r.i FROM (SELECT word FROM %s) t, range(1000000) r(i)", from))

	first.Admin.OK("POST", path+"/rows/delete", map[string]any{"where": "id = 2"})
	first.Admin.OK("POST", path+"/optimize", nil)
	current := first.Admin.Await(first.Admin.Start("SELECT 'other' AS word FROM " + c.schema + ".t"))
	first.Admin.OK("POST", path+"/vacuum", map[string]any{"retention_hours": 0, "enforce_retention_duration": false})

	gone := func(s *harness.Server) bool {
		for _, sql := range statements {
			if r := s.Admin.Query(sql); r.Status != http.StatusConflict || bytes.Contains(r.Body, []byte(secret)) {
				return false
			}
		}
		return true
	}
	require.True(t, gone(first), "as soon as the vacuum has ended")
	harness.Reaches(t, c.replicas, "the value is gone", gone)
	code, _ := second.Admin.Query(statements[0]).Problem(t, http.StatusConflict)
	require.Equal(t, "data_file_missing", code)
	harness.Reaches(t, c.replicas, "the stored result is gone", func(s *harness.Server) bool {
		status := s.Admin.Result(kept).Status
		return status == http.StatusNotFound
	})
	require.Equal(t, 200, second.Admin.Result(current).Status, "a result of the version that is kept stays")
	_, err := io.Copy(io.Discard, slow)
	require.Error(t, err, "a response of the deleted rows does not reach its end")
	for _, s := range c.replicas {
		require.EqualValues(t, 1, s.Admin.Count(c.schema+".t"))
		require.Empty(t, filesWith(t, secret, s.Config.DataDir))
	}
	for _, name := range filesWith(t, secret, c.store) {
		require.Contains(t, name, "_delta_log", "only statistics of older commits remain")
	}
}

// unread returns the body of a statement's response, of which the first bytes have arrived.
func unread(t *testing.T, s *harness.Server, sql string) io.Reader {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.URL+"/v1/query", strings.NewReader(fmt.Sprintf("{%q: %q}", "sql", sql)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.Admin.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", harness.Ndjson)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	first := make([]byte, 1000)
	_, err = io.ReadFull(resp.Body, first)
	require.Equal(t, 200, resp.StatusCode, "%s", first)
	require.NoError(t, err)
	return resp.Body
}

// TestPurgedAndMovedFilesLeaveEveryReplica checks that a purge and a move empty the caches of
// blocks on all replicas.
func TestPurgedAndMovedFilesLeaveEveryReplica(t *testing.T) {
	t.Parallel()
	c := newCachedTables(t)
	first := c.replicas[0]
	read := func(schema, name string) {
		for _, s := range c.replicas {
			require.EqualValues(t, 2, s.Admin.Count(schema+"."+name))
			s.Admin.Rows("SELECT * FROM " + schema + "." + name)
			cached(t, s, true)
		}
	}
	emptied := func() {
		for _, s := range c.replicas {
			cached(t, s, false)
		}
	}
	path, _ := c.table("purged", "x")
	read(c.schema, "purged")
	first.Admin.OK("DELETE", path+"?purge=true", nil)
	emptied()

	c.table("moved", "x")
	read(c.schema, "moved")
	local := first.Admin.OK("POST", harness.ConfigsPath, map[string]any{
		"configName": "local", "kind": "local", "root": "moved-here", "workspaceId": c.config["workspaceId"],
	})
	first.Admin.OK("POST", movePath, map[string]any{
		"sourceConfigId": c.config["configId"], "sourcePath": "", "destinationConfigId": local["configId"], "destinationPath": "",
	})
	emptied()
	for _, s := range c.replicas {
		require.EqualValues(t, 2, s.Admin.Count(local["schema"].(string)+".moved"))
	}
}
