package harness

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/engine/objstore/mirrortest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// Variant is a way in which a table can be read. The suites of leaks and attacks run
// in each; the zero value is that of a new server.
type Variant struct {
	// Store "s3", "azure" or "gcs" puts the tables of the shared configuration into a
	// bucket of a real server of this kind, read through the endpoint.
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
	require.Contains(t, []string{"", "local", "s3", mirrortest.Azure, mirrortest.GCS}, v.Store, "LAKEWARDEN_TEST_STORE")
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
	if c.remote() {
		c.AllowPrivateEndpoints = true
	}
	if c.mirrored() {
		// The first request after tables were written as files waits until the bucket has them.
		c.StoreTimeout = max(c.StoreTimeout, time.Minute)
	}
	if c.Catalog == "postgres" && c.DatabaseURL == "" {
		c.DatabaseURL = pgtest.URL(t)
	}
	if c.Reading == "log" {
		c.ReadLog = func(catalog.LocatedTable) bool { return true }
	}
	require.NoError(t, c.Verify())
}

// remote reports whether the shared configuration is that of a remote store.
func (v Variant) remote() bool { return v.Store != "" && v.Store != "local" }

// mirrored reports whether the shared configuration is that of a bucket which follows a folder.
func (v Variant) mirrored() bool { return v.Store == mirrortest.Azure || v.Store == mirrortest.GCS }

// shareStorage makes the shared configuration. Its folder is where tests write
// tables as files, whatever store serves them.
func (s *Server) shareStorage() {
	s.T.Helper()
	var body map[string]any
	switch s.Config.Store {
	case "s3":
		store := s3test.Start(s.T)
		bucket := store.Bucket(s.T)
		s.Root = store.Folder(bucket)
		body = S3Body(store, bucket, nil)
	case mirrortest.Azure, mirrortest.GCS:
		bucket := mirrortest.Open(s.T, s.Config.Store)
		s.Root, body = bucket.Folder, bucket.Body
	default:
		s.Root = filepath.Join(s.Config.LocalRoots[0], "main")
		body = map[string]any{"kind": "local", "root": "main"}
	}
	body["configName"], body["workspaceId"] = "main data", s.Boot.WorkspaceID
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

// ForgetStore deletes the cache of remote blocks. Tests of two worlds replace files under
// the same names, which no writer of a table does.
func (s *Server) ForgetStore() {
	s.T.Helper()
	require.NoError(s.T, os.RemoveAll(filepath.Join(s.Config.DataDir, "cache")))
}
