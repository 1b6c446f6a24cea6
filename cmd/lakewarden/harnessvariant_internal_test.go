package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// Variant is a way in which a table can be read. The suites of leaks and attacks run
// in each; the zero value is that of a new server.
type Variant struct {
	// Store "s3" puts the tables of the shared configuration into a bucket of a real
	// S3 server, read through the endpoint.
	Store string
	// Copies "always" makes every statement over filtered rows read a copy.
	Copies string
	// Reading "log" makes the engine read tables through their logs, where it can,
	// instead of the server's lists of files.
	Reading string
}

// variantOfEnvironment returns the variant that the environment selects. The setting
// isolation is a part of it and applied by vary.
func variantOfEnvironment(t testing.TB) Variant {
	t.Helper()
	v := Variant{Store: os.Getenv("LAKEWARDEN_TEST_STORE"), Copies: os.Getenv("LAKEWARDEN_TEST_COPIES"), Reading: os.Getenv("LAKEWARDEN_TEST_READING")}
	require.Contains(t, []string{"", "local", "s3"}, v.Store, "LAKEWARDEN_TEST_STORE")
	return v
}

// vary adapts the settings to the variant.
func (c *settings) vary(t testing.TB) {
	t.Helper()
	if isolation := os.Getenv("LAKEWARDEN_TEST_ISOLATION"); isolation != "" {
		c.Isolation = isolation
	}
	if c.Store == "s3" {
		c.AllowPrivateEndpoints = true
	}
	if c.Reading == "log" {
		c.ReadLog = func(catalog.LocatedTable) bool { return true }
	}
	require.NoError(t, c.Verify())
}

// shareStorage makes the shared configuration. Its folder is where tests write
// tables as files, whatever store serves them.
func (s *testServer) shareStorage() {
	s.t.Helper()
	body := map[string]any{"configName": "main data", "kind": "local", "root": "main", "workspaceId": s.boot.WorkspaceID}
	s.root = filepath.Join(s.config.LocalRoots[0], "main")
	if s.config.Store == "s3" {
		store := s3test.Start(s.t)
		bucket := store.Bucket(s.t)
		s.root = store.Folder(bucket)
		body = s3Body(store, bucket, map[string]any{"configName": "main data", "workspaceId": s.boot.WorkspaceID})
	}
	s.schema = s.admin.ok("POST", configsPath, body)["schema"].(string)
	if s.config.Copies == "always" {
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
