package storage_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// shared is a configuration with a table t of one row.
type shared struct{ id, schema string }

func (c shared) attach() string { return harness.ConfigsPath + "/" + c.id + "/attach" }
func (c shared) undo() string   { return harness.ConfigsPath + "/" + c.id + "/promote-undo" }
func (c shared) table() string  { return c.schema + ".t" }

// newShared makes a configuration of a client, in a workspace unless that is empty.
func newShared(s *harness.Server, by *harness.Client, name, workspace string) shared {
	s.T.Helper()
	harness.WriteTable(s.T, filepath.Join(s.Config.LocalRoots[0], name, "t"), `SELECT 7 AS id`, nil, column{"id", "long"})
	body := map[string]any{"configName": name, "kind": "local", "root": name}
	if workspace != "" {
		body["workspaceId"] = workspace
	}
	made := by.OK("POST", harness.ConfigsPath, body)
	return shared{made["configId"].(string), made["schema"].(string)}
}

// newWorkspace makes a workspace whose administrator is the server's, with members in roles.
func newWorkspace(s *harness.Server, name string, members map[*harness.Client]string) string {
	s.T.Helper()
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/workspaces"
	id := s.Admin.OK("POST", path, map[string]any{"name": name})["id"].(string)
	for member, role := range members {
		s.Admin.OK("PUT", path+"/"+id+"/members/"+member.User, map[string]any{"role": role})
	}
	return id
}

func to(workspace string) map[string]any { return map[string]any{"workspaceId": workspace} }

// refusedWith checks the code of a refusal.
func refusedWith(t *testing.T, r harness.Reply, status int, code string) {
	t.Helper()
	got, _ := r.Problem(t, status)
	require.Equal(t, code, got)
}

// sees reports whether a client sees a configuration, and requires that the routes agree.
func sees(c *harness.Client, config shared) bool {
	c.T.Helper()
	r := c.Call("GET", harness.ConfigsPath+"/"+config.id, nil)
	query := c.Query("SELECT id FROM " + config.table())
	require.Equal(c.T, r.Status == 200, query.Status == 200, "%s", query.Body)
	if r.Status != 200 {
		refusedWith(c.T.(*testing.T), r, 404, "not_found")
		refusedWith(c.T.(*testing.T), query, 400, "table_not_found")
	}
	return r.Status == 200
}

func TestAttachAndUndo(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	ana, ben, vic := s.Member("ana@acme.example", "builder", nil), s.Member("ben@acme.example", "viewer", nil),
		s.Member("vic@acme.example", "viewer", nil)
	one := newWorkspace(s, "one", map[*harness.Client]string{ana: "viewer", ben: "builder"})
	two := newWorkspace(s, "two", map[*harness.Client]string{ana: "viewer", vic: "viewer"})
	// The key of a viewer has the scopes of viewers. This one has those of his role in the workspace.
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	ben.Key, err = harness.MakeKeyIn(t.Context(), store, s.Boot.OrganisationID, ben.User, one)
	require.NoError(t, err)
	mine := newShared(s, s.Admin, "mine", "")
	require.False(t, sees(ben, mine))
	record := s.Admin.OK("GET", harness.ConfigsPath+"/"+mine.id, nil)

	// From its owner to a workspace.
	begun := time.Now()
	done := s.Admin.OK("POST", mine.attach(), to(one))
	expires, err := time.Parse(time.RFC3339, done["undoExpiresAt"].(string))
	require.NoError(t, err)
	require.WithinRange(t, expires, begun.Add(299*time.Second), time.Now().Add(301*time.Second))
	require.NotEmpty(t, done["message"])
	delete(done, "undoExpiresAt")
	delete(done, "message")
	require.Equal(t, map[string]any{"configId": mine.id, "configName": "mine", "workspaceId": one, "previousWorkspaceId": nil}, done)
	require.True(t, sees(ben, mine), "at the next statement")
	require.False(t, sees(vic, mine))

	// What is made until the undo remains.
	kept := ben.Await(ben.Start("SELECT id FROM " + mine.table()))
	require.Equal(t, "succeeded", kept["state"])
	s.Admin.OK("POST", "/v1/tables", s.NewTable(mine.schema, "later", nil, harness.Col("id", "long")))
	policy := s.Admin.OK("POST", org+"/policies", map[string]any{
		"kind": "rls", "tableFqn": "lake." + mine.schema + ".later", "columnName": "id",
		"definition": json.RawMessage(`{"effect":"permit","subject":{"everyone":true}}`),
	})
	s.Admin.OK("PUT", "/v1/tables/lake/"+mine.schema+"/later/columns/id/domain/fixed", map[string]any{"values": []string{"1"}})
	refusedWith(t, ana.Call("POST", mine.undo(), nil), 403, "not_attacher")
	refusedWith(t, ben.Call("POST", mine.undo(), nil), 403, "not_attacher")
	s.Admin.OK("PATCH", org+"/config",
		map[string]any{"features": []any{map[string]any{"key": "sharing", "enabled": false}}})
	_, fields := s.Admin.Call("POST", mine.attach(), to(two)).Problem(t, 403)
	require.NotEmpty(t, fields)
	refusedWith(t, s.Admin.Call("POST", mine.attach(), to(two)), 403, "feature_disabled")
	undone := s.Admin.OK("POST", mine.undo(), nil)
	require.NotEmpty(t, undone["message"])
	delete(undone, "message")
	require.Equal(t, map[string]any{"configId": mine.id, "configName": "mine", "workspaceId": nil, "ownerUserId": s.Admin.User}, undone)
	require.False(t, sees(ben, mine))
	refusedWith(t, ben.Result(kept), 409, "result_stale")
	restored := s.Admin.OK("GET", harness.ConfigsPath+"/"+mine.id, nil)
	for _, varies := range []string{"updatedAt", "discoveredAt"} {
		delete(record, varies)
		delete(restored, varies)
	}
	require.Equal(t, record, restored)
	s.Admin.OK("GET", org+"/policies/"+policy["id"].(string), nil)
	domain := s.Admin.OK("GET", "/v1/tables/lake/"+mine.schema+"/later/columns/id/domain", nil)["domain"]
	require.Equal(t, "fixed", domain.(map[string]any)["type"])
	refusedWith(t, s.Admin.Call("POST", mine.undo(), nil), 409, "undo_window_closed")
	s.Admin.OK("PATCH", org+"/config",
		map[string]any{"features": []any{map[string]any{"key": "sharing", "enabled": true}}})

	// From workspace to workspace: Ana is a builder of the organisation, Ben only in one.
	s.Admin.OK("POST", mine.attach(), to(one))
	code, fields := ben.Call("POST", mine.attach(), to(two)).Problem(t, 422)
	require.Equal(t, "invalid_field", code)
	require.Equal(t, []string{"workspaceId"}, fields, "Ben is not a member")
	refusedWith(t, ben.Call("POST", mine.attach(), to(s.Boot.WorkspaceID)), 403, "insufficient_scope")
	done = ana.OK("POST", mine.attach(), to(two))
	require.Equal(t, one, done["previousWorkspaceId"])
	require.False(t, sees(ben, mine))
	require.True(t, sees(vic, mine))
	refusedWith(t, s.Admin.Call("POST", mine.undo(), nil), 409, "undo_window_closed")
	refusedWith(t, vic.Call("POST", mine.undo(), nil), 403, "insufficient_scope")
	refusedWith(t, ana.Call("POST", mine.attach(), to(two)), 409, "already_attached")
	path := org + "/workspaces/" + one
	refusedWith(t, s.Admin.Call("DELETE", path, nil), 409, "workspace_in_use")
	require.Equal(t, one, ana.OK("POST", mine.undo(), nil)["workspaceId"])
	require.True(t, sees(ben, mine))
	require.False(t, sees(vic, mine))

	// The default workspace shares it with everybody. Tables are discovered.
	harness.WriteTable(t, filepath.Join(s.Config.LocalRoots[0], "mine", "found"), `SELECT 8 AS id`, nil, column{"id", "long"})
	s.Admin.OK("POST", mine.attach(), to(s.Boot.WorkspaceID))
	require.True(t, sees(vic, mine))
	discovered := func() bool { return vic.QueryDuringChange("SELECT id FROM "+mine.schema+".found").Status == 200 }
	require.Eventually(t, discovered, time.Minute, 20*time.Millisecond)
	s.Admin.OK("DELETE", path+"/members/"+ben.User, nil)
	require.True(t, sees(ben, mine))

	var actions []string
	require.Eventually(t, func() bool {
		actions = nil
		for _, e := range s.Admin.OK("GET", org+"/audit?page_size=1000", nil)["entries"].([]any) {
			entry := e.(map[string]any)
			if entry["resource"] == "storage-config/"+mine.id {
				actions = append(actions, entry["action"].(string))
			}
		}
		return len(actions) == 6
	}, time.Minute, 100*time.Millisecond, "%v", actions)
	require.Equal(t, []string{"storage.attached", "storage.attach_undone", "storage.attached", "storage.attached", "storage.attach_undone",
		"storage.attached"}, actions)
}

func TestUndoWindow(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.UndoWindow = time.Millisecond })
	mine := newShared(s, s.Admin, "mine", "")
	s.Admin.OK("POST", mine.attach(), to(s.Boot.WorkspaceID))
	harness.Pause(t.Context(), 2*time.Millisecond)
	refusedWith(t, s.Admin.Call("POST", mine.undo(), nil), 409, "undo_window_expired")
	require.Equal(t, s.Boot.WorkspaceID, s.Admin.OK("GET", harness.ConfigsPath+"/"+mine.id, nil)["workspaceId"], "it stays attached")
}

func TestAttachRefusesBadInput(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	other := harness.Shared(t)
	mine := newShared(s, s.Admin, "mine", "")
	theirs := newShared(other, other.Admin, "theirs", other.Boot.WorkspaceID)
	for name, c := range map[string]struct {
		body   any
		status int
		field  string
	}{
		"no body":              {nil, 400, ""},
		"broken":               {`{"workspaceId":`, 400, ""},
		"two values":           {`{"workspaceId":"` + s.Boot.WorkspaceID + `"} {}`, 400, ""},
		"a name twice":         {`{"workspaceId":"` + s.Boot.WorkspaceID + `","workspaceId":"x"}`, 400, ""},
		"empty object":         {map[string]any{}, 422, "workspaceId"},
		"null":                 {map[string]any{"workspaceId": nil}, 422, "workspaceId"},
		"empty":                {to(""), 422, "workspaceId"},
		"malformed":            {to("default"), 422, "workspaceId"},
		"number":               {map[string]any{"workspaceId": 7}, 422, "workspaceId"},
		"unknown":              {to(harness.MissingID), 422, "workspaceId"},
		"another tenant's":     {to(other.Boot.WorkspaceID), 422, "workspaceId"},
		"a configuration":      {to(mine.id), 422, "workspaceId"},
		"further field":        {map[string]any{"workspaceId": s.Boot.WorkspaceID, "undo": true}, 422, "undo"},
		"window of the caller": {map[string]any{"workspaceId": s.Boot.WorkspaceID, "window": "1h"}, 422, "window"},
	} {
		t.Run(name, func(t *testing.T) {
			fields := harness.Refused(t, s.Admin.Call("POST", mine.attach(), c.body), c.status)
			require.True(t, c.field == "" || harness.NamesField(fields, c.field), "%v", fields)
		})
	}
	for _, id := range []string{theirs.id, harness.MissingID, s.Boot.WorkspaceID} {
		harness.Refused(t, s.Admin.Call("POST", shared{id: id}.attach(), to(s.Boot.WorkspaceID)), 404)
		harness.Refused(t, s.Admin.Call("POST", shared{id: id}.undo(), nil), 404)
	}
	for _, path := range []string{"x", "..%2Fmine", "%00", strings.Repeat("a", 300)} {
		harness.Refused(t, s.Admin.Call("POST", shared{id: path}.attach(), to(s.Boot.WorkspaceID)), 422)
		harness.Refused(t, s.Admin.Call("POST", shared{id: path}.undo(), nil), 422)
	}
	refusedWith(t, s.Admin.Call("POST", mine.undo(), nil), 409, "undo_window_closed")
	require.Nil(t, s.Admin.OK("GET", harness.ConfigsPath+"/"+mine.id, nil)["workspaceId"], "nothing was changed")

	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/config", map[string]any{"sandbox_enabled": true})
	for _, c := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any) {
		if c := c.(map[string]any); c["sandbox"] == true {
			sandbox := shared{id: c["configId"].(string)}
			refusedWith(t, s.Admin.Call("POST", sandbox.attach(), to(newWorkspace(s, "one", nil))), 409, "sandbox_config")
		}
	}
}

// TestAttachReachesReplicas attaches on one replica while members have idle sessions on
// both, and undoes on the other.
func TestAttachReachesReplicas(t *testing.T) {
	replicas := harness.StartReplicas(t, 2, nil)
	s := replicas[0]
	var members []*harness.Client
	roles := map[*harness.Client]string{}
	for i := range 12 {
		m := s.Member(fmt.Sprintf("m%d@acme.example", i), "viewer", nil)
		members, roles[m] = append(members, m), "viewer"
	}
	joining := s.Member("joining@acme.example", "viewer", nil)
	one, two := newWorkspace(s, "one", roles), newWorkspace(s, "two", map[*harness.Client]string{joining: "viewer"})
	config := newShared(s, s.Admin, "config", one)
	on := func(r *harness.Server, c *harness.Client) *harness.Client {
		return &harness.Client{T: t, URL: r.URL, Key: c.Key, User: c.User}
	}
	open := func() {
		for _, r := range replicas {
			for _, m := range members {
				m := on(r, m)
				reads := func() bool { return m.QueryDuringChange("SELECT id FROM "+config.table()).Status == 200 }
				require.Eventually(t, reads, time.Minute, 10*time.Millisecond)
			}
		}
	}
	idle := func(r *harness.Server) int { return int(r.Metric(t, `lakewarden_sessions{state="idle"}`)) }
	open()
	for _, r := range replicas {
		require.Eventually(t, func() bool { return idle(r) >= len(members) }, time.Minute, 10*time.Millisecond)
	}
	s.Admin.OK("POST", config.attach(), to(two))
	harness.Reaches(t, replicas, "idle sessions of former members are closed", func(r *harness.Server) bool { return idle(r) == 0 })
	become := func(what string, c *harness.Client, seen bool) {
		t.Helper()
		status, query := 404, 400
		if seen {
			status, query = 200, 200
		}
		harness.Reaches(t, replicas, what, func(r *harness.Server) bool {
			c := on(r, c)
			return c.Call("GET", harness.ConfigsPath+"/"+config.id, nil).Status == status &&
				c.QueryDuringChange("SELECT id FROM "+config.table()).Status == query
		})
		for _, r := range replicas {
			require.Equal(t, seen, sees(on(r, c), config), what)
		}
	}
	become("former members see nothing", members[0], false)
	become("new members see it", joining, true)

	replicas[1].Admin.OK("POST", config.undo(), nil)
	become("the undo ends what new members saw", joining, false)
	open()
	refusedWith(t, s.Admin.Call("POST", config.undo(), nil), 409, "undo_window_closed")
}
