package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// Variant is a way in which a table can be read. The suites of leaks and attacks run
// in each; the zero value is that of a new server.
type Variant struct {
	// Store "s3" puts the tables of the shared configuration into a bucket of a real
	// S3 server, read through the endpoint.
	Store string
	// Catalog "postgres" puts the catalog into a database of its own of a real Postgres.
	Catalog string
	// Copies "always" makes every statement over filtered rows read a copy.
	Copies string
	// Reading "log" makes the engine read tables through their logs, where it can,
	// instead of the server's lists of files.
	Reading string
}

// EnvironmentVariant returns the variant that the environment selects. The setting
// isolation is a part of it and applied by vary.
func EnvironmentVariant(t testing.TB) Variant {
	t.Helper()
	v := Variant{Store: os.Getenv("LAKEWARDEN_TEST_STORE"), Catalog: os.Getenv("LAKEWARDEN_TEST_CATALOG"),
		Copies: os.Getenv("LAKEWARDEN_TEST_COPIES"), Reading: os.Getenv("LAKEWARDEN_TEST_READING")}
	require.Contains(t, []string{"", "local", "s3"}, v.Store, "LAKEWARDEN_TEST_STORE")
	require.Contains(t, []string{"", "sqlite", "postgres"}, v.Catalog, "LAKEWARDEN_TEST_CATALOG")
	return v
}

// vary adapts the settings to the variant. A database of the variant is dropped at the end
// of t.
func (c *Settings) vary(t testing.TB) {
	t.Helper()
	if isolation := os.Getenv("LAKEWARDEN_TEST_ISOLATION"); isolation != "" {
		c.Isolation = isolation
	}
	if c.Store == "s3" {
		c.AllowPrivateEndpoints = true
	}
	if c.Catalog == "postgres" && c.DatabaseURL == "" {
		c.DatabaseURL = pgtest.URL(t)
	}
	if c.Reading == "log" {
		c.ReadLog = func(catalog.LocatedTable) bool { return true }
	}
	require.NoError(t, c.Verify())
}

// shareStorage makes the shared configuration. Its folder is where tests write
// tables as files, whatever store serves them.
func (s *Server) shareStorage() {
	s.T.Helper()
	body := map[string]any{"configName": "main data", "kind": "local", "root": "main", "workspaceId": s.Boot.WorkspaceID}
	s.Root = filepath.Join(s.Config.LocalRoots[0], "main")
	if s.Config.Store == "s3" {
		store := s3test.Start(s.T)
		bucket := store.Bucket(s.T)
		s.Root = store.Folder(bucket)
		body = S3Body(store, bucket, map[string]any{"configName": "main data", "workspaceId": s.Boot.WorkspaceID})
	}
	s.Schema = s.Admin.OK("POST", ConfigsPath, body)["schema"].(string)
	if s.Config.Copies == "always" {
		s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/config",
			map[string]any{"features": []any{map[string]any{"key": "row_filter_barrier_always", "enabled": true}}})
	}
}

// ReadLogOf makes the engine read one table through its log.
func ReadLogOf(name string) func(catalog.LocatedTable) bool {
	return func(t catalog.LocatedTable) bool { return t.Name == name }
}

// ForgetStore empties the cache of remote blocks: worlds put other files under
// the names of those before, which no writer of a table does.
func (s *Server) ForgetStore() {
	s.T.Helper()
	require.NoError(s.T, os.RemoveAll(filepath.Join(s.Config.DataDir, "cache")))
}
