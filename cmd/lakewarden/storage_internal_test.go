package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
)

const configsPath = "/v1/storages/configs"

// organisation makes another organisation on the same server.
func (s *testServer) organisation(name string) (*client, command.Bootstrapped) {
	s.t.Helper()
	store, err := s.openCatalog(s.t.Context())
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, store.Close()) }()
	boot, err := command.Bootstrap(s.t.Context(), store, name, "admin@"+name+".example")
	require.NoError(s.t, err)
	return s.client(boot.APIKey, boot.UserID), boot
}

func local(name, root string) map[string]any {
	return map[string]any{"configName": name, "kind": "local", "root": root}
}

func TestLocalStorageLiesBelowTheAllowedRoots(t *testing.T) {
	second := t.TempDir()
	s := startServer(t, func(c *settings) { c.LocalRoots = append(c.LocalRoots, second) })
	root := s.config.LocalRoots[0]
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "way-out")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))

	relative := s.admin.ok("POST", configsPath, local("Relative One", "a/b"))
	require.Equal(t, "relative_one", relative["slug"])
	require.Equal(t, "cfg_"+strings.ReplaceAll(relative["configId"].(string), "-", ""), relative["schema"])
	require.Nil(t, relative["workspaceId"])
	require.Equal(t, s.admin.user, relative["ownerUserId"])
	require.DirExists(t, filepath.Join(root, "a/b"))
	require.NotContains(t, relative, "location")
	s.admin.ok("POST", configsPath, local("absolute", filepath.Join(root, "c")))
	s.admin.ok("POST", configsPath, local("second root", filepath.Join(second, "d")))

	for _, bad := range []string{
		outside, "/", "/etc", filepath.Join(root, "..", "x"), "../x", "a/../../x", "way-out", "way-out/x", filepath.Join(root, "way-out"),
		root + "x", "x\x00y", strings.Repeat("x", 300), "file", "file/x", ".", root,
	} {
		if bad == "." || bad == root { // the allowed root itself holds the other configurations
			code, _ := s.admin.call("POST", configsPath, local("bad", bad)).problem(t, 409)
			require.Equal(t, "location_taken", code, bad)
			continue
		}
		r := s.admin.call("POST", configsPath, local("bad", bad))
		_, fields := r.problem(t, 422)
		require.Equal(t, []string{"root"}, fields, bad)
		require.NotContains(t, string(r.body), root)
	}
	for _, taken := range []string{"a/b", "a", "a/b/deeper", filepath.Join(root, "c"), "./a//b/"} {
		r := s.admin.call("POST", configsPath, local("again", taken))
		code, _ := r.problem(t, 409)
		require.Equal(t, "location_taken", code, taken)
	}
	require.Len(t, s.admin.ok("GET", configsPath, nil)["configs"], 4, "nothing is half-registered")
	require.NoFileExists(t, filepath.Join(outside, "x"))

	for field, body := range map[string]map[string]any{
		"root":       {"configName": "x", "kind": "local"},
		"kind":       {"configName": "x", "kind": "gcs"},
		"configName": {"configName": "", "kind": "local", "root": "x"},
	} {
		_, fields := s.admin.call("POST", configsPath, body).problem(t, 422)
		require.Equal(t, []string{field}, fields)
	}
	body := local("x", "x")
	body["workspaceId"] = uuid.NewString()
	_, fields := s.admin.call("POST", configsPath, body).problem(t, 422)
	require.Equal(t, []string{"workspaceId"}, fields)
}

func TestOnlyAdministratorsNameDirectories(t *testing.T) {
	s := startServer(t, nil)
	for _, role := range []string{"viewer", "editor", "builder"} {
		code, _ := s.member(role+"@acme.example", role, nil).call("POST", configsPath, local("x", "x")).problem(t, 403)
		require.Contains(t, []string{"forbidden", "insufficient_scope"}, code)
	}
	require.NoDirExists(t, filepath.Join(s.config.LocalRoots[0], "x"))
}

// TestASecondOrganisationLearnsWhatLocalStorageTakes: the setting is the
// operator's, and is named to whoever has to ask for it.
func TestASecondOrganisationLearnsWhatLocalStorageTakes(t *testing.T) {
	s := startServer(t, nil)
	store, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	other, err := command.Bootstrap(t.Context(), store, "Other", "admin@other.example")
	require.NoError(t, err)
	r := s.client(other.APIKey, other.UserID).call("POST", configsPath, local("x", "x"))
	_, fields := r.problem(t, 422)
	require.Equal(t, []string{"root"}, fields)
	require.Contains(t, string(r.body), "LAKEWARDEN_LOCAL_ROOTS")
	require.Contains(t, string(r.body), "{org}")
}

func TestStorageConfigsAreReadRenamedTriedAndRemoved(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	list := s.admin.ok("GET", configsPath, nil)["configs"].([]any)
	require.Len(t, list, 1)
	id := list[0].(map[string]any)["configId"].(string)
	path := configsPath + "/" + id
	got := s.admin.ok("GET", path, nil)
	require.Equal(t, list[0], got)
	require.Equal(t, "main_data", got["slug"])
	require.Equal(t, s.boot.WorkspaceID, got["workspaceId"])
	require.NotNil(t, got["discoveredAt"])

	// Every form of the schema's name.
	dashed := "cfg_" + id
	for _, schema := range []string{s.schema, strings.ToUpper(s.schema), "main_data", "MAIN_DATA", dashed} {
		require.Equal(t, s.schema, s.admin.ok("GET", "/v1/tables/lake/"+schema+"/t", nil)["schema"], schema)
		require.Equal(t, 1.0, s.admin.count(`lake."`+schema+`".t`), schema)
	}
	renamed := s.admin.ok("PATCH", path, map[string]any{"configName": "Other Data"})
	require.Equal(t, "other_data", renamed["slug"])
	require.Equal(t, 1.0, s.admin.count("other_data.t"))
	code, _ := s.admin.query("SELECT 1 FROM main_data.t").problem(t, 400)
	require.Equal(t, "table_not_found", code)
	require.Equal(t, "other_data", s.admin.ok("PATCH", path, map[string]any{})["slug"], "nothing sent, nothing changed")

	report := s.admin.ok("POST", path+"/validate", nil)
	require.Equal(t, true, report["valid"])
	var checks []string
	for _, c := range report["checks"].([]any) {
		require.Equal(t, true, c.(map[string]any)["ok"])
		checks = append(checks, c.(map[string]any)["name"].(string))
	}
	for _, name := range []string{"list", "put", "get", "delete"} {
		require.Contains(t, checks, name)
	}
	entries, err := os.ReadDir(s.root)
	require.NoError(t, err)
	require.Len(t, entries, 1, "a trial leaves nothing behind")

	require.Empty(t, s.admin.ok("DELETE", path, nil))
	s.admin.call("GET", path, nil).problem(t, 404)
	s.admin.call("POST", path+"/discover", nil).problem(t, 404)
	require.FileExists(t, filepath.Join(s.root, "t/_delta_log/00000000000000000000.json"), "data stays")
	s.admin.query("SELECT 1 FROM "+s.schema+".t").problem(t, 400)
	again := s.admin.ok("POST", configsPath, local("main data", "main"))
	require.Equal(t, 1.0, s.admin.count(again["schema"].(string)+".t"))
}

func TestAmbiguousSlugsNeedTheId(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	writeTable(t, filepath.Join(s.config.LocalRoots[0], "two/t"), `SELECT 1 AS id`, nil, column{"id", "long"})
	two := s.admin.ok("POST", configsPath, local("Main  data", "two"))
	if two["slug"] == "main_data" {
		code, _ := s.admin.query("SELECT 1 FROM main_data.t").problem(t, 400)
		require.Equal(t, "ambiguous_name", code)
		code, _ = s.admin.call("GET", "/v1/tables/lake/main_data/t", nil).problem(t, 409)
		require.Equal(t, "ambiguous", code)
	}
	require.Equal(t, 1.0, s.admin.count(two["schema"].(string)+".t"))
	require.Equal(t, 1.0, s.admin.count(s.schema+".t"))
}

func TestOrganisationsDoNotShareDirectories(t *testing.T) {
	s := startServer(t, func(c *settings) { c.LocalRoots = append(c.LocalRoots, filepath.Join(c.DataDir, "tenants", "{org}")) })
	s.table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	other, boot := s.organisation("globex")
	tenants := filepath.Join(s.config.DataDir, "tenants")
	for _, root := range []string{s.root, filepath.Join(s.config.LocalRoots[0], "new"), filepath.Join(tenants, s.boot.OrganisationID, "x"), tenants} {
		_, fields := other.call("POST", configsPath, local("theirs", root)).problem(t, 422)
		require.Equal(t, []string{"root"}, fields, root)
	}
	mine := other.ok("POST", configsPath, local("mine", "data"))
	require.DirExists(t, filepath.Join(tenants, boot.OrganisationID, "data"))
	require.Len(t, other.ok("GET", configsPath, nil)["configs"], 1)
	require.Len(t, s.admin.ok("GET", configsPath, nil)["configs"], 1)
	s.admin.call("GET", configsPath+"/"+mine["configId"].(string), nil).problem(t, 404)
	code, _ := other.query("SELECT 1 FROM "+s.schema+".t").problem(t, 400)
	require.Equal(t, "table_not_found", code)
	require.NotContains(t, string(other.query("SHOW TABLES").body), s.schema)
}

func TestTheSecondOrganisationHasNoLocalStorageByDefault(t *testing.T) {
	s := startServer(t, nil)
	other, _ := s.organisation("globex")
	_, fields := other.call("POST", configsPath, local("x", "main")).problem(t, 422)
	require.Equal(t, []string{"root"}, fields)
}

func TestPersonalAndWorkspaceConfigsAreVisibleToTheirPeopleOnly(t *testing.T) {
	s := startServer(t, nil)
	root := s.config.LocalRoots[0]
	org := "/v1/organisations/" + s.boot.OrganisationID
	for _, name := range []string{"personal", "team"} {
		writeTable(t, filepath.Join(root, name, name), `SELECT 1 AS id`, nil, column{"id", "long"})
	}
	personal := s.admin.ok("POST", configsPath, local("personal", "personal"))
	team := s.admin.ok("POST", org+"/workspaces", map[string]any{"name": "team"})["id"].(string)
	inTeam, _ := s.admin.newKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": team})
	body := local("team", "team")
	body["workspaceId"] = team
	shared := inTeam.ok("POST", configsPath, body)

	ada := s.member("ada@acme.example", "admin", nil)
	joe := s.member("joe@acme.example", "viewer", nil)
	s.admin.ok("PUT", org+"/workspaces/"+team+"/members/"+joe.user, map[string]string{"role": "viewer"})
	keyIn := func(c *client, workspace string) *client { // keys made by the command line reach every workspace
		store, err := s.openCatalog(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		key, err := makeKeyIn(t.Context(), store, s.boot.OrganisationID, c.user, workspace)
		require.NoError(t, err)
		return s.client(key, c.user)
	}
	joeInTeam := keyIn(joe, team)
	for _, c := range []struct {
		name                   string
		who                    *client
		seesPersonal, seesTeam bool
	}{
		{"owner", s.admin, true, true}, {"owner with a key of the team", inTeam, true, true},
		{"owner with a plain key", keyIn(s.admin, s.boot.WorkspaceID), true, false}, {"another administrator", ada, false, false},
		{"member", joe, false, true}, {"member with a key of the team", joeInTeam, false, true},
		{"member with a plain key", keyIn(joe, s.boot.WorkspaceID), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, config := range []struct {
				record map[string]any
				name   string
				sees   bool
			}{{personal, "personal", c.seesPersonal}, {shared, "team", c.seesTeam}} {
				status := map[bool]int{true: 200, false: 404}[config.sees]
				schema := config.record["schema"].(string)
				require.Equal(t, status, c.who.call("GET", configsPath+"/"+config.record["configId"].(string), nil).status)
				require.Equal(t, status, c.who.call("GET", "/v1/tables/lake/"+schema+"/"+config.name, nil).status)
				require.Equal(t, status, c.who.call("GET", "/v1/tables/lake/"+config.name+"/"+config.name+"/columns", nil).status)
				require.Equal(t, map[bool]int{true: 200, false: 400}[config.sees], c.who.query("SELECT * FROM "+schema+"."+config.name).status)
				require.Equal(t, config.sees, strings.Contains(string(c.who.call("GET", configsPath, nil).body), schema))
				require.Equal(t, config.sees, strings.Contains(string(c.who.call("GET", "/v1/tables", nil).body), schema))
				require.Equal(t, config.sees, strings.Contains(string(c.who.query("SHOW ALL TABLES").body), schema))
			}
		})
	}
	// A member who leaves loses it with the next statement.
	require.Equal(t, http.StatusOK, joeInTeam.query("SELECT * FROM team.team").status)
	s.admin.ok("DELETE", org+"/workspaces/"+team+"/members/"+joe.user, nil)
	joeInTeam.query("SELECT * FROM team.team").problem(t, 400)
	joeInTeam.call("GET", configsPath+"/"+shared["configId"].(string), nil).problem(t, 404)
}

// TestARoleInAWorkspaceCountsThere: a viewer of the organisation who is a
// builder of a workspace builds there and nowhere else.
func TestARoleInAWorkspaceCountsThere(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	org := "/v1/organisations/" + s.boot.OrganisationID
	team := s.admin.ok("POST", org+"/workspaces", map[string]any{"name": "team"})["id"].(string)
	inTeam, _ := s.admin.newKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": team})
	writeTable(t, filepath.Join(s.config.LocalRoots[0], "team/t"), `SELECT 1 AS id`, nil, column{"id", "long"})
	body := local("team", "team")
	body["workspaceId"] = team
	config := configsPath + "/" + inTeam.ok("POST", configsPath, body)["configId"].(string)
	joe := s.member("joe@acme.example", "viewer", nil)
	s.admin.ok("PUT", org+"/workspaces/"+team+"/members/"+joe.user, map[string]string{"role": "builder"})
	store, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	key, err := makeKeyIn(t.Context(), store, s.boot.OrganisationID, joe.user, team)
	require.NoError(t, err)
	joe = s.client(key, joe.user)

	require.Equal(t, "u", joe.ok("PATCH", "/v1/tables/lake/team/t", map[string]any{"name": "u"})["table"])
	require.Equal(t, true, joe.ok("POST", config+"/validate", nil)["valid"])
	require.Equal(t, 1.0, joe.ok("POST", config+"/discover", nil)["tablesFound"])
	require.Equal(t, "crew", joe.ok("PATCH", config, map[string]any{"configName": "crew"})["slug"])
	main := configsPath + "/" + s.admin.ok("GET", configsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	for _, r := range []reply{
		joe.call("PATCH", "/v1/tables/lake/"+s.schema+"/t", map[string]any{"name": "u"}),
		joe.call("DELETE", "/v1/tables/lake/"+s.schema+"/t", nil),
		joe.call("POST", main+"/validate", nil), joe.call("POST", main+"/discover", nil),
		joe.call("PATCH", main, map[string]any{"configName": "x"}), joe.call("DELETE", main, nil),
		joe.call("GET", org+"/policies", nil), joe.call("PATCH", org+"/config", map[string]any{}),
	} {
		code, _ := r.problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
	}
	// A workspace role never widens a row filter, nor who may change one.
	s.admin.ok("POST", org+"/policies", map[string]any{"definition": definition(`{"effect":"permit","subject":{"role":"builder"}}`)})
	require.Equal(t, 0.0, joe.count("crew.u"))
}
