package operation_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestTwoServersOnOnePostgres is the main flow with the catalog in Postgres and
// a second server: the changes of one apply on the other.
func TestTwoServersOnOnePostgres(t *testing.T) {
	url := pgtest.URL(t)
	s := harness.Start(t, func(c *harness.Settings) {
		c.DatabaseURL = url
		c.DataDir = filepath.Join(t.TempDir(), "new") // nothing but the server makes it
		c.KeyFile = filepath.Join(c.DataDir, "keys.json")
	})
	s.Table("sales", `SELECT i AS id, 'r' || (i % 4) AS region FROM range(1000) t(i)`, []string{"region"}, column{"id", "long"},
		column{"region", "string"})
	twin := &harness.Server{T: t, Config: s.Config, Log: s.Log}
	twin.Config.DataDir = t.TempDir() // its own files; the tables are shared
	twin.Start()

	org := "/v1/organisations/" + s.Boot.OrganisationID
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	there := twin.Client(ana.Key, ana.User)
	admin := twin.Client(s.Admin.Key, s.Admin.User)
	from := s.Schema + ".sales"
	require.Equal(t, 1000.0, ana.Count(from))
	require.Equal(t, 1000.0, there.Count(from))

	within := func(what string, done func() bool) {
		t.Helper()
		harness.Within(t, what, done)
	}
	counts := func(c *harness.Client, want float64) func() bool {
		return func() bool { return c.CountsDuringChange(from, want) }
	}
	p := s.Policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	require.Equal(t, 250.0, ana.Count(from))
	within("a policy", counts(there, 250))
	admin.OK("PUT", org+"/users/"+ana.User+"/attributes", map[string]string{"region": "nowhere"})
	require.Equal(t, 0.0, there.Count(from))
	within("an attribute", counts(ana, 0))
	admin.OK("PATCH", org+"/policies/"+p["id"].(string), map[string]any{"enabled": false, "expectedVersion": 1})
	require.Equal(t, 1000.0, there.Count(from))
	within("a policy that is switched off", counts(ana, 1000))
	s.Admin.Call("PATCH", org+"/policies/"+p["id"].(string), map[string]any{"enabled": true, "expectedVersion": 1}).Problem(t, 409)

	key, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	keyThere := twin.Client(key.Key, key.User)
	within("a new key", func() bool { return keyThere.QueryDuringChange("SELECT 1").Status == 200 })
	s.Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	require.Equal(t, 401, key.Query("SELECT 1").Status)
	within("a revoked key", func() bool { return keyThere.QueryDuringChange("SELECT 1").Status == 401 })
	s.Admin.OK("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "admin"})
	within("a role", func() bool { return there.OK("GET", "/v1/me", nil)["role"] == "admin" })
	s.Table("late", `SELECT 1 AS id`, nil, column{"id", "long"})
	within("a table", func() bool { return there.QueryDuringChange("SELECT * FROM "+s.Schema+".late").Status == 200 })

	// Restart: everything is still there.
	s.Restart()
	require.Equal(t, 1000.0, s.Admin.Count(from))
	require.Len(t, s.Admin.OK("GET", org+"/policies/"+p["id"].(string)+"/history", nil)["revisions"], 2)

	// Text that Postgres cannot hold is refused or not found, never a 5xx; and
	// it does not keep the audit log from being written.
	for _, path := range []string{"/v1/tables/lake/%00/x", "/v1/tables/lake/%FF%FE/x", "/v1/tables?schema=%00", "/v1/tables/resolve/%00"} {
		r := s.Admin.Call("GET", path, nil)
		require.Less(t, r.Status, 500, "%s: %s", path, r.Body)
		require.GreaterOrEqual(t, r.Status, 400)
	}
	for _, sql := range []string{"SELECT * FROM \"a\x00b\".t", "SELECT '\x00'", "SELECT * FROM nothing.\"\u0000\""} {
		r := s.Admin.Query(sql)
		require.Less(t, r.Status, 500, "%q: %s", sql, r.Body)
	}
	r := s.Admin.Call("POST", org+"/workspaces", map[string]any{"name": "a\x00b"})
	require.Equal(t, http.StatusUnprocessableEntity, r.Status, "%s", r.Body)
	require.Equal(t, http.StatusNotFound, s.Admin.Call("GET", "/v1/tables/lake/last/one", nil, "X-Request-Id", "after-hostile").Status)
	require.Eventually(t, func() bool {
		return len(s.Admin.OK("GET", org+"/audit?request_id=after-hostile", nil)["entries"].([]any)) == 1
	}, time.Minute, 50*time.Millisecond)
}
