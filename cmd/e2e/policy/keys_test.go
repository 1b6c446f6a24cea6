package policy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestKeysAreCreatedWithPresetsAndGranularScopes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	for _, c := range []struct {
		name  string
		sent  any
		wants []string
	}{
		{"none", nil, harness.ViewerScopes},
		{"empty", []string{}, harness.ViewerScopes},
		{"read", []string{"read"}, harness.ViewerScopes},
		{"write", []string{"write"}, harness.BuilderScopes},
		{"admin", []string{"admin"}, harness.AdminScopes},
		{"granular", []string{"rows:insert", "tables:query"}, []string{"tables:query", "rows:insert"}},
		{"mixed", []string{"read", "org:update", "org:update"}, append(append([]string{}, harness.ViewerScopes...), "org:update")},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := map[string]any{"name": c.name}
			if c.sent != nil {
				body["scopes"] = c.sent
			}
			key, record := s.Admin.NewKey(body)
			require.ElementsMatch(t, c.wants, harness.ScopesOf(t, record))
			require.Regexp(t, `^lw_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$`, key.Key)
			require.Equal(t, key.Key[:11], record["key_prefix"])
			require.Equal(t, s.Boot.OrganisationID, record["organisation_id"])
			require.Equal(t, s.Boot.WorkspaceID, record["workspace_id"])
			require.Equal(t, s.Admin.User, record["user_id"])
			require.Equal(t, false, record["is_revoked"])
			require.Nil(t, record["last_used_at"])
			require.Len(t, record, 12, "the fields of the interface, the owner and all_workspaces")

			got := s.Admin.Call("GET", "/v1/api-keys/"+record["id"].(string), nil)
			require.Equal(t, http.StatusOK, got.Status)
			require.NotContains(t, string(got.Body), key.Key[12:], "the key is shown once")
			require.Equal(t, record["key_prefix"], got.JSON(t)["key_prefix"])
			require.NotContains(t, string(s.Admin.Call("GET", "/v1/api-keys", nil).Body), key.Key[12:])
			require.ElementsMatch(t, c.wants, harness.ScopesOf(t, key.OK("GET", "/v1/me", nil)), "the owner's role allows all of them")
		})
	}
	require.NotContains(t, s.Log.String(), "lw_", "no key in the log")
}

func TestKeysAreRefusedWithTheFieldAtFault(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
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
			code, fields := s.Admin.Call("POST", "/v1/api-keys", c.body).Problem(t, 422)
			require.Equal(t, "invalid_field", code)
			require.Equal(t, []string{c.field}, fields)
		})
	}
	require.Len(t, s.Admin.OK("GET", "/v1/api-keys", nil)["api_keys"], 1, "nothing was made")
}

func TestKeysExpireAsAsked(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	day := 24 * time.Hour
	for text, life := range map[string]time.Duration{"": 90 * day, "72h": 72 * time.Hour, "30d": 30 * day, "2w": 14 * day, "P7D": 7 * day,
		"PT12H": 12 * time.Hour, "366d": 366 * day, "5m1s": 301 * time.Second} {
		body := map[string]any{"name": "k", "expires_at": nil}
		if text != "" {
			body["expires_in"] = text
		}
		_, record := s.Admin.NewKey(body)
		ends, err := time.Parse(time.RFC3339, record["expires_at"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(life), ends, 10*time.Second, text)
		require.Equal(t, time.UTC, ends.Location())
	}
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	_, record := s.Admin.NewKey(map[string]any{"expires_at": at.Format(time.RFC3339)})
	require.Equal(t, at.Format(time.RFC3339), record["expires_at"])
}

// TestKeysGrantNoMoreThanTheirCreator checks that neither a role nor a key can extend its
// own rights.
func TestKeysGrantNoMoreThanTheirCreator(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	builder := s.Member("bob@acme.example", "builder", nil)
	viewer := s.Member("vic@acme.example", "viewer", nil)

	for _, scopes := range [][]string{{"admin"}, {"users:write"}, {"read", "rls_policies:write"}} {
		code, _ := builder.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "scopes": scopes}).Problem(t, 403)
		require.Equal(t, "scope_escalation", code)
	}
	code, fields := viewer.Call("POST", "/v1/api-keys", map[string]any{"name": "x"}).Problem(t, 403)
	require.Equal(t, "insufficient_scope", code, "a key makes keys only with apikeys:create")
	require.Equal(t, []string{"scope"}, fields)

	maker, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"apikeys:create", "tables:read"}})
	code, _ = maker.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "scopes": []string{"read"}}).Problem(t, 403)
	require.Equal(t, "scope_escalation", code)
	child, _ := maker.NewKey(map[string]any{"scopes": []string{"tables:read"}})
	child.Call("POST", "/v1/api-keys", map[string]any{"name": "x"}).Problem(t, 403)
	require.Equal(t, []string{"tables:read"}, harness.ScopesOf(t, child.OK("GET", "/v1/me", nil)))

	// A narrow key cannot trade a wide one for a copy that it knows.
	_, wide := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	code, _ = maker.Call("POST", "/v1/api-keys/"+wide["id"].(string)+"/rotate", nil).Problem(t, 403)
	require.Equal(t, "scope_escalation", code)
}

func TestKeysOfOthersLookMissing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	bob := s.Member("bob@acme.example", "builder", nil)
	eve := s.Member("eve@acme.example", "builder", nil)
	bobs, record := bob.NewKey(map[string]any{"name": "bob's"})
	id := record["id"].(string)
	for _, c := range []struct{ method, path string }{{"GET", id}, {"DELETE", id}, {"POST", id + "/rotate"}} {
		hidden := eve.Call(c.method, "/v1/api-keys/"+c.path, nil, "X-Request-Id", "same")
		missing := eve.Call(c.method, "/v1/api-keys/"+strings.Replace(c.path, id, uuid.NewString(), 1), nil, "X-Request-Id", "same")
		require.Equal(t, 404, hidden.Status)
		require.Equal(t, string(missing.Body), string(hidden.Body))
	}
	require.Len(t, eve.OK("GET", "/v1/api-keys", nil)["api_keys"], 1)
	code, _ := eve.Call("GET", "/v1/api-keys?all=true", nil).Problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
	require.Len(t, s.Admin.OK("GET", "/v1/api-keys?all=true", nil)["api_keys"], 4)
	require.Len(t, s.Admin.OK("GET", "/v1/api-keys", nil)["api_keys"], 1)

	require.Equal(t, id, s.Admin.OK("GET", "/v1/api-keys/"+id, nil)["id"], "an administrator sees it")
	s.Admin.Call("POST", "/v1/api-keys/"+id+"/rotate", nil).Problem(t, 404)
	require.Equal(t, true, s.Admin.OK("DELETE", "/v1/api-keys/"+id, nil)["is_revoked"])
	bobs.Query("SELECT 1").Problem(t, 401)
}

func TestKeyRevocationAndRotation(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	key, record := s.Admin.NewKey(map[string]any{"name": "old", "scopes": []string{"read", "apikeys:create"}, "expires_in": "30d"})
	path := "/v1/api-keys/" + record["id"].(string)
	require.Equal(t, 200, key.Query("SELECT 1").Status)

	// With grace both work, without only the successor does.
	rotated := s.Admin.OK("POST", path+"/rotate", map[string]any{"grace_seconds": 3600})
	next := s.Client(rotated["key"].(string), s.Admin.User)
	successor := rotated["api_key"].(map[string]any)
	require.NotEqual(t, record["id"], successor["id"])
	require.NotEqual(t, record["key_prefix"], successor["key_prefix"])
	require.Equal(t, record["scopes"], successor["scopes"])
	require.Equal(t, "old", successor["name"])
	require.Equal(t, 200, key.Query("SELECT 1").Status)
	require.Equal(t, 200, next.Query("SELECT 1").Status)
	ends, err := time.Parse(time.RFC3339, s.Admin.OK("GET", path, nil)["expires_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), ends, 10*time.Second)

	path = "/v1/api-keys/" + successor["id"].(string)
	last := s.Client(s.Admin.OK("POST", path+"/rotate", nil)["key"].(string), s.Admin.User)
	next.Query("SELECT 1").Problem(t, 401)
	require.Equal(t, 200, last.Query("SELECT 1").Status)
	for _, grace := range []int{-1, 604801} {
		_, fields := s.Admin.Call("POST", path+"/rotate", map[string]any{"grace_seconds": grace}).Problem(t, 422)
		require.Equal(t, []string{"grace_seconds"}, fields)
	}
	code, _ := s.Admin.Call("POST", path+"/rotate", nil).Problem(t, 409)
	require.Equal(t, "credential_not_usable", code)

	// Revoked: effective at once, for good, and idempotent.
	mine := last.OK("GET", "/v1/api-keys", nil)["api_keys"].([]any)
	for range 2 {
		for _, k := range mine {
			id := k.(map[string]any)["id"].(string)
			if k.(map[string]any)["key_prefix"] != s.Admin.Key[:11] {
				require.Equal(t, true, s.Admin.OK("DELETE", "/v1/api-keys/"+id, nil)["is_revoked"])
			}
		}
	}
	r := last.Query("SELECT 1")
	code, _ = r.Problem(t, 401)
	require.Equal(t, "credential_revoked", code)
	require.Contains(t, r.Header.Get("WWW-Authenticate"), "Bearer")
}

func TestAKeyLimitedToAWorkspaceReachesItAndTheDefaultOne(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("shared", `SELECT 1 AS id`, nil, column{"id", "long"})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	first := s.Admin.OK("POST", org+"/workspaces", map[string]any{"name": "first"})["id"].(string)
	second := s.Admin.OK("POST", org+"/workspaces", map[string]any{"name": "second"})["id"].(string)
	schemas := map[string]string{}
	for name, workspace := range map[string]string{"one": first, "two": second} {
		harness.WriteTable(t, s.Config.LocalRoots[0]+"/"+name+"/t", `SELECT 7 AS id`, nil, column{"id", "long"})
		body := map[string]any{"configName": name, "kind": "local", "root": name, "workspaceId": workspace}
		outside, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
		_, fields := outside.Call("POST", "/v1/storages/configs", body).Problem(t, 422)
		require.Equal(t, []string{"workspaceId"}, fields, "out of the key's reach")
		inside, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": workspace})
		schemas[name] = inside.OK("POST", "/v1/storages/configs", body)["schema"].(string)
	}
	plain, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	limited, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": first})
	require.Equal(t, first, record["workspace_id"])

	sees := func(c *harness.Client, schema, table string) bool {
		r := c.Query("SELECT count(*) FROM " + schema + "." + table)
		if r.Status == 400 {
			code, _ := r.Problem(t, 400)
			require.Equal(t, "table_not_found", code)
		}
		return r.Status == 200
	}
	for _, c := range []struct {
		who              *harness.Client
		shared, one, two bool
	}{{plain, true, false, false}, {limited, true, true, false}} {
		require.Equal(t, c.shared, sees(c.who, s.Schema, "shared"))
		require.Equal(t, c.one, sees(c.who, schemas["one"], "t"))
		require.Equal(t, c.two, sees(c.who, schemas["two"], "t"))
	}
	// A limited key creates no key with a wider reach.
	inherited, record := limited.NewKey(map[string]any{"scopes": []string{"write"}})
	require.Equal(t, first, record["workspace_id"])
	require.False(t, sees(inherited, schemas["two"], "t"))
	_, fields := inherited.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "workspace_id": second}).Problem(t, 422)
	require.Equal(t, []string{"workspace_id"}, fields)
	narrower, _ := inherited.NewKey(map[string]any{"workspace_id": s.Boot.WorkspaceID})
	require.False(t, sees(narrower, schemas["one"], "t"))
	require.True(t, sees(narrower, s.Schema, "shared"))
	_, fields = s.Member("stranger@acme.example", "builder", nil).Call("POST", "/v1/api-keys",
		map[string]any{"name": "x", "workspace_id": first}).Problem(t, 422)
	require.Equal(t, []string{"workspace_id"}, fields)
}

// TestChangesCountFromTheNextStatementOn makes each kind of change through this
// server, and through the store of another process, where a second may pass.
func TestChangesCountFromTheNextStatementOn(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Table("t", `SELECT i AS id, 'r' || (i % 2) AS region FROM range(10) t(i)`, nil, column{"id", "long"}, column{"region", "string"})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	table := s.Schema + ".t"
	count := "SELECT count(*) FROM " + table
	rows := func(c *harness.Client) any {
		r := c.Query(count)
		if r.Status != 200 {
			return r.Status
		}
		return r.JSON(t)["rows"].([]any)[0].([]any)[0]
	}
	other, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	soonCounts := func(want float64, c *harness.Client) {
		t.Helper()
		harness.Within(t, fmt.Sprintf("%v rows", want), func() bool { return c.CountsDuringChange(table, want) })
	}
	soonRefused := func(c *harness.Client) {
		t.Helper()
		harness.Within(t, "401", func() bool { return c.QueryDuringChange(count).Status == 401 })
	}
	orgID := catalog.OrgID(s.Boot.OrganisationID)

	for _, elsewhere := range []bool{false, true} {
		name := map[bool]string{false: "here", true: "elsewhere"}[elsewhere]
		ana := s.Member(name+"@acme.example", "builder", map[string]string{"region": "r0"})
		key, record := ana.NewKey(map[string]any{"scopes": []string{"write"}})
		require.Equal(t, 10.0, rows(key))
		p := s.Policy("t", "region",
			`{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":{"column":"id","op":"lt","value":6}}`)
		require.Equal(t, 3.0, rows(key))
		user, id := catalog.UserID(ana.User), catalog.PolicyID(p["id"].(string))

		// An attribute.
		if elsewhere {
			_, err = other.ReplaceAttributes(t.Context(), orgID, user, map[string]string{"region": "nowhere"})
			require.NoError(t, err)
			soonCounts(0, key)
		} else {
			s.Admin.OK("PUT", org+"/users/"+ana.User+"/attributes", map[string]string{"region": "nowhere"})
			require.Equal(t, 0.0, rows(key))
		}
		// A policy.
		if elsewhere {
			require.NoError(t, other.DeletePolicy(t.Context(), orgID, id, 1, catalog.UserID(s.Boot.UserID)))
			soonCounts(10, key)
		} else {
			s.Admin.OK("DELETE", org+"/policies/"+p["id"].(string)+"?expectedVersion=1", nil)
			require.Equal(t, 10.0, rows(key))
		}
		// A role: the key keeps its scopes, the role no longer allows them.
		require.Contains(t, harness.ScopesOf(t, key.OK("GET", "/v1/me", nil)), "tables:modify")
		if elsewhere {
			_, err = other.SetMemberRole(t.Context(), orgID, user, catalog.Role(auth.RoleViewer))
			require.NoError(t, err)
			harness.Within(t, "a role", func() bool {
				return key.Call("PATCH", "/v1/tables/lake/"+s.Schema+"/t", map[string]any{"name": "t"}).Status == 403
			})
		} else {
			s.Admin.OK("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "viewer"})
		}
		require.ElementsMatch(t, harness.ViewerScopes, harness.ScopesOf(t, key.OK("GET", "/v1/me", nil)))
		code, _ := key.Call("PATCH", "/v1/tables/lake/"+s.Schema+"/t", map[string]any{"name": "u"}).Problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
		// The key itself.
		if elsewhere {
			_, err = other.RevokeAPIKey(t.Context(), orgID, catalog.KeyID(record["id"].(string)))
			require.NoError(t, err)
			soonRefused(key)
		} else {
			s.Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
			require.Equal(t, 401, rows(key))
		}
		// Membership.
		require.Equal(t, 10.0, rows(ana))
		require.NoError(t, other.RemoveMember(t.Context(), orgID, user))
		soonRefused(ana)
	}
}

// TestSubqueriesOfChangesNeedTheScopeOfStatements checks that a key for changes of rows does not
// read other tables with the condition or the values of a change.
func TestSubqueriesOfChangesNeedTheScopeOfStatements(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("orders", nil, harness.Col("id", "long"), harness.Col("note", "string"))
	s.Create("pay", nil, harness.Col("amount", "long"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1}, object{"id": 2}))
	s.Admin.Write(s.TablePath("pay")+"/rows", harness.RowsOf(object{"amount": 7}))
	changer, _ := s.Admin.NewKey(object{"scopes": list{"rows:update", "rows:delete"}})
	reader, _ := s.Admin.NewKey(object{"scopes": list{"rows:update", "rows:delete", "tables:query"}})
	amount := "(SELECT max(amount) FROM " + s.Schema + ".pay)"
	for _, where := range []string{
		amount + " = 7", amount, "EXISTS (SELECT 1 FROM " + s.Schema + ".missing)",
		"EXISTS (SELECT 1 FROM information_schema.tables)", "id IN (SELECT id FROM " + s.Schema + ".orders)",
	} {
		for _, r := range []harness.Reply{
			changer.Call("POST", path+"/rows/delete", object{"where": where}),
			changer.Call("POST", path+"/rows/delete?dry_run=true", object{"where": where}),
			changer.Call("POST", path+"/rows/update", object{"where": where, "set": object{"note": "'x'"}}),
		} {
			code, fields := r.Problem(t, 403)
			require.Equal(t, "insufficient_scope scope", code+" "+strings.Join(fields, " "), where)
			require.Contains(t, string(r.Body), "tables:query")
		}
	}
	set := object{"where": "id = 1", "set": object{"note": "CAST(" + amount + " AS VARCHAR)"}}
	changer.Call("POST", path+"/rows/update", set).Problem(t, 403)
	reader.Write(path+"/rows/update", set)
	reader.Write(path+"/rows/delete", object{"where": "id = 2 AND " + amount + " = 7"})
	changer.Write(path+"/rows/update", object{"where": "id < 5", "set": object{"id": "id + 1"}})
	require.Equal(t, list{list{2.0, "7"}}, s.Admin.Rows("SELECT id, note FROM "+s.Schema+".orders"))
}
