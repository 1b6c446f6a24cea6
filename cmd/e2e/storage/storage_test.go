package storage_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestLocalStorageLiesBelowTheAllowedRoots(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	s := harness.Start(t, func(c *harness.Settings) { c.LocalRoots = append(c.LocalRoots, second) })
	root := s.Config.LocalRoots[0]
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "way-out")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))

	relative := s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("Relative One", "a/b"))
	require.Equal(t, "relative_one", relative["slug"])
	require.Equal(t, "cfg_"+strings.ReplaceAll(relative["configId"].(string), "-", ""), relative["schema"])
	require.Nil(t, relative["workspaceId"])
	require.Equal(t, s.Admin.User, relative["ownerUserId"])
	require.DirExists(t, filepath.Join(root, "a/b"))
	require.NotContains(t, relative, "location")
	s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("absolute", filepath.Join(root, "c")))
	s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("second root", filepath.Join(second, "d")))

	for _, bad := range []string{
		outside, "/", "/etc", filepath.Join(root, "..", "x"), "../x", "a/../../x", "way-out", "way-out/x", filepath.Join(root, "way-out"),
		root + "x", "x\x00y", strings.Repeat("x", 300), "file", "file/x", ".", root,
	} {
		if bad == "." || bad == root { // the allowed root itself holds the other configurations
			code, _ := s.Admin.Call("POST", harness.ConfigsPath, harness.LocalConfig("bad", bad)).Problem(t, 409)
			require.Equal(t, "location_taken", code, bad)
			continue
		}
		r := s.Admin.Call("POST", harness.ConfigsPath, harness.LocalConfig("bad", bad))
		_, fields := r.Problem(t, 422)
		require.Equal(t, []string{"root"}, fields, bad)
		require.NotContains(t, string(r.Body), root)
	}
	for _, taken := range []string{"a/b", "a", "a/b/deeper", filepath.Join(root, "c"), "./a//b/"} {
		r := s.Admin.Call("POST", harness.ConfigsPath, harness.LocalConfig("again", taken))
		code, _ := r.Problem(t, 409)
		require.Equal(t, "location_taken", code, taken)
	}
	require.Len(t, s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"], 4, "nothing is half-registered")
	require.NoFileExists(t, filepath.Join(outside, "x"))

	for field, body := range map[string]map[string]any{
		"root":       {"configName": "x", "kind": "local"},
		"provider":   {"configName": "x", "kind": "delegated"},
		"configName": {"configName": "", "kind": "local", "root": "x"},
	} {
		_, fields := s.Admin.Call("POST", harness.ConfigsPath, body).Problem(t, 422)
		require.Equal(t, []string{field}, fields)
	}
	body := harness.LocalConfig("x", "x")
	body["workspaceId"] = uuid.NewString()
	_, fields := s.Admin.Call("POST", harness.ConfigsPath, body).Problem(t, 422)
	require.Equal(t, []string{"workspaceId"}, fields)
}

func TestOnlyAdministratorsNameDirectories(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, role := range []string{"viewer", "editor", "builder"} {
		code, _ := s.Member(role+"@acme.example", role, nil).Call("POST", harness.ConfigsPath, harness.LocalConfig("x", "x")).Problem(t, 403)
		require.Contains(t, []string{"forbidden", "insufficient_scope"}, code)
	}
	require.NoDirExists(t, filepath.Join(s.Config.LocalRoots[0], "x"))
}

// TestSecondOrganisationIsToldTheSettingForLocalStorage checks that the refusal names the
// operator's setting.
func TestSecondOrganisationIsToldTheSettingForLocalStorage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	other, _ := s.Organisation("other")
	r := other.Call("POST", harness.ConfigsPath, harness.LocalConfig("x", "x"))
	_, fields := r.Problem(t, 422)
	require.Equal(t, []string{"root"}, fields)
	require.Contains(t, string(r.Body), "LAKEWARDEN_LOCAL_ROOTS")
	require.Contains(t, string(r.Body), "{org}")
}

func TestStorageConfigsAreReadRenamedTriedAndRemoved(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	list := s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any)
	require.Len(t, list, 1)
	id := list[0].(map[string]any)["configId"].(string)
	path := harness.ConfigsPath + "/" + id
	got := s.Admin.OK("GET", path, nil)
	require.Equal(t, list[0], got)
	require.Equal(t, "main_data", got["slug"])
	require.Equal(t, s.Boot.WorkspaceID, got["workspaceId"])
	require.NotNil(t, got["discoveredAt"])

	// Every form of the schema's name.
	dashed := "cfg_" + id
	for _, schema := range []string{s.Schema, strings.ToUpper(s.Schema), "main_data", "MAIN_DATA", dashed} {
		require.Equal(t, s.Schema, s.Admin.OK("GET", "/v1/tables/lake/"+schema+"/t", nil)["schema"], schema)
		require.Equal(t, 1.0, s.Admin.Count(`lake."`+schema+`".t`), schema)
	}
	renamed := s.Admin.OK("PATCH", path, map[string]any{"configName": "Other Data"})
	require.Equal(t, "other_data", renamed["slug"])
	require.Equal(t, 1.0, s.Admin.Count("other_data.t"))
	code, _ := s.Admin.Query("SELECT 1 FROM main_data.t").Problem(t, 400)
	require.Equal(t, "table_not_found", code)
	require.Equal(t, "other_data", s.Admin.OK("PATCH", path, map[string]any{})["slug"], "nothing sent, nothing changed")

	report := s.Admin.OK("POST", path+"/validate", nil)
	require.Equal(t, true, report["valid"])
	var checks []string
	for _, c := range report["checks"].([]any) {
		require.Equal(t, true, c.(map[string]any)["ok"])
		checks = append(checks, c.(map[string]any)["name"].(string))
	}
	for _, name := range []string{"list", "put", "get", "delete"} {
		require.Contains(t, checks, name)
	}
	entries, err := os.ReadDir(s.Root)
	require.NoError(t, err)
	require.Len(t, entries, 1, "a trial leaves nothing behind")

	require.Empty(t, s.Admin.OK("DELETE", path, nil))
	s.Admin.Call("GET", path, nil).Problem(t, 404)
	s.Admin.Call("POST", path+"/discover", nil).Problem(t, 404)
	require.FileExists(t, filepath.Join(s.Root, "t/_delta_log/00000000000000000000.json"), "data stays")
	s.Admin.Query("SELECT 1 FROM "+s.Schema+".t").Problem(t, 400)
	again := s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("main data", "main"))
	require.Equal(t, 1.0, s.Admin.Count(again["schema"].(string)+".t"))
}

func TestAmbiguousSlugsNeedTheId(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	harness.WriteTable(t, filepath.Join(s.Config.LocalRoots[0], "two/t"), `SELECT 1 AS id`, nil, column{"id", "long"})
	two := s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("Main  data", "two"))
	if two["slug"] == "main_data" {
		code, _ := s.Admin.Query("SELECT 1 FROM main_data.t").Problem(t, 400)
		require.Equal(t, "ambiguous_name", code)
		code, _ = s.Admin.Call("GET", "/v1/tables/lake/main_data/t", nil).Problem(t, 409)
		require.Equal(t, "ambiguous", code)
	}
	require.Equal(t, 1.0, s.Admin.Count(two["schema"].(string)+".t"))
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".t"))
}

func TestOrganisationsDoNotShareDirectories(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) {
		c.LocalRoots = append(c.LocalRoots, filepath.Join(c.DataDir, "tenants", "{org}"))
	})
	s.Table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	other, boot := s.Organisation("globex")
	tenants := filepath.Join(s.Config.DataDir, "tenants")
	for _, root := range []string{s.Root, filepath.Join(s.Config.LocalRoots[0], "new"), filepath.Join(tenants, s.Boot.OrganisationID, "x"),
		tenants} {
		_, fields := other.Call("POST", harness.ConfigsPath, harness.LocalConfig("theirs", root)).Problem(t, 422)
		require.Equal(t, []string{"root"}, fields, root)
	}
	mine := other.OK("POST", harness.ConfigsPath, harness.LocalConfig("mine", "data"))
	require.DirExists(t, filepath.Join(tenants, boot.OrganisationID, "data"))
	require.Len(t, other.OK("GET", harness.ConfigsPath, nil)["configs"], 1)
	require.Len(t, s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"], 1)
	s.Admin.Call("GET", harness.ConfigsPath+"/"+mine["configId"].(string), nil).Problem(t, 404)
	code, _ := other.Query("SELECT 1 FROM "+s.Schema+".t").Problem(t, 400)
	require.Equal(t, "table_not_found", code)
	require.NotContains(t, string(other.Query("SHOW TABLES").Body), s.Schema)
}

func TestTheSecondOrganisationHasNoLocalStorageByDefault(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	other, _ := s.Organisation("globex")
	_, fields := other.Call("POST", harness.ConfigsPath, harness.LocalConfig("x", "main")).Problem(t, 422)
	require.Equal(t, []string{"root"}, fields)
}

func TestPersonalAndWorkspaceConfigsAreVisibleToTheirPeopleOnly(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	root := s.Config.LocalRoots[0]
	org := "/v1/organisations/" + s.Boot.OrganisationID
	for _, name := range []string{"personal", "team"} {
		harness.WriteTable(t, filepath.Join(root, name, name), `SELECT 1 AS id`, nil, column{"id", "long"})
	}
	personal := s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("personal", "personal"))
	team := s.Admin.OK("POST", org+"/workspaces", map[string]any{"name": "team"})["id"].(string)
	inTeam, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": team})
	body := harness.LocalConfig("team", "team")
	body["workspaceId"] = team
	shared := inTeam.OK("POST", harness.ConfigsPath, body)

	ada := s.Member("ada@acme.example", "admin", nil)
	joe := s.Member("joe@acme.example", "viewer", nil)
	s.Admin.OK("PUT", org+"/workspaces/"+team+"/members/"+joe.User, map[string]string{"role": "viewer"})
	keyIn := func(c *harness.Client, workspace string) *harness.Client { // keys made by the command line reach every workspace
		store, err := s.OpenCatalog(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		key, err := harness.MakeKeyIn(t.Context(), store, s.Boot.OrganisationID, c.User, workspace)
		require.NoError(t, err)
		return s.Client(key, c.User)
	}
	joeInTeam := keyIn(joe, team)
	for _, c := range []struct {
		name                   string
		who                    *harness.Client
		seesPersonal, seesTeam bool
	}{
		{"owner", s.Admin, true, true}, {"owner with a key of the team", inTeam, true, true},
		{"owner with a plain key", keyIn(s.Admin, s.Boot.WorkspaceID), true, false}, {"another administrator", ada, false, false},
		{"member", joe, false, true}, {"member with a key of the team", joeInTeam, false, true},
		{"member with a plain key", keyIn(joe, s.Boot.WorkspaceID), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, config := range []struct {
				record map[string]any
				name   string
				sees   bool
			}{{personal, "personal", c.seesPersonal}, {shared, "team", c.seesTeam}} {
				status := map[bool]int{true: 200, false: 404}[config.sees]
				schema := config.record["schema"].(string)
				require.Equal(t, status, c.who.Call("GET", harness.ConfigsPath+"/"+config.record["configId"].(string), nil).Status)
				require.Equal(t, status, c.who.Call("GET", "/v1/tables/lake/"+schema+"/"+config.name, nil).Status)
				require.Equal(t, status, c.who.Call("GET", "/v1/tables/lake/"+config.name+"/"+config.name+"/columns", nil).Status)
				require.Equal(t, map[bool]int{true: 200, false: 400}[config.sees], c.who.Query("SELECT * FROM "+schema+"."+config.name).Status)
				require.Equal(t, config.sees, strings.Contains(string(c.who.Call("GET", harness.ConfigsPath, nil).Body), schema))
				require.Equal(t, config.sees, strings.Contains(string(c.who.Call("GET", "/v1/tables", nil).Body), schema))
				require.Equal(t, config.sees, strings.Contains(string(c.who.Query("SHOW ALL TABLES").Body), schema))
			}
		})
	}
	// A member who leaves loses it with the next statement.
	require.Equal(t, http.StatusOK, joeInTeam.Query("SELECT * FROM team.team").Status)
	s.Admin.OK("DELETE", org+"/workspaces/"+team+"/members/"+joe.User, nil)
	joeInTeam.Query("SELECT * FROM team.team").Problem(t, 400)
	joeInTeam.Call("GET", harness.ConfigsPath+"/"+shared["configId"].(string), nil).Problem(t, 404)
}

// TestWorkspaceRoleAppliesInItsWorkspace checks that a viewer of the organisation who is
// a builder of a workspace may build there and nowhere else.
func TestWorkspaceRoleAppliesInItsWorkspace(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	team := s.Admin.OK("POST", org+"/workspaces", map[string]any{"name": "team"})["id"].(string)
	inTeam, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}, "workspace_id": team})
	harness.WriteTable(t, filepath.Join(s.Config.LocalRoots[0], "team/t"), `SELECT 1 AS id`, nil, column{"id", "long"})
	body := harness.LocalConfig("team", "team")
	body["workspaceId"] = team
	config := harness.ConfigsPath + "/" + inTeam.OK("POST", harness.ConfigsPath, body)["configId"].(string)
	joe := s.Member("joe@acme.example", "viewer", nil)
	s.Admin.OK("PUT", org+"/workspaces/"+team+"/members/"+joe.User, map[string]string{"role": "builder"})
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	key, err := harness.MakeKeyIn(t.Context(), store, s.Boot.OrganisationID, joe.User, team)
	require.NoError(t, err)
	joe = s.Client(key, joe.User)

	require.Equal(t, "u", joe.OK("PATCH", "/v1/tables/lake/team/t", map[string]any{"name": "u"})["table"])
	require.Equal(t, true, joe.OK("POST", config+"/validate", nil)["valid"])
	require.Equal(t, 1.0, joe.OK("POST", config+"/discover", nil)["tablesFound"])
	require.Equal(t, "crew", joe.OK("PATCH", config, map[string]any{"configName": "crew"})["slug"])
	main := harness.ConfigsPath + "/" + s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	for _, r := range []harness.Reply{
		joe.Call("PATCH", "/v1/tables/lake/"+s.Schema+"/t", map[string]any{"name": "u"}),
		joe.Call("DELETE", "/v1/tables/lake/"+s.Schema+"/t", nil),
		joe.Call("POST", main+"/validate", nil), joe.Call("POST", main+"/discover", nil),
		joe.Call("PATCH", main, map[string]any{"configName": "x"}), joe.Call("DELETE", main, nil),
		joe.Call("GET", org+"/policies", nil), joe.Call("PATCH", org+"/config", map[string]any{}),
	} {
		code, _ := r.Problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
	}
	// A workspace role never widens a row filter, nor who may change one.
	s.Admin.OK("POST", org+"/policies", map[string]any{"definition": harness.Definition(`{"effect":"permit","subject":{"role":"builder"}}`)})
	require.Equal(t, 0.0, joe.Count("crew.u"))
}
