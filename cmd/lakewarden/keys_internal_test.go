package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// newKey creates a key for the client's user and returns a client that uses it,
// with the key's record.
func (c *client) newKey(body map[string]any) (*client, map[string]any) {
	c.t.Helper()
	if body["name"] == nil {
		body["name"] = "test"
	}
	r := c.call("POST", "/v1/api-keys", body)
	require.Equal(c.t, http.StatusCreated, r.status, "%s", r.body)
	made := r.json(c.t)
	return &client{t: c.t, url: c.url, key: made["key"].(string), user: c.user}, made["api_key"].(map[string]any)
}

func scopesOf(t testing.TB, record map[string]any) []string {
	t.Helper()
	var out []string
	for _, s := range record["scopes"].([]any) {
		out = append(out, s.(string))
	}
	return out
}

var (
	viewerScopes  = []string{"org:read", "tables:read", "tables:query", "domains:read", "storage:read"}
	editorScopes  = append(append([]string{}, viewerScopes...), "rows:insert", "rows:update", "rows:delete")
	builderScopes = append(append([]string{}, editorScopes...), "tables:create", "tables:modify", "domains:write", "storage:write",
		"storage:configure", "storage_configs:share", "rls_policies:read", "apikeys:create")
	adminScopes = append(append([]string{}, builderScopes...), "rls_policies:write", "provider_apps:write", "org:update", "users:write")
)

func TestKeysAreCreatedWithPresetsAndGranularScopes(t *testing.T) {
	s := startServer(t, nil)
	for _, c := range []struct {
		name  string
		sent  any
		wants []string
	}{
		{"none", nil, viewerScopes},
		{"empty", []string{}, viewerScopes},
		{"read", []string{"read"}, viewerScopes},
		{"write", []string{"write"}, builderScopes},
		{"admin", []string{"admin"}, adminScopes},
		{"granular", []string{"rows:insert", "tables:query"}, []string{"tables:query", "rows:insert"}},
		{"mixed", []string{"read", "org:update", "org:update"}, append(append([]string{}, viewerScopes...), "org:update")},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := map[string]any{"name": c.name}
			if c.sent != nil {
				body["scopes"] = c.sent
			}
			key, record := s.admin.newKey(body)
			require.ElementsMatch(t, c.wants, scopesOf(t, record))
			require.Regexp(t, `^lw_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$`, key.key)
			require.Equal(t, key.key[:11], record["key_prefix"])
			require.Equal(t, s.boot.OrganisationID, record["organisation_id"])
			require.Equal(t, s.boot.WorkspaceID, record["workspace_id"])
			require.Equal(t, s.admin.user, record["user_id"])
			require.Equal(t, false, record["is_revoked"])
			require.Nil(t, record["last_used_at"])
			require.Len(t, record, 12, "the fields of the interface, the owner and all_workspaces")

			got := s.admin.call("GET", "/v1/api-keys/"+record["id"].(string), nil)
			require.Equal(t, http.StatusOK, got.status)
			require.NotContains(t, string(got.body), key.key[12:], "the key is shown once")
			require.Equal(t, record["key_prefix"], got.json(t)["key_prefix"])
			require.NotContains(t, string(s.admin.call("GET", "/v1/api-keys", nil).body), key.key[12:])
			require.ElementsMatch(t, c.wants, scopesOf(t, key.ok("GET", "/v1/me", nil)), "the owner's role allows all of them")
		})
	}
	require.NotContains(t, s.log.String(), "lw_", "no key in the log")
}

func TestKeysAreRefusedWithTheFieldAtFault(t *testing.T) {
	s := startServer(t, nil)
	now := time.Now()
	for _, c := range []struct {
		name  string
		body  map[string]any
		field string
	}{
		{"unknown scope", map[string]any{"scopes": []string{"tables:read", "tables:fly"}}, "scopes[1]"},
		{"empty scope", map[string]any{"scopes": []string{""}}, "scopes[0]"},
		{"upper case", map[string]any{"scopes": []string{"READ"}}, "scopes[0]"},
		{"both times", map[string]any{"expires_in": "30d", "expires_at": now.Add(time.Hour).Format(time.RFC3339)}, "expires_at"},
		{"too short", map[string]any{"expires_in": "4m59s"}, "expires_in"},
		{"too long", map[string]any{"expires_in": "367d"}, "expires_in"},
		{"negative", map[string]any{"expires_in": "-1h"}, "expires_in"},
		{"no duration", map[string]any{"expires_in": "soon"}, "expires_in"},
		{"bare P", map[string]any{"expires_in": "P"}, "expires_in"},
		{"past", map[string]any{"expires_at": now.Add(-time.Hour).Format(time.RFC3339)}, "expires_at"},
		{"far future", map[string]any{"expires_at": now.AddDate(2, 0, 0).Format(time.RFC3339)}, "expires_at"},
		{"no timestamp", map[string]any{"expires_at": "tomorrow"}, "expires_at"},
		{"empty name", map[string]any{"name": ""}, "name"},
		{"long name", map[string]any{"name": strings.Repeat("x", 101)}, "name"},
		{"control character", map[string]any{"name": "a\nb"}, "name"},
		{"unknown workspace", map[string]any{"workspace_id": uuid.NewString()}, "workspace_id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.body["name"] == nil {
				c.body["name"] = "test"
			}
			code, fields := s.admin.call("POST", "/v1/api-keys", c.body).problem(t, 422)
			require.Equal(t, "invalid_field", code)
			require.Equal(t, []string{c.field}, fields)
		})
	}
	require.Len(t, s.admin.ok("GET", "/v1/api-keys", nil)["api_keys"], 1, "nothing was made")
}

func TestKeysExpireAsAsked(t *testing.T) {
	s := startServer(t, nil)
	day := 24 * time.Hour
	for text, life := range map[string]time.Duration{"": 90 * day, "72h": 72 * time.Hour, "30d": 30 * day, "2w": 14 * day, "P7D": 7 * day, "PT12H": 12 * time.Hour, "366d": 366 * day, "5m1s": 301 * time.Second} {
		body := map[string]any{"name": "k", "expires_at": nil}
		if text != "" {
			body["expires_in"] = text
		}
		_, record := s.admin.newKey(body)
		ends, err := time.Parse(time.RFC3339, record["expires_at"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(life), ends, 10*time.Second, text)
		require.Equal(t, time.UTC, ends.Location())
	}
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	_, record := s.admin.newKey(map[string]any{"expires_at": at.Format(time.RFC3339)})
	require.Equal(t, at.Format(time.RFC3339), record["expires_at"])
}

// TestKeysGrantNoMoreThanTheirCreator: neither a role nor a key can make
// itself wider.
func TestKeysGrantNoMoreThanTheirCreator(t *testing.T) {
	s := startServer(t, nil)
	builder := s.member("bob@acme.example", "builder", nil)
	viewer := s.member("vic@acme.example", "viewer", nil)

	for _, scopes := range [][]string{{"admin"}, {"users:write"}, {"read", "rls_policies:write"}} {
		code, _ := builder.call("POST", "/v1/api-keys", map[string]any{"name": "x", "scopes": scopes}).problem(t, 403)
		require.Equal(t, "scope_escalation", code)
	}
	code, fields := viewer.call("POST", "/v1/api-keys", map[string]any{"name": "x"}).problem(t, 403)
	require.Equal(t, "insufficient_scope", code, "a key makes keys only with apikeys:create")
	require.Equal(t, []string{"scope"}, fields)

	maker, _ := s.admin.newKey(map[string]any{"scopes": []string{"apikeys:create", "tables:read"}})
	code, _ = maker.call("POST", "/v1/api-keys", map[string]any{"name": "x", "scopes": []string{"read"}}).problem(t, 403)
	require.Equal(t, "scope_escalation", code)
	child, _ := maker.newKey(map[string]any{"scopes": []string{"tables:read"}})
	child.call("POST", "/v1/api-keys", map[string]any{"name": "x"}).problem(t, 403)
	require.Equal(t, []string{"tables:read"}, scopesOf(t, child.ok("GET", "/v1/me", nil)))

	// A narrow key cannot trade a wide one for a copy that it knows.
	_, wide := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
	code, _ = maker.call("POST", "/v1/api-keys/"+wide["id"].(string)+"/rotate", nil).problem(t, 403)
	require.Equal(t, "scope_escalation", code)
}

func TestKeysOfOthersLookMissing(t *testing.T) {
	s := startServer(t, nil)
	bob := s.member("bob@acme.example", "builder", nil)
	eve := s.member("eve@acme.example", "builder", nil)
	bobs, record := bob.newKey(map[string]any{"name": "bob's"})
	id := record["id"].(string)
	for _, c := range []struct{ method, path string }{{"GET", id}, {"DELETE", id}, {"POST", id + "/rotate"}} {
		hidden := eve.call(c.method, "/v1/api-keys/"+c.path, nil, "X-Request-Id", "same")
		missing := eve.call(c.method, "/v1/api-keys/"+strings.Replace(c.path, id, uuid.NewString(), 1), nil, "X-Request-Id", "same")
		require.Equal(t, 404, hidden.status)
		require.Equal(t, string(missing.body), string(hidden.body))
	}
	require.Len(t, eve.ok("GET", "/v1/api-keys", nil)["api_keys"], 1)
	code, _ := eve.call("GET", "/v1/api-keys?all=true", nil).problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
	require.Len(t, s.admin.ok("GET", "/v1/api-keys?all=true", nil)["api_keys"], 4)
	require.Len(t, s.admin.ok("GET", "/v1/api-keys", nil)["api_keys"], 1)

	require.Equal(t, id, s.admin.ok("GET", "/v1/api-keys/"+id, nil)["id"], "an administrator sees it")
	s.admin.call("POST", "/v1/api-keys/"+id+"/rotate", nil).problem(t, 404)
	require.Equal(t, true, s.admin.ok("DELETE", "/v1/api-keys/"+id, nil)["is_revoked"])
	bobs.query("SELECT 1").problem(t, 401)
}

func TestKeyRevocationAndRotation(t *testing.T) {
	s := startServer(t, nil)
	key, record := s.admin.newKey(map[string]any{"name": "old", "scopes": []string{"read", "apikeys:create"}, "expires_in": "30d"})
	path := "/v1/api-keys/" + record["id"].(string)
	require.Equal(t, 200, key.query("SELECT 1").status)

	// With grace both work, without only the successor does.
	rotated := s.admin.ok("POST", path+"/rotate", map[string]any{"grace_seconds": 3600})
	next := s.client(rotated["key"].(string), s.admin.user)
	successor := rotated["api_key"].(map[string]any)
	require.NotEqual(t, record["id"], successor["id"])
	require.NotEqual(t, record["key_prefix"], successor["key_prefix"])
	require.Equal(t, record["scopes"], successor["scopes"])
	require.Equal(t, "old", successor["name"])
	require.Equal(t, 200, key.query("SELECT 1").status)
	require.Equal(t, 200, next.query("SELECT 1").status)
	ends, err := time.Parse(time.RFC3339, s.admin.ok("GET", path, nil)["expires_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), ends, 10*time.Second)

	path = "/v1/api-keys/" + successor["id"].(string)
	last := s.client(s.admin.ok("POST", path+"/rotate", nil)["key"].(string), s.admin.user)
	next.query("SELECT 1").problem(t, 401)
	require.Equal(t, 200, last.query("SELECT 1").status)
	for _, grace := range []int{-1, 604801} {
		_, fields := s.admin.call("POST", path+"/rotate", map[string]any{"grace_seconds": grace}).problem(t, 422)
		require.Equal(t, []string{"grace_seconds"}, fields)
	}
	code, _ := s.admin.call("POST", path+"/rotate", nil).problem(t, 409)
	require.Equal(t, "credential_not_usable", code)

	// Revoked: effective at once, for good, and idempotent.
	mine := last.ok("GET", "/v1/api-keys", nil)["api_keys"].([]any)
	for range 2 {
		for _, k := range mine {
			id := k.(map[string]any)["id"].(string)
			if k.(map[string]any)["key_prefix"] != s.admin.key[:11] {
				require.Equal(t, true, s.admin.ok("DELETE", "/v1/api-keys/"+id, nil)["is_revoked"])
			}
		}
	}
	r := last.query("SELECT 1")
	code, _ = r.problem(t, 401)
	require.Equal(t, "credential_revoked", code)
	require.Contains(t, r.header.Get("WWW-Authenticate"), "Bearer")
}

func TestAKeyLimitedToAWorkspaceReachesItAndTheDefaultOne(t *testing.T) {
	s := startServer(t, nil)
	s.table("shared", `SELECT 1 AS id`, nil, column{"id", "long"})
	org := "/v1/organisations/" + s.boot.OrganisationID
	first := s.admin.ok("POST", org+"/workspaces", map[string]any{"name": "first"})["id"].(string)
	second := s.admin.ok("POST", org+"/workspaces", map[string]any{"name": "second"})["id"].(string)
	schemas := map[string]string{}
	for name, workspace := range map[string]string{"one": first, "two": second} {
		writeTable(t, s.config.LocalRoots[0]+"/"+name+"/t", `SELECT 7 AS id`, nil, column{"id", "long"})
		body := map[string]any{"configName": name, "kind": "local", "root": name, "workspaceId": workspace}
		outside, _ := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
		_, fields := outside.call("POST", "/v1/storages/configs", body).problem(t, 422)
		require.Equal(t, []string{"workspaceId"}, fields, "out of the key's reach")
		inside, _ := s.admin.newKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": workspace})
		schemas[name] = inside.ok("POST", "/v1/storages/configs", body)["schema"].(string)
	}
	plain, _ := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
	limited, record := s.admin.newKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": first})
	require.Equal(t, first, record["workspace_id"])

	sees := func(c *client, schema, table string) bool {
		r := c.query("SELECT count(*) FROM " + schema + "." + table)
		if r.status == 400 {
			code, _ := r.problem(t, 400)
			require.Equal(t, "table_not_found", code)
		}
		return r.status == 200
	}
	for _, c := range []struct {
		who              *client
		shared, one, two bool
	}{{plain, true, false, false}, {limited, true, true, false}} {
		require.Equal(t, c.shared, sees(c.who, s.schema, "shared"))
		require.Equal(t, c.one, sees(c.who, schemas["one"], "t"))
		require.Equal(t, c.two, sees(c.who, schemas["two"], "t"))
	}
	// What a limited key makes is no wider.
	inherited, record := limited.newKey(map[string]any{"scopes": []string{"write"}})
	require.Equal(t, first, record["workspace_id"])
	require.False(t, sees(inherited, schemas["two"], "t"))
	_, fields := inherited.call("POST", "/v1/api-keys", map[string]any{"name": "x", "workspace_id": second}).problem(t, 422)
	require.Equal(t, []string{"workspace_id"}, fields)
	narrower, _ := inherited.newKey(map[string]any{"workspace_id": s.boot.WorkspaceID})
	require.False(t, sees(narrower, schemas["one"], "t"))
	require.True(t, sees(narrower, s.schema, "shared"))
	_, fields = s.member("stranger@acme.example", "builder", nil).call("POST", "/v1/api-keys", map[string]any{"name": "x", "workspace_id": first}).problem(t, 422)
	require.Equal(t, []string{"workspace_id"}, fields)
}

// TestChangesCountFromTheNextStatementOn makes each kind of change through this
// server, and through another process's store beside it, where a second may pass.
func TestChangesCountFromTheNextStatementOn(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT i AS id, 'r' || (i % 2) AS region FROM range(10) t(i)`, nil, column{"id", "long"}, column{"region", "string"})
	org := "/v1/organisations/" + s.boot.OrganisationID
	count := "SELECT count(*) FROM " + s.schema + ".t"
	rows := func(c *client) any {
		r := c.query(count)
		if r.status != 200 {
			return r.status
		}
		return r.json(t)["rows"].([]any)[0].([]any)[0]
	}
	other, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	soon := func(want any, c *client) {
		t.Helper()
		require.Eventually(t, func() bool { return rows(c) == want }, time.Second, 10*time.Millisecond, "want %v", want)
	}
	orgID := catalog.OrgID(s.boot.OrganisationID)

	for _, elsewhere := range []bool{false, true} {
		name := map[bool]string{false: "here", true: "elsewhere"}[elsewhere]
		ana := s.member(name+"@acme.example", "builder", map[string]string{"region": "r0"})
		key, record := ana.newKey(map[string]any{"scopes": []string{"write"}})
		require.Equal(t, 10.0, rows(key))
		p := s.policy("t", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":{"column":"id","op":"lt","value":6}}`)
		require.Equal(t, 3.0, rows(key))
		user, id := catalog.UserID(ana.user), catalog.PolicyID(p["id"].(string))

		// An attribute.
		if elsewhere {
			_, err = other.ReplaceAttributes(t.Context(), orgID, user, map[string]string{"region": "nowhere"})
			require.NoError(t, err)
			soon(0.0, key)
		} else {
			s.admin.ok("PUT", org+"/users/"+ana.user+"/attributes", map[string]string{"region": "nowhere"})
			require.Equal(t, 0.0, rows(key))
		}
		// A policy.
		if elsewhere {
			require.NoError(t, other.DeletePolicy(t.Context(), orgID, id, 1, catalog.UserID(s.boot.UserID)))
			soon(10.0, key)
		} else {
			s.admin.ok("DELETE", org+"/policies/"+p["id"].(string)+"?expectedVersion=1", nil)
			require.Equal(t, 10.0, rows(key))
		}
		// A role: the key keeps its scopes, the role no longer allows them.
		require.Contains(t, scopesOf(t, key.ok("GET", "/v1/me", nil)), "tables:modify")
		if elsewhere {
			_, err = other.SetMemberRole(t.Context(), orgID, user, catalog.Role(auth.RoleViewer))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return key.ok("GET", "/v1/me", nil)["role"] == "viewer" }, time.Second, 10*time.Millisecond)
		} else {
			s.admin.ok("PUT", org+"/users/"+ana.user+"/role", map[string]string{"role": "viewer"})
		}
		require.ElementsMatch(t, viewerScopes, scopesOf(t, key.ok("GET", "/v1/me", nil)))
		code, _ := key.call("PATCH", "/v1/tables/lake/"+s.schema+"/t", map[string]any{"name": "u"}).problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
		// The key itself.
		if elsewhere {
			_, err = other.RevokeAPIKey(t.Context(), orgID, catalog.KeyID(record["id"].(string)))
			require.NoError(t, err)
			soon(401, key)
		} else {
			s.admin.ok("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
			require.Equal(t, 401, rows(key))
		}
		// Membership.
		require.Equal(t, 10.0, rows(ana))
		require.NoError(t, other.RemoveMember(t.Context(), orgID, user))
		soon(401, ana)
	}
}
