package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// The suites of leaks and attacks run in every way in which a table can be read.
// These variables choose one; without them it is what a new server does.
const (
	// variantStore "s3" puts the tables of the shared configuration into a bucket
	// of a real S3 server, read through the endpoint.
	variantStore = "LAKEWARDEN_TEST_STORE"
	// variantIsolation is the setting isolation.
	variantIsolation = "LAKEWARDEN_TEST_ISOLATION"
	// variantCopies "always" makes every statement over filtered rows read a copy.
	variantCopies = "LAKEWARDEN_TEST_COPIES"
	// variantReading "log" makes the engine read tables through their logs, where it can,
	// instead of the server's lists of files.
	variantReading = "LAKEWARDEN_TEST_READING"
)

// vary changes the settings of a test server to those of the variant.
func vary(t testing.TB, c *Config) {
	t.Helper()
	if isolation := os.Getenv(variantIsolation); isolation != "" {
		c.Isolation = isolation
	}
	if inS3(t) {
		c.AllowPrivateEndpoints = true
	}
	if os.Getenv(variantReading) == "log" {
		c.readLog = func(catalog.LocatedTable) bool { return true }
	}
	require.NoError(t, c.Verify())
}

func inS3(t testing.TB) bool {
	t.Helper()
	store := os.Getenv(variantStore)
	require.Contains(t, []string{"", "local", "s3"}, store, variantStore)
	return store == "s3"
}

// shareStorage makes the shared configuration. Its folder is where tests write
// tables as files, whatever store serves them.
func (s *testServer) shareStorage() {
	s.t.Helper()
	body := map[string]any{"configName": "main data", "kind": "local", "root": "main", "workspaceId": s.boot.WorkspaceID}
	s.root = filepath.Join(s.config.LocalRoots[0], "main")
	if inS3(s.t) {
		store := s3test.Start(s.t)
		bucket := store.Bucket(s.t)
		s.root = store.Folder(bucket)
		body = s3Body(store, bucket, map[string]any{"configName": "main data", "workspaceId": s.boot.WorkspaceID})
	}
	s.schema = s.admin.ok("POST", configsPath, body)["schema"].(string)
	if os.Getenv(variantCopies) == "always" {
		s.admin.ok("PATCH", "/v1/organisations/"+s.boot.OrganisationID+"/config",
			map[string]any{"features": []any{map[string]any{"key": "row_filter_barrier_always", "enabled": true}}})
	}
}

// readLogOf makes the engine read one table through its log.
func readLogOf(name string) func(catalog.LocatedTable) bool {
	return func(t catalog.LocatedTable) bool { return t.Name == name }
}

// forgetStore empties the cache of remote blocks: worlds put other files under
// the names of those before, which no writer of a table does.
func (s *testServer) forgetStore() {
	s.t.Helper()
	require.NoError(s.t, os.RemoveAll(filepath.Join(s.config.DataDir, "cache")))
}
