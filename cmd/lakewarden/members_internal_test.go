package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestMembersTheirRolesAndAttributes(t *testing.T) {
	s := startServer(t, nil)
	org := "/v1/organisations/" + s.boot.OrganisationID
	ana := s.member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	bob := s.member("bob@acme.example", "builder", nil)

	list := s.admin.ok("GET", org+"/users", nil)["users"].([]any)
	require.Len(t, list, 3)
	require.Equal(t, 3.0, s.admin.ok("GET", org, nil)["userCount"])
	user := s.admin.ok("GET", org+"/users/"+ana.user, nil)
	require.Equal(t, "ana@acme.example", user["email"])
	require.Equal(t, "viewer", user["role"])
	require.Equal(t, map[string]any{"region": "r1"}, user["attributes"])
	require.NotContains(t, string(ana.call("GET", org+"/users/"+s.admin.user, nil).body), "attributes", "who may not read policies learns no attributes")
	require.NotContains(t, string(ana.call("GET", org+"/users", nil).body), "r1")
	require.Equal(t, map[string]any{"region": "r1"}, bob.ok("GET", org+"/users/"+ana.user+"/attributes", nil))
	require.Equal(t, map[string]any{"region": "r1"}, ana.ok("GET", "/v1/me/attributes", nil))
	require.Equal(t, map[string]any{}, bob.ok("GET", "/v1/me/attributes", nil), "none is an empty object")
	require.Equal(t, s.boot.OrganisationID, ana.ok("GET", "/v1/me", nil)["organisationId"])

	require.Equal(t, map[string]any{}, s.admin.ok("PUT", org+"/users/"+ana.user+"/attributes", map[string]string{"team": "x"}))
	require.Equal(t, map[string]any{"team": "x"}, ana.ok("GET", "/v1/me/attributes", nil), "replaced, not merged")
	for name, body := range map[string]any{
		"number": map[string]any{"a": 1}, "null": map[string]any{"a": nil}, "object": map[string]any{"a": map[string]any{}}, "empty name": map[string]any{"": "x"},
		"control": map[string]any{"a\nb": "x"}, "long name": map[string]any{strings.Repeat("n", 1000): "x"}, "long value": map[string]any{"a": strings.Repeat("x", 100000)},
	} {
		r := s.admin.call("PUT", org+"/users/"+ana.user+"/attributes", body)
		_, fields := r.problem(t, 422)
		require.NotEmpty(t, fields, name)
	}
	require.Equal(t, map[string]any{"team": "x"}, ana.ok("GET", "/v1/me/attributes", nil))
	s.admin.call("PUT", org+"/users/"+uuid.NewString()+"/attributes", map[string]string{}).problem(t, 404)

	require.Equal(t, map[string]any{}, s.admin.ok("PUT", org+"/users/"+ana.user+"/role", map[string]string{"role": "editor"}))
	require.Equal(t, "editor", ana.ok("GET", "/v1/me", nil)["role"])
	for _, role := range []string{"", "owner", "ADMIN", "root"} {
		_, fields := s.admin.call("PUT", org+"/users/"+ana.user+"/role", map[string]string{"role": role}).problem(t, 422)
		require.Equal(t, []string{"role"}, fields)
	}
	code, _ := s.admin.call("PUT", org+"/users/"+s.admin.user+"/role", map[string]string{"role": "viewer"}).problem(t, 409)
	require.Equal(t, "last_admin", code)
	// Nobody grants above themselves, nor rules who stands above.
	narrow, _ := s.admin.newKey(map[string]any{"scopes": []string{"users:write"}})
	narrow.ok("PUT", org+"/users/"+ana.user+"/role", map[string]string{"role": "admin"})
}

func TestOrganisationConfig(t *testing.T) {
	s := startServer(t, nil)
	path := "/v1/organisations/" + s.boot.OrganisationID
	feature := func(o map[string]any, key string) map[string]any {
		for _, f := range o["config"].(map[string]any)["features"].([]any) {
			if f.(map[string]any)["key"] == key {
				return f.(map[string]any)
			}
		}
		return nil
	}
	before := s.admin.ok("GET", path, nil)
	for _, field := range []string{"id", "name", "owner", "config", "userCount", "createdAt", "updatedAt", "deletedAt"} {
		require.Contains(t, before, field)
	}
	require.Len(t, before, 8)
	require.Equal(t, s.admin.user, before["owner"])
	require.Contains(t, before["config"], "table_constraints")
	require.Len(t, feature(before, "sandbox"), 4)
	on := s.admin.ok("PATCH", path+"/config", map[string]any{"sandbox_enabled": true})
	require.Equal(t, true, feature(on, "sandbox")["enabled"])
	off := s.admin.ok("PATCH", path+"/config", map[string]any{"features": []any{map[string]any{"key": "sandbox", "enabled": false}}})
	require.Equal(t, false, feature(off, "sandbox")["enabled"])
	limits := map[string]any{"require_primary_key": true, "name_pattern": "[a-z]+", "max_columns": 10.0}
	require.Equal(t, limits, s.admin.ok("PATCH", path+"/config", map[string]any{"table_constraints": limits})["config"].(map[string]any)["table_constraints"])
	require.Equal(t, limits, s.admin.ok("PATCH", path+"/config", map[string]any{"sandbox_enabled": true})["config"].(map[string]any)["table_constraints"], "what is not sent stays")
	require.Nil(t, s.admin.ok("PATCH", path+"/config", map[string]any{"table_constraints": nil})["config"].(map[string]any)["table_constraints"])
	for name, body := range map[string]map[string]any{
		"unknown feature": {"features": []any{map[string]any{"key": "nope", "enabled": true}}},
		"contradiction":   {"sandbox_enabled": true, "features": []any{map[string]any{"key": "sandbox", "enabled": false}}},
		"bad pattern":     {"table_constraints": map[string]any{"name_pattern": "("}},
		"negative":        {"table_constraints": map[string]any{"max_columns": -1}},
		"not a boolean":   {"sandbox_enabled": "yes"},
	} {
		_, fields := s.admin.call("PATCH", path+"/config", body).problem(t, 422)
		require.NotEmpty(t, fields, name)
	}
}

func TestWorkspaces(t *testing.T) {
	s := startServer(t, nil)
	base := "/v1/organisations/" + s.boot.OrganisationID + "/workspaces"
	ana := s.member("ana@acme.example", "viewer", nil)
	list := s.admin.ok("GET", base, nil)["workspaces"].([]any)
	require.Len(t, list, 1)
	require.Equal(t, true, list[0].(map[string]any)["isDefault"])
	require.Equal(t, 2.0, list[0].(map[string]any)["memberCount"])

	r := s.admin.call("POST", base, map[string]any{"name": "Team"})
	require.Equal(t, 201, r.status)
	team := r.json(t)
	for _, field := range []string{"id", "organisationId", "name", "isDefault", "memberCount", "createdAt", "updatedAt"} {
		require.Contains(t, team, field)
	}
	path := base + "/" + team["id"].(string)
	require.Equal(t, 1.0, team["memberCount"], "its maker")
	code, fields := s.admin.call("POST", base, map[string]any{"name": "team"}).problem(t, 409)
	require.Equal(t, "already_exists", code)
	require.Equal(t, []string{"name"}, fields)
	require.Equal(t, "Crew", s.admin.ok("PATCH", path, map[string]any{"name": "Crew"})["name"])

	ana.call("GET", path, nil).problem(t, 404)
	require.Len(t, ana.ok("GET", base, nil)["workspaces"], 1)
	require.Equal(t, map[string]any{}, s.admin.ok("PUT", path+"/members/"+ana.user, map[string]string{"role": "editor"}))
	require.Equal(t, "Crew", ana.ok("GET", path, nil)["name"], "her key reaches every workspace")
	store, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	plain, err := makeKeyIn(t.Context(), store, s.boot.OrganisationID, ana.user, s.boot.WorkspaceID)
	require.NoError(t, err)
	s.client(plain, ana.user).call("GET", path, nil).problem(t, 404) // this one does not reach it
	key, err := makeKeyIn(t.Context(), store, s.boot.OrganisationID, ana.user, team["id"].(string))
	require.NoError(t, err)
	ana = s.client(key, ana.user)
	require.Equal(t, "Crew", ana.ok("GET", path, nil)["name"])
	require.Len(t, ana.ok("GET", base, nil)["workspaces"], 2)
	members := ana.ok("GET", path+"/members", nil)["members"].([]any)
	require.Len(t, members, 2)
	ana.call("PUT", path+"/members/"+ana.user, map[string]string{"role": "admin"}).problem(t, 403)
	ana.call("DELETE", path, nil).problem(t, 403)
	s.admin.call("PUT", path+"/members/"+uuid.NewString(), map[string]string{"role": "viewer"}).problem(t, 404)
	require.Equal(t, map[string]any{}, s.admin.ok("DELETE", path+"/members/"+ana.user, nil))
	ana.call("GET", path, nil).problem(t, 404)

	inTeam, _ := s.admin.newKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": team["id"]})
	body := local("team data", "team")
	body["workspaceId"] = team["id"]
	config := inTeam.ok("POST", configsPath, body)["configId"].(string)
	code, _ = s.admin.call("DELETE", path, nil).problem(t, 409)
	require.Equal(t, "workspace_in_use", code)
	inTeam.ok("DELETE", configsPath+"/"+config, nil)
	require.Equal(t, map[string]any{}, s.admin.ok("DELETE", path, nil))
	s.admin.call("GET", path, nil).problem(t, 404)
	code, _ = s.admin.call("DELETE", base+"/"+s.boot.WorkspaceID, nil).problem(t, 409)
	require.Equal(t, "default_workspace", code)
	code, _ = s.admin.call("DELETE", base+"/"+s.boot.WorkspaceID+"/members/"+ana.user, nil).problem(t, 409)
	require.Equal(t, "default_workspace", code)
}

// TestTheAuditLogHasEveryAllowDenyAndWrite makes one call of each outcome and
// finds it again by every filter.
func TestTheAuditLogHasEveryAllowDenyAndWrite(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT 'hidden value' AS word`, nil, column{"word", "string"})
	ana := s.member("ana@acme.example", "viewer", nil)
	path := "/v1/organisations/" + s.boot.OrganisationID + "/audit"
	entries := func(filter string) []any {
		return s.admin.ok("GET", path+"?page_size=1000&"+filter, nil)["entries"].([]any)
	}
	from := time.Now().UTC()
	require.Equal(t, 200, ana.call("POST", "/v1/query", map[string]any{"sql": "SELECT * FROM main_data.t WHERE word = 'hidden value'"}, "X-Request-Id", "read-1").status)
	ana.call("POST", "/v1/query", map[string]any{"sql": "SELECT * FROM secret_name"}, "X-Request-Id", "fail-1").problem(t, 400)
	ana.call("DELETE", s.tablePath("t"), nil, "X-Request-Id", "deny-1").problem(t, 403)
	require.Equal(t, 200, s.admin.call("PATCH", s.tablePath("t"), map[string]any{"name": "u"}, "X-Request-Id", "write-1").status)
	s.client("", "").call("GET", "/v1/me", nil, "X-Request-Id", "nobody-1").problem(t, 401)

	var found []any
	require.Eventually(t, func() bool {
		found = entries("request_id=write-1")
		return len(found) > 0 && len(entries("request_id=read-1")) > 0 && len(entries("request_id=deny-1")) > 0 && len(entries("request_id=fail-1")) > 0
	}, 5*time.Second, 50*time.Millisecond)
	entry := func(id string) map[string]any { return entries("request_id=" + id)[0].(map[string]any) }
	require.Equal(t, "allow", entry("write-1")["outcome"])
	require.Equal(t, "deny", entry("deny-1")["outcome"])
	require.Equal(t, "allow", entry("read-1")["outcome"])
	require.Equal(t, "error", entry("fail-1")["outcome"])
	require.Equal(t, ana.user, entry("deny-1")["userId"])
	require.NotNil(t, entry("deny-1")["keyId"])
	all := entries("user_id=" + ana.user)
	for _, e := range all {
		require.Equal(t, ana.user, e.(map[string]any)["userId"])
	}
	require.NotEmpty(t, entries("outcome=deny"))
	require.Empty(t, entries("until="+from.Add(-time.Hour).Format(time.RFC3339)))
	require.NotEmpty(t, entries("since="+from.Add(-time.Minute).Format(time.RFC3339)))
	require.NotEmpty(t, entries("key_id="+entry("deny-1")["keyId"].(string)))
	text := string(s.admin.call("GET", path+"?page_size=1000", nil).body)
	require.NotContains(t, text, "hidden value", "never values of rows")
	require.NotContains(t, text, ana.key[12:])

	// Newest first, and pages without gaps.
	var ids []string
	token := ""
	for {
		page := s.admin.ok("GET", path+"?page_size=2&until="+from.Add(time.Minute).Format(time.RFC3339)+"&user_id="+ana.user+"&page_token="+token, nil)
		for _, e := range page["entries"].([]any) {
			ids = append(ids, e.(map[string]any)["id"].(string))
		}
		next, more := page["nextPageToken"].(string)
		if !more {
			break
		}
		token = next
	}
	require.Len(t, ids, len(all))
}
