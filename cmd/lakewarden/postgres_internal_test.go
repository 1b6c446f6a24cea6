package main

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
)

// TestTwoServersOnOnePostgres is the main flow with the catalog in Postgres and
// a second server beside the first: what one changes holds on the other.
func TestTwoServersOnOnePostgres(t *testing.T) {
	url := pgtest.URL(t)
	s := startServer(t, func(c *settings) {
		c.DatabaseURL = url
		c.DataDir = filepath.Join(t.TempDir(), "new") // nothing but the server makes it
		c.KeyFile = filepath.Join(c.DataDir, "keys.json")
	})
	s.table("sales", `SELECT i AS id, 'r' || (i % 4) AS region FROM range(1000) t(i)`, []string{"region"}, column{"id", "long"}, column{"region", "string"})
	twin := &testServer{t: t, config: s.config, log: s.log, logged: s.logged}
	twin.config.DataDir = t.TempDir() // its own files; the tables are shared
	twin.start()

	org := "/v1/organisations/" + s.boot.OrganisationID
	ana := s.member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	there := twin.client(ana.key, ana.user)
	admin := twin.client(s.admin.key, s.admin.user)
	from := s.schema + ".sales"
	require.Equal(t, 1000.0, ana.count(from))
	require.Equal(t, 1000.0, there.count(from))

	within := func(what string, done func() bool) {
		t.Helper()
		started := time.Now()
		require.Eventually(t, done, time.Second, 5*time.Millisecond, what)
		t.Logf("%s after %s", what, time.Since(started))
	}
	counts := func(c *client, want float64) func() bool {
		return func() bool {
			r := c.query("SELECT count(*) FROM " + from)
			return r.status == 200 && r.json(t)["rows"].([]any)[0].([]any)[0] == want
		}
	}
	p := s.policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	require.Equal(t, 250.0, ana.count(from))
	within("a policy", counts(there, 250))
	admin.ok("PUT", org+"/users/"+ana.user+"/attributes", map[string]string{"region": "nowhere"})
	require.Equal(t, 0.0, there.count(from))
	within("an attribute", counts(ana, 0))
	admin.ok("PATCH", org+"/policies/"+p["id"].(string), map[string]any{"enabled": false, "expectedVersion": 1})
	require.Equal(t, 1000.0, there.count(from))
	within("a policy that is switched off", counts(ana, 1000))
	s.admin.call("PATCH", org+"/policies/"+p["id"].(string), map[string]any{"enabled": true, "expectedVersion": 1}).problem(t, 409)

	key, record := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
	keyThere := twin.client(key.key, key.user)
	within("a new key", func() bool { return keyThere.query("SELECT 1").status == 200 })
	s.admin.ok("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	require.Equal(t, 401, key.query("SELECT 1").status)
	within("a revoked key", func() bool { return keyThere.query("SELECT 1").status == 401 })
	s.admin.ok("PUT", org+"/users/"+ana.user+"/role", map[string]string{"role": "admin"})
	within("a role", func() bool { return there.ok("GET", "/v1/me", nil)["role"] == "admin" })
	s.table("late", `SELECT 1 AS id`, nil, column{"id", "long"})
	within("a table", func() bool { return there.query("SELECT * FROM "+s.schema+".late").status == 200 })

	// Restart: everything is still there.
	s.restart()
	require.Equal(t, 1000.0, s.admin.count(from))
	require.Len(t, s.admin.ok("GET", org+"/policies/"+p["id"].(string)+"/history", nil)["revisions"], 2)

	// Text that Postgres cannot hold is refused or not found, never a 5xx; and
	// it does not keep the audit log from being written.
	for _, path := range []string{"/v1/tables/lake/%00/x", "/v1/tables/lake/%FF%FE/x", "/v1/tables?schema=%00", "/v1/tables/resolve/%00"} {
		r := s.admin.call("GET", path, nil)
		require.Less(t, r.status, 500, "%s: %s", path, r.body)
		require.GreaterOrEqual(t, r.status, 400)
	}
	for _, sql := range []string{"SELECT * FROM \"a\x00b\".t", "SELECT '\x00'", "SELECT * FROM nothing.\"\u0000\""} {
		r := s.admin.query(sql)
		require.Less(t, r.status, 500, "%q: %s", sql, r.body)
	}
	r := s.admin.call("POST", org+"/workspaces", map[string]any{"name": "a\x00b"})
	require.Equal(t, http.StatusUnprocessableEntity, r.status, "%s", r.body)
	require.Equal(t, http.StatusNotFound, s.admin.call("GET", "/v1/tables/lake/last/one", nil, "X-Request-Id", "after-hostile").status)
	require.Eventually(t, func() bool {
		return len(s.admin.ok("GET", org+"/audit?request_id=after-hostile", nil)["entries"].([]any)) == 1
	}, 5*time.Second, 50*time.Millisecond)
}
