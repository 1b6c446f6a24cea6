package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestMembersTheirRolesAndAttributes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	bob := s.Member("bob@acme.example", "builder", nil)

	list := s.Admin.OK("GET", org+"/users", nil)["users"].([]any)
	require.Len(t, list, 3)
	require.Equal(t, 3.0, s.Admin.OK("GET", org, nil)["userCount"])
	user := s.Admin.OK("GET", org+"/users/"+ana.User, nil)
	require.Equal(t, "ana@acme.example", user["email"])
	require.Equal(t, "viewer", user["role"])
	require.Equal(t, map[string]any{"region": "r1"}, user["attributes"])
	require.NotContains(t, string(ana.Call("GET", org+"/users/"+s.Admin.User, nil).Body), "attributes",
		"who may not read policies learns no attributes")
	require.NotContains(t, string(ana.Call("GET", org+"/users", nil).Body), "r1")
	require.Equal(t, map[string]any{"region": "r1"}, bob.OK("GET", org+"/users/"+ana.User+"/attributes", nil))
	require.Equal(t, map[string]any{"region": "r1"}, ana.OK("GET", "/v1/me/attributes", nil))
	require.Equal(t, map[string]any{}, bob.OK("GET", "/v1/me/attributes", nil), "none is an empty object")
	require.Equal(t, s.Boot.OrganisationID, ana.OK("GET", "/v1/me", nil)["organisationId"])

	require.Equal(t, map[string]any{}, s.Admin.OK("PUT", org+"/users/"+ana.User+"/attributes", map[string]string{"team": "x"}))
	require.Equal(t, map[string]any{"team": "x"}, ana.OK("GET", "/v1/me/attributes", nil), "replaced, not merged")
	for name, body := range map[string]any{
		"number": map[string]any{"a": 1}, "null": map[string]any{"a": nil}, "object": map[string]any{"a": map[string]any{}},
		"empty name": map[string]any{"": "x"},
		"control":    map[string]any{"a\nb": "x"}, "long name": map[string]any{strings.Repeat("n", 1000): "x"},
		"long value": map[string]any{"a": strings.Repeat("x", 100000)},
	} {
		r := s.Admin.Call("PUT", org+"/users/"+ana.User+"/attributes", body)
		_, fields := r.Problem(t, 422)
		require.NotEmpty(t, fields, name)
	}
	require.Equal(t, map[string]any{"team": "x"}, ana.OK("GET", "/v1/me/attributes", nil))
	s.Admin.Call("PUT", org+"/users/"+uuid.NewString()+"/attributes", map[string]string{}).Problem(t, 404)

	require.Equal(t, map[string]any{}, s.Admin.OK("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "editor"}))
	require.Equal(t, "editor", ana.OK("GET", "/v1/me", nil)["role"])
	for _, role := range []string{"", "owner", "ADMIN", "root"} {
		_, fields := s.Admin.Call("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": role}).Problem(t, 422)
		require.Equal(t, []string{"role"}, fields)
	}
	code, _ := s.Admin.Call("PUT", org+"/users/"+s.Admin.User+"/role", map[string]string{"role": "viewer"}).Problem(t, 409)
	require.Equal(t, "last_admin", code)
	// Nobody grants what their credential lacks.
	narrow, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"users:write"}})
	code, _ = narrow.Call("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "admin"}).Problem(t, 403)
	require.Equal(t, "role_escalation", code)
	narrow.OK("PUT", org+"/users/"+ana.User+"/role", map[string]string{"role": "viewer"})
}

func TestOrganisationConfig(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := "/v1/organisations/" + s.Boot.OrganisationID
	feature := func(o map[string]any, key string) map[string]any {
		for _, f := range o["config"].(map[string]any)["features"].([]any) {
			if f.(map[string]any)["key"] == key {
				return f.(map[string]any)
			}
		}
		return nil
	}
	before := s.Admin.OK("GET", path, nil)
	for _, field := range []string{"id", "name", "owner", "config", "userCount", "createdAt", "updatedAt", "deletedAt"} {
		require.Contains(t, before, field)
	}
	require.Len(t, before, 8)
	require.Equal(t, s.Admin.User, before["owner"])
	require.Contains(t, before["config"], "table_constraints")
	require.Len(t, feature(before, "sandbox"), 4)
	on := s.Admin.OK("PATCH", path+"/config", map[string]any{"sandbox_enabled": true})
	require.Equal(t, true, feature(on, "sandbox")["enabled"])
	off := s.Admin.OK("PATCH", path+"/config", map[string]any{"features": []any{map[string]any{"key": "sandbox", "enabled": false}}})
	require.Equal(t, false, feature(off, "sandbox")["enabled"])
	limits := map[string]any{"require_primary_key": true, "name_pattern": "[a-z]+", "max_columns": 10.0}
	require.Equal(t, limits,
		s.Admin.OK("PATCH", path+"/config", map[string]any{"table_constraints": limits})["config"].(map[string]any)["table_constraints"])
	require.Equal(t, limits,
		s.Admin.OK("PATCH", path+"/config", map[string]any{"sandbox_enabled": true})["config"].(map[string]any)["table_constraints"],
		"what is not sent stays")
	require.Nil(t, s.Admin.OK("PATCH", path+"/config",
		map[string]any{"table_constraints": nil})["config"].(map[string]any)["table_constraints"])
	for name, body := range map[string]map[string]any{
		"unknown feature": {"features": []any{map[string]any{"key": "nope", "enabled": true}}},
		"contradiction":   {"sandbox_enabled": true, "features": []any{map[string]any{"key": "sandbox", "enabled": false}}},
		"bad pattern":     {"table_constraints": map[string]any{"name_pattern": "("}},
		"negative":        {"table_constraints": map[string]any{"max_columns": -1}},
		"not a boolean":   {"sandbox_enabled": "yes"},
	} {
		_, fields := s.Admin.Call("PATCH", path+"/config", body).Problem(t, 422)
		require.NotEmpty(t, fields, name)
	}
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/workspaces"
	ana := s.Member("ana@acme.example", "viewer", nil)
	list := s.Admin.OK("GET", base, nil)["workspaces"].([]any)
	require.Len(t, list, 1)
	require.Equal(t, true, list[0].(map[string]any)["isDefault"])
	require.Equal(t, 2.0, list[0].(map[string]any)["memberCount"])

	r := s.Admin.Call("POST", base, map[string]any{"name": "Team"})
	require.Equal(t, 201, r.Status)
	team := r.JSON(t)
	for _, field := range []string{"id", "organisationId", "name", "isDefault", "memberCount", "createdAt", "updatedAt"} {
		require.Contains(t, team, field)
	}
	path := base + "/" + team["id"].(string)
	require.Equal(t, 1.0, team["memberCount"], "its maker")
	code, fields := s.Admin.Call("POST", base, map[string]any{"name": "team"}).Problem(t, 409)
	require.Equal(t, "already_exists", code)
	require.Equal(t, []string{"name"}, fields)
	require.Equal(t, "Crew", s.Admin.OK("PATCH", path, map[string]any{"name": "Crew"})["name"])

	ana.Call("GET", path, nil).Problem(t, 404)
	require.Len(t, ana.OK("GET", base, nil)["workspaces"], 1)
	require.Equal(t, map[string]any{}, s.Admin.OK("PUT", path+"/members/"+ana.User, map[string]string{"role": "editor"}))
	require.Equal(t, "Crew", ana.OK("GET", path, nil)["name"], "her key reaches every workspace")
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	plain, err := harness.MakeKeyIn(t.Context(), store, s.Boot.OrganisationID, ana.User, s.Boot.WorkspaceID)
	require.NoError(t, err)
	s.Client(plain, ana.User).Call("GET", path, nil).Problem(t, 404) // this one does not reach it
	key, err := harness.MakeKeyIn(t.Context(), store, s.Boot.OrganisationID, ana.User, team["id"].(string))
	require.NoError(t, err)
	ana = s.Client(key, ana.User)
	require.Equal(t, "Crew", ana.OK("GET", path, nil)["name"])
	require.Len(t, ana.OK("GET", base, nil)["workspaces"], 2)
	members := ana.OK("GET", path+"/members", nil)["members"].([]any)
	require.Len(t, members, 2)
	ana.Call("PUT", path+"/members/"+ana.User, map[string]string{"role": "admin"}).Problem(t, 403)
	ana.Call("DELETE", path, nil).Problem(t, 403)
	s.Admin.Call("PUT", path+"/members/"+uuid.NewString(), map[string]string{"role": "viewer"}).Problem(t, 404)
	require.Equal(t, map[string]any{}, s.Admin.OK("DELETE", path+"/members/"+ana.User, nil))
	ana.Call("GET", path, nil).Problem(t, 404)

	inTeam, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": team["id"]})
	body := harness.LocalConfig("team data", "team")
	body["workspaceId"] = team["id"]
	config := inTeam.OK("POST", harness.ConfigsPath, body)["configId"].(string)
	code, _ = s.Admin.Call("DELETE", path, nil).Problem(t, 409)
	require.Equal(t, "workspace_in_use", code)
	inTeam.OK("DELETE", harness.ConfigsPath+"/"+config, nil)
	require.Equal(t, map[string]any{}, s.Admin.OK("DELETE", path, nil))
	s.Admin.Call("GET", path, nil).Problem(t, 404)
	code, _ = s.Admin.Call("DELETE", base+"/"+s.Boot.WorkspaceID, nil).Problem(t, 409)
	require.Equal(t, "default_workspace", code)
	code, _ = s.Admin.Call("DELETE", base+"/"+s.Boot.WorkspaceID+"/members/"+ana.User, nil).Problem(t, 409)
	require.Equal(t, "default_workspace", code)
}

// TestTheAuditLogHasEveryAllowDenyAndWrite makes one call of each outcome and
// finds it again by every filter.
func TestTheAuditLogHasEveryAllowDenyAndWrite(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Table("t", `SELECT 'hidden value' AS word`, nil, column{"word", "string"})
	ana := s.Member("ana@acme.example", "viewer", nil)
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/audit"
	entries := func(filter string) []any {
		return s.Admin.OK("GET", path+"?page_size=1000&"+filter, nil)["entries"].([]any)
	}
	from := time.Now().UTC()
	require.Equal(t, 200, ana.Call("POST", "/v1/query", map[string]any{"sql": "SELECT * FROM main_data.t WHERE word = 'hidden value'"},
		"X-Request-Id", "read-1").Status)
	ana.Call("POST", "/v1/query", map[string]any{"sql": "SELECT * FROM secret_name"}, "X-Request-Id", "fail-1").Problem(t, 400)
	ana.Call("DELETE", s.TablePath("t"), nil, "X-Request-Id", "deny-1").Problem(t, 403)
	require.Equal(t, 200, s.Admin.Call("PATCH", s.TablePath("t"), map[string]any{"name": "u"}, "X-Request-Id", "write-1").Status)
	s.Client("", "").Call("GET", "/v1/me", nil, "X-Request-Id", "nobody-1").Problem(t, 401)

	var found []any
	require.Eventually(t, func() bool {
		found = entries("request_id=write-1")
		return len(found) > 0 && len(entries("request_id=read-1")) > 0 && len(entries("request_id=deny-1")) > 0 &&
			len(entries("request_id=fail-1")) > 0
	}, time.Minute, 50*time.Millisecond)
	entry := func(id string) map[string]any { return entries("request_id=" + id)[0].(map[string]any) }
	require.Equal(t, "allow", entry("write-1")["outcome"])
	require.Equal(t, "deny", entry("deny-1")["outcome"])
	require.Equal(t, "allow", entry("read-1")["outcome"])
	require.Equal(t, "error", entry("fail-1")["outcome"])
	require.Equal(t, ana.User, entry("deny-1")["userId"])
	require.NotNil(t, entry("deny-1")["keyId"])
	all := entries("user_id=" + ana.User)
	for _, e := range all {
		require.Equal(t, ana.User, e.(map[string]any)["userId"])
	}
	require.NotEmpty(t, entries("outcome=deny"))
	require.Empty(t, entries("until="+from.Add(-time.Hour).Format(time.RFC3339)))
	require.NotEmpty(t, entries("since="+from.Add(-time.Minute).Format(time.RFC3339)))
	require.NotEmpty(t, entries("key_id="+entry("deny-1")["keyId"].(string)))
	text := string(s.Admin.Call("GET", path+"?page_size=1000", nil).Body)
	require.NotContains(t, text, "hidden value", "never values of rows")
	require.NotContains(t, text, ana.Key[12:])

	// Newest first, and pages without gaps.
	var ids []string
	token := ""
	for {
		page := s.Admin.OK("GET", path+"?page_size=2&until="+from.Add(time.Minute).Format(time.RFC3339)+"&user_id="+ana.User+"&page_token="+token,
			nil)
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
