package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// space is a workspace with one table t of its own.
type space struct{ id, schema string }

// workspace makes a workspace with a storage configuration and a table in it.
func (s *testServer) workspace(name string) space {
	s.t.Helper()
	id := s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/workspaces", map[string]any{"name": name})["id"].(string)
	writeTable(s.t, s.config.LocalRoots[0]+"/"+name+"/t", `SELECT 7 AS id`, nil, column{"id", "long"})
	config := s.admin.ok("POST", "/v1/storages/configs", map[string]any{"configName": name, "kind": "local", "root": name, "workspaceId": id})
	return space{id, config["schema"].(string)}
}

// reaches reports whether a caller sees the table of a workspace, and requires
// that every way to it says the same.
func (c *client) reaches(s space) bool {
	c.t.Helper()
	seen := c.query("SELECT id FROM "+s.schema+".t").status == 200
	listed := func(path, list, field, want string) bool {
		for _, item := range c.ok("GET", path, nil)[list].([]any) {
			if item.(map[string]any)[field] == want {
				return true
			}
		}
		return false
	}
	require.Equal(c.t, seen, listed("/v1/storages/configs", "configs", "schema", s.schema), "configurations")
	require.Equal(c.t, seen, listed("/v1/tables", "tables", "schema", s.schema), "tables")
	require.Equal(c.t, seen, c.call("GET", "/v1/tables/lake/"+s.schema+"/t", nil).status == 200, "the table")
	require.Equal(c.t, seen, c.call("GET", "/v1/tables/lake/"+s.schema+"/t/rows", nil).status == 200, "its rows")
	require.Equal(c.t, seen, len(c.rows("SELECT 1 FROM information_schema.tables WHERE table_schema = ?", s.schema)) == 1, "information_schema")
	return seen
}

// TestKeysOfTheCommandLineReachEveryWorkspace creates a workspace as administrator,
// uses it and adds existing members, all with keys that the command line made.
func TestKeysOfTheCommandLineReachEveryWorkspace(t *testing.T) {
	s := startServer(t, nil)
	bob := s.member("bob@acme.example", "builder", nil)
	org := "/v1/organisations/" + s.boot.OrganisationID
	one := s.workspace("one")
	require.True(t, s.admin.reaches(one))

	members := func() map[string]string {
		out := map[string]string{}
		for _, m := range s.admin.ok("GET", org+"/workspaces/"+one.id+"/members", nil)["members"].([]any) {
			out[m.(map[string]any)["userId"].(string)] = m.(map[string]any)["role"].(string)
		}
		return out
	}
	require.Equal(t, map[string]string{s.admin.user: "admin"}, members(), "who made it administers it")
	require.False(t, bob.reaches(one))
	bob.call("GET", org+"/workspaces/"+one.id, nil).problem(t, 404)
	_, fields := bob.call("POST", "/v1/api-keys", map[string]any{"name": "x", "workspace_id": one.id}).problem(t, 422)
	require.Equal(t, []string{"workspace_id"}, fields, "a member of it only")

	path := org + "/workspaces/" + one.id + "/members/" + bob.user
	for _, role := range []string{"viewer", "editor"} {
		s.admin.ok("PUT", path, map[string]any{"role": role})
		require.Equal(t, map[string]string{s.admin.user: "admin", bob.user: role}, members())
	}
	require.Equal(t, 2.0, bob.ok("GET", org+"/workspaces/"+one.id, nil)["memberCount"])
	require.True(t, bob.reaches(one))
	key, record := bob.newKey(map[string]any{"scopes": []string{"write"}, "workspace_id": one.id})
	require.Equal(t, one.id, record["workspace_id"])
	require.Equal(t, false, record["all_workspaces"])
	require.True(t, key.reaches(one))

	s.admin.ok("DELETE", path, nil)
	require.False(t, bob.reaches(one))
	require.False(t, key.reaches(one))
	require.Equal(t, map[string]string{s.admin.user: "admin"}, members())
	s.admin.call("PUT", org+"/workspaces/"+one.id+"/members/"+missingID, map[string]any{"role": "viewer"}).problem(t, 404)
	code, _ := s.admin.call("PUT", org+"/workspaces/"+s.boot.WorkspaceID+"/members/"+bob.user, map[string]any{"role": "viewer"}).problem(t, 409)
	require.Equal(t, "default_workspace", code)
}

// TestKeyReachesItsWorkspaces checks keys for one more workspace, and keys for all
// workspaces, including later ones.
func TestKeyReachesItsWorkspaces(t *testing.T) {
	s := startServer(t, nil)
	one, two := s.workspace("one"), s.workspace("two")
	made := func(body map[string]any) (*client, map[string]any) {
		body["scopes"] = []string{"admin"}
		return s.admin.newKey(body)
	}
	plain, record := made(map[string]any{})
	require.Equal(t, s.boot.WorkspaceID, record["workspace_id"])
	require.Equal(t, false, record["all_workspaces"])
	limited, _ := made(map[string]any{"workspace_id": one.id, "all_workspaces": false})
	every, record := made(map[string]any{"all_workspaces": true})
	require.Equal(t, s.boot.WorkspaceID, record["workspace_id"], "the default one")
	require.Equal(t, true, record["all_workspaces"])
	named, _ := made(map[string]any{"all_workspaces": true, "workspace_id": s.boot.WorkspaceID})
	_, fields := s.admin.call("POST", "/v1/api-keys", map[string]any{"name": "x", "all_workspaces": true, "workspace_id": one.id}).problem(t, 422)
	require.Equal(t, []string{"workspace_id"}, fields)
	for _, c := range []struct {
		who      *client
		one, two bool
	}{{plain, false, false}, {limited, true, false}, {every, true, true}, {named, true, true}, {s.admin, true, true}} {
		require.Equal(t, c.one, c.who.reaches(one))
		require.Equal(t, c.two, c.who.reaches(two))
	}
	late := s.workspace("late")
	require.True(t, every.reaches(late))
	require.False(t, limited.reaches(late))

	// A kept result is read by keys that reach its tables, no others.
	kept := every.await(every.start("SELECT id FROM " + two.schema + ".t"))["id"].(string)
	require.Equal(t, 200, named.call("GET", "/v1/operations/"+kept+"/result", nil).status)
	code, _ := limited.call("GET", "/v1/operations/"+kept+"/result", nil).problem(t, 409)
	require.Equal(t, "result_stale", code)

	// Without org:update such a key does not even see the operation.
	narrow, _ := s.admin.newKey(map[string]any{"scopes": []string{"write"}, "workspace_id": one.id})
	for _, path := range []string{"", "/result"} {
		narrow.call("GET", "/v1/operations/"+kept+path, nil).problem(t, 404)
	}
	require.Empty(t, narrow.ok("GET", "/v1/operations", nil)["operations"])
	own := narrow.await(narrow.start("SELECT id FROM " + one.schema + ".t"))["id"].(string)
	require.Equal(t, 200, narrow.call("GET", "/v1/operations/"+own+"/result", nil).status)

	// A rotation changes nothing of it.
	id := record["id"].(string)
	rotated := s.admin.ok("POST", "/v1/api-keys/"+id+"/rotate", nil)
	require.Equal(t, true, rotated["api_key"].(map[string]any)["all_workspaces"])
	require.True(t, s.client(rotated["key"].(string), s.admin.user).reaches(two))
}

// TestNoKeyReachesFurtherThanItsCreator tries to widen a key by creating and rotating
// keys with any scopes.
func TestNoKeyReachesFurtherThanItsCreator(t *testing.T) {
	s := startServer(t, nil)
	one, two := s.workspace("one"), s.workspace("two")
	limited, record := s.admin.newKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": one.id})
	plain, _ := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
	_, every := s.admin.newKey(map[string]any{"scopes": []string{"read"}, "all_workspaces": true})
	_, other := s.admin.newKey(map[string]any{"scopes": []string{"read"}, "workspace_id": two.id})
	for _, who := range []*client{limited, plain} {
		code, _ := who.call("POST", "/v1/api-keys", map[string]any{"name": "x", "all_workspaces": true}).problem(t, 403)
		require.Equal(t, "workspace_escalation", code)
		_, fields := who.call("POST", "/v1/api-keys", map[string]any{"name": "x", "workspace_id": two.id}).problem(t, 422)
		require.Equal(t, []string{"workspace_id"}, fields)
		code, _ = who.call("POST", "/v1/api-keys/"+every["id"].(string)+"/rotate", nil).problem(t, 403)
		require.Equal(t, "workspace_escalation", code)
		code, _ = who.call("POST", "/v1/api-keys/"+other["id"].(string)+"/rotate", nil).problem(t, 403)
		require.Equal(t, "workspace_escalation", code)
		body := map[string]any{"configName": "x", "kind": "local", "root": "x", "workspaceId": two.id}
		_, fields = who.call("POST", "/v1/storages/configs", body).problem(t, 422)
		require.Equal(t, []string{"workspaceId"}, fields)
	}
	// One in its own reach can be made and rotated.
	for _, body := range []map[string]any{{}, {"workspace_id": one.id}, {"workspace_id": s.boot.WorkspaceID}} {
		child, made := limited.newKey(body)
		require.False(t, child.reaches(two))
		limited.ok("POST", "/v1/api-keys/"+made["id"].(string)+"/rotate", nil)
	}
	limited.ok("POST", "/v1/api-keys/"+record["id"].(string)+"/rotate", map[string]any{"grace_seconds": 60})
}
