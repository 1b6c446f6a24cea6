package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// space is a workspace with one table t of its own.
type space struct{ id, schema string }

// newWorkspace makes a workspace with a storage configuration and a table in it.
func newWorkspace(s *harness.Server, name string) space {
	s.T.Helper()
	id := s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/workspaces", map[string]any{"name": name})["id"].(string)
	harness.WriteTable(s.T, s.Config.LocalRoots[0]+"/"+name+"/t", `SELECT 7 AS id`, nil, column{"id", "long"})
	config := s.Admin.OK("POST", "/v1/storages/configs", map[string]any{"configName": name, "kind": "local", "root": name, "workspaceId": id})
	return space{id, config["schema"].(string)}
}

// reaches reports whether a caller sees the table of a workspace, and requires
// that every route agrees.
func reaches(c *harness.Client, s space) bool {
	c.T.Helper()
	seen := c.Query("SELECT id FROM "+s.schema+".t").Status == 200
	listed := func(path, list, field, want string) bool {
		for _, item := range c.OK("GET", path, nil)[list].([]any) {
			if item.(map[string]any)[field] == want {
				return true
			}
		}
		return false
	}
	require.Equal(c.T, seen, listed("/v1/storages/configs", "configs", "schema", s.schema), "configurations")
	require.Equal(c.T, seen, listed("/v1/tables", "tables", "schema", s.schema), "tables")
	require.Equal(c.T, seen, c.Call("GET", "/v1/tables/lake/"+s.schema+"/t", nil).Status == 200, "the table")
	require.Equal(c.T, seen, c.Call("GET", "/v1/tables/lake/"+s.schema+"/t/rows", nil).Status == 200, "its rows")
	require.Equal(c.T, seen, len(c.Rows("SELECT 1 FROM information_schema.tables WHERE table_schema = ?", s.schema)) == 1,
		"information_schema")
	return seen
}

// TestKeysOfTheCommandLineReachEveryWorkspace creates a workspace as administrator,
// uses it and adds existing members, all with keys that the command line made.
func TestKeysOfTheCommandLineReachEveryWorkspace(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	bob := s.Member("bob@acme.example", "builder", nil)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	one := newWorkspace(s, "one")
	require.True(t, reaches(s.Admin, one))

	members := func() map[string]string {
		out := map[string]string{}
		for _, m := range s.Admin.OK("GET", org+"/workspaces/"+one.id+"/members", nil)["members"].([]any) {
			out[m.(map[string]any)["userId"].(string)] = m.(map[string]any)["role"].(string)
		}
		return out
	}
	require.Equal(t, map[string]string{s.Admin.User: "admin"}, members(), "who made it administers it")
	require.False(t, reaches(bob, one))
	bob.Call("GET", org+"/workspaces/"+one.id, nil).Problem(t, 404)
	_, fields := bob.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "workspace_id": one.id}).Problem(t, 422)
	require.Equal(t, []string{"workspace_id"}, fields, "a member of it only")

	path := org + "/workspaces/" + one.id + "/members/" + bob.User
	for _, role := range []string{"viewer", "editor"} {
		s.Admin.OK("PUT", path, map[string]any{"role": role})
		require.Equal(t, map[string]string{s.Admin.User: "admin", bob.User: role}, members())
	}
	require.Equal(t, 2.0, bob.OK("GET", org+"/workspaces/"+one.id, nil)["memberCount"])
	require.True(t, reaches(bob, one))
	key, record := bob.NewKey(map[string]any{"scopes": []string{"write"}, "workspace_id": one.id})
	require.Equal(t, one.id, record["workspace_id"])
	require.Equal(t, false, record["all_workspaces"])
	require.True(t, reaches(key, one))

	s.Admin.OK("DELETE", path, nil)
	require.False(t, reaches(bob, one))
	require.False(t, reaches(key, one))
	require.Equal(t, map[string]string{s.Admin.User: "admin"}, members())
	s.Admin.Call("PUT", org+"/workspaces/"+one.id+"/members/"+harness.MissingID, map[string]any{"role": "viewer"}).Problem(t, 404)
	code, _ := s.Admin.Call("PUT", org+"/workspaces/"+s.Boot.WorkspaceID+"/members/"+bob.User, map[string]any{"role": "viewer"}).Problem(t,
		409)
	require.Equal(t, "default_workspace", code)
}

// TestKeyReachesItsWorkspaces checks keys for one more workspace, and keys for all
// workspaces, including later ones.
func TestKeyReachesItsWorkspaces(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	one, two := newWorkspace(s, "one"), newWorkspace(s, "two")
	made := func(body map[string]any) (*harness.Client, map[string]any) {
		body["scopes"] = []string{"admin"}
		return s.Admin.NewKey(body)
	}
	plain, record := made(map[string]any{})
	require.Equal(t, s.Boot.WorkspaceID, record["workspace_id"])
	require.Equal(t, false, record["all_workspaces"])
	limited, _ := made(map[string]any{"workspace_id": one.id, "all_workspaces": false})
	every, record := made(map[string]any{"all_workspaces": true})
	require.Equal(t, s.Boot.WorkspaceID, record["workspace_id"], "the default one")
	require.Equal(t, true, record["all_workspaces"])
	named, _ := made(map[string]any{"all_workspaces": true, "workspace_id": s.Boot.WorkspaceID})
	_, fields := s.Admin.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "all_workspaces": true, "workspace_id": one.id}).Problem(t,
		422)
	require.Equal(t, []string{"workspace_id"}, fields)
	for _, c := range []struct {
		who      *harness.Client
		one, two bool
	}{{plain, false, false}, {limited, true, false}, {every, true, true}, {named, true, true}, {s.Admin, true, true}} {
		require.Equal(t, c.one, reaches(c.who, one))
		require.Equal(t, c.two, reaches(c.who, two))
	}
	late := newWorkspace(s, "late")
	require.True(t, reaches(every, late))
	require.False(t, reaches(limited, late))

	// A stored result is only read by keys that reach its tables.
	kept := every.Await(every.Start("SELECT id FROM " + two.schema + ".t"))["id"].(string)
	require.Equal(t, 200, named.Call("GET", "/v1/operations/"+kept+"/result", nil).Status)
	code, _ := limited.Call("GET", "/v1/operations/"+kept+"/result", nil).Problem(t, 409)
	require.Equal(t, "result_stale", code)

	// Without org:update such a key does not even see the operation.
	narrow, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"write"}, "workspace_id": one.id})
	for _, path := range []string{"", "/result"} {
		narrow.Call("GET", "/v1/operations/"+kept+path, nil).Problem(t, 404)
	}
	require.Empty(t, narrow.OK("GET", "/v1/operations", nil)["operations"])
	own := narrow.Await(narrow.Start("SELECT id FROM " + one.schema + ".t"))["id"].(string)
	require.Equal(t, 200, narrow.Call("GET", "/v1/operations/"+own+"/result", nil).Status)

	// A rotation changes nothing of it.
	id := record["id"].(string)
	rotated := s.Admin.OK("POST", "/v1/api-keys/"+id+"/rotate", nil)
	require.Equal(t, true, rotated["api_key"].(map[string]any)["all_workspaces"])
	require.True(t, reaches(s.Client(rotated["key"].(string), s.Admin.User), two))
}

// TestNoKeyReachesFurtherThanItsCreator tries to widen a key by creating and rotating
// keys with any scopes.
func TestNoKeyReachesFurtherThanItsCreator(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	one, two := newWorkspace(s, "one"), newWorkspace(s, "two")
	limited, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": one.id})
	plain, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	_, every := s.Admin.NewKey(map[string]any{"scopes": []string{"read"}, "all_workspaces": true})
	_, other := s.Admin.NewKey(map[string]any{"scopes": []string{"read"}, "workspace_id": two.id})
	for _, who := range []*harness.Client{limited, plain} {
		code, _ := who.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "all_workspaces": true}).Problem(t, 403)
		require.Equal(t, "workspace_escalation", code)
		_, fields := who.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "workspace_id": two.id}).Problem(t, 422)
		require.Equal(t, []string{"workspace_id"}, fields)
		code, _ = who.Call("POST", "/v1/api-keys/"+every["id"].(string)+"/rotate", nil).Problem(t, 403)
		require.Equal(t, "workspace_escalation", code)
		code, _ = who.Call("POST", "/v1/api-keys/"+other["id"].(string)+"/rotate", nil).Problem(t, 403)
		require.Equal(t, "workspace_escalation", code)
		body := map[string]any{"configName": "x", "kind": "local", "root": "x", "workspaceId": two.id}
		_, fields = who.Call("POST", "/v1/storages/configs", body).Problem(t, 422)
		require.Equal(t, []string{"workspaceId"}, fields)
	}
	// One in its own reach can be made and rotated.
	for _, body := range []map[string]any{{}, {"workspace_id": one.id}, {"workspace_id": s.Boot.WorkspaceID}} {
		child, made := limited.NewKey(body)
		require.False(t, reaches(child, two))
		limited.OK("POST", "/v1/api-keys/"+made["id"].(string)+"/rotate", nil)
	}
	limited.OK("POST", "/v1/api-keys/"+record["id"].(string)+"/rotate", map[string]any{"grace_seconds": 60})
}
