package table_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestTablesAreListedDescribedAndResolved(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("sales/2024/orders", `SELECT i AS id, 'p' || (i % 2) AS part, i::DECIMAL(12,2) AS amount, [i, i] AS list FROM range(10) t(i)`,
		[]string{"part"},
		column{"id", "long"}, column{"part", "string"}, column{"amount", "decimal(12,2)"}, column{"list", "array<long>"})
	s.Table("a b", `SELECT 1 AS id`, nil, column{"id", "long"})
	s.Table("plain", `SELECT 1 AS id`, nil, column{"id", "long"})

	list := s.Admin.OK("GET", "/v1/tables", nil)["tables"].([]any)
	var found []string
	for _, l := range list {
		entry := l.(map[string]any)
		found = append(found, entry["table"].(string))
		require.Equal(t, "lake", entry["catalog"])
		require.Equal(t, s.Schema, entry["schema"])
		require.Equal(t, "live", entry["state"])
		require.NoError(t, uuid.Validate(entry["tableId"].(string)))
	}
	require.ElementsMatch(t, []string{"sales__2024__orders", "a_b", "plain"}, found)
	require.Len(t, s.Admin.OK("GET", "/v1/tables?schema="+s.Schema, nil)["tables"], 3)
	s.Admin.Call("GET", "/v1/tables?schema=nowhere", nil).Problem(t, 404)
	var paged []string
	token := ""
	for {
		page := s.Admin.OK("GET", "/v1/tables?page_size=2&page_token="+token, nil)
		for _, l := range page["tables"].([]any) {
			paged = append(paged, l.(map[string]any)["table"].(string))
		}
		next, more := page["nextPageToken"].(string)
		if !more {
			break
		}
		token = next
	}
	require.Equal(t, found, paged)

	orders := s.TablePath("sales__2024__orders")
	got := s.Admin.OK("GET", orders, nil)
	require.Equal(t, []any{"part"}, got["partitionColumns"])
	require.Equal(t, 10.0, got["rows"])
	require.Equal(t, 2.0, got["files"])
	require.Greater(t, got["bytes"], 0.0)
	require.Equal(t, got, s.Admin.OK("GET", orders+"/details", nil))
	s.Policy("sales__2024__orders", "", `{"effect":"permit","subject":{"role":"viewer"},"condition":{"column":"id","op":"lt","value":3}}`)
	s.Policy("sales__2024__orders", "", `{"effect":"permit","subject":{"role":"admin"}}`)
	filtered := s.Member("v@acme.example", "viewer", nil)
	less := filtered.OK("GET", orders+"/details", nil)
	require.Equal(t, filtered.OK("GET", orders, nil), less)
	require.Equal(t, got["version"], less["version"])
	for _, count := range []string{"files", "bytes", "rows"} {
		require.Contains(t, less, count)
		require.Nil(t, less[count], "%s tell of rows that the caller does not see", count)
	}
	require.Equal(t, 1.0, got["version"])
	require.NotNil(t, got["versionAt"])
	columns := s.Admin.OK("GET", orders+"/columns", nil)["columns"].([]any)
	require.Equal(t, got["columns"], columns)
	var types []string
	for _, c := range columns {
		c := c.(map[string]any)
		types = append(types, fmt.Sprintf("%s %s %v %v", c["name"], c["type"], c["nullable"], c["isPartition"]))
	}
	require.Equal(t, []string{"id long true false", "part string true true", "amount decimal(12,2) true false", "list array<long> true false"},
		types)

	history := s.Admin.OK("GET", orders+"/history", nil)["versions"].([]any)
	require.Len(t, history, 2)
	require.Equal(t, 1.0, history[0].(map[string]any)["version"])
	require.Equal(t, "WRITE", history[0].(map[string]any)["operation"])
	require.Equal(t, "CREATE TABLE", history[1].(map[string]any)["operation"])
	first := s.Admin.OK("GET", orders+"/history?page_size=1", nil)
	second := s.Admin.OK("GET", orders+"/history?page_size=1&page_token="+first["nextPageToken"].(string), nil)
	require.Equal(t, history, append(first["versions"].([]any), second["versions"].([]any)...))
	require.NotContains(t, second, "nextPageToken")

	require.Equal(t, map[string]any{"catalog": "lake", "schema": s.Schema, "table": "sales__2024__orders"},
		s.Admin.OK("GET", "/v1/tables/resolve/"+got["tableId"].(string), nil))
	s.Admin.Call("GET", "/v1/tables/resolve/"+uuid.NewString(), nil).Problem(t, 404)
	for _, missing := range []string{"/v1/tables/other/" + s.Schema + "/plain", "/v1/tables/lake/nowhere/plain", s.TablePath("nothing")} {
		for _, suffix := range []string{"", "/details", "/columns", "/history", "/rows", "/effective-policies"} {
			code, _ := s.Admin.Call("GET", missing+suffix, nil).Problem(t, 404)
			require.Equal(t, "not_found", code)
		}
	}
}

func TestTablesWithOneIdAreAmbiguousOnlyToCallersWhoSeeBoth(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	id := s.Admin.OK("GET", s.TablePath("t"), nil)["tableId"].(string)
	require.NoError(t, os.CopyFS(filepath.Join(s.Config.LocalRoots[0], "copy/t"), os.DirFS(dir)))
	ada := s.Member("ada@acme.example", "admin", nil)
	ada.OK("POST", harness.ConfigsPath, harness.LocalConfig("copy", "copy"))
	require.Equal(t, s.Schema, s.Admin.OK("GET", "/v1/tables/resolve/"+id, nil)["schema"], "a private copy is of no concern to others")
	code, _ := ada.Call("GET", "/v1/tables/resolve/"+id, nil).Problem(t, 409)
	require.Equal(t, "table_id_ambiguous", code)
}

func TestARenamedTableKeepsItsIdAndItsRules(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	s.Table("u", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	p := s.Policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	id := s.Admin.OK("GET", s.TablePath("t"), nil)["tableId"].(string)
	renamed := s.Admin.OK("PATCH", s.TablePath("t"), map[string]any{"name": "Better_name"})
	require.Equal(t, "Better_name", renamed["table"])
	require.Equal(t, id, renamed["tableId"])
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+`."Better_name"`))
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+`."BETTER_NAME"`))
	require.Equal(t, "Better_name", s.Admin.OK("GET", "/v1/tables/resolve/"+id, nil)["table"])
	s.Admin.Call("GET", s.TablePath("t"), nil).Problem(t, 404)
	policy := s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+p["id"].(string), nil)
	require.Equal(t, "lake."+s.Schema+".Better_name", policy["tableFqn"])
	require.Equal(t, 1.0, policy["version"])
	s.Discover()
	require.Equal(t, id, s.Admin.OK("GET", s.TablePath("Better_name"), nil)["tableId"], "discovery keeps the name")
	s.Admin.OK("PATCH", s.TablePath("Better_name"), map[string]any{"name": "better_NAME"})

	code, fields := s.Admin.Call("PATCH", s.TablePath("better_name"), map[string]any{"name": "U"}).Problem(t, 409)
	require.Equal(t, "already_exists", code)
	require.Equal(t, []string{"name"}, fields)
	for _, bad := range []string{"", strings.Repeat("x", 201), "a\x00b", "a\nb", "a b", "1a", "a.b"} {
		_, fields := s.Admin.Call("PATCH", s.TablePath("u"), map[string]any{"name": bad}).Problem(t, 422)
		require.Equal(t, []string{"name"}, fields, "%q", bad)
	}
}

func TestDroppedTableStaysUnregisteredUntilRequested(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	s.Policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	require.Empty(t, s.Admin.OK("DELETE", s.TablePath("t"), nil))
	gone := func() {
		s.Admin.Call("GET", s.TablePath("t"), nil).Problem(t, 404)
		s.Admin.Call("DELETE", s.TablePath("t"), nil).Problem(t, 404)
		code, _ := s.Admin.Query("SELECT * FROM "+s.Schema+".t").Problem(t, 400)
		require.Equal(t, "table_not_found", code)
		require.Empty(t, s.Admin.OK("GET", "/v1/tables", nil)["tables"])
	}
	gone()
	require.Equal(t, 0.0, s.Discover()["tablesAdded"])
	gone()
	config := s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	back := s.Admin.OK("POST", harness.ConfigsPath+"/"+config+"/discover", map[string]any{"includeDropped": true})
	require.Equal(t, 1.0, back["tablesAdded"])
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"), "its rules stayed with it")
}

func TestVanishedTablesAreReported(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	s.Table("u", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	s.Policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.NoError(t, os.Rename(dir+".away", filepath.Join(t.TempDir(), "t")))
	for range 3 { // before, between and after the discoveries that miss it
		for _, r := range []harness.Reply{
			s.Admin.Query("SELECT * FROM " + s.Schema + ".t"), s.Admin.Call("GET", s.TablePath("t"), nil),
			s.Admin.Call("GET", s.TablePath("t")+"/rows", nil),
			s.Admin.Call("GET", s.TablePath("t")+"/columns", nil), s.Admin.Call("GET", s.TablePath("t")+"/history", nil),
		} {
			code, _ := r.Problem(t, 409)
			require.Equal(t, "table_vanished", code)
			require.NotContains(t, string(r.Body), s.Root)
		}
		require.Equal(t, 3.0, s.Admin.Count(s.Schema+".u"))
		s.Discover()
	}
	harness.WriteTable(t, dir, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	code, _ := s.Admin.Query("SELECT * FROM "+s.Schema+".t").Problem(t, 409)
	require.Equal(t, "table_identity_changed", code, "another table in its place does not get in by the back door")
}

// TestAnotherRootIsUnavailable puts an empty directory in the place of a local root, as if its disk were
// not mounted any more.
func TestAnotherRootIsUnavailable(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	discover := ""
	for _, c := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].(list) {
		if c := c.(object); c["schema"] == s.Schema {
			discover = harness.ConfigsPath + "/" + c["configId"].(string) + "/discover"
		}
	}
	require.NoError(t, os.Rename(s.Root, s.Root+".away"))
	require.NoError(t, os.Mkdir(s.Root, 0o750))
	for range 3 {
		code, _ := s.Admin.Call("POST", discover, nil).Problem(t, 503)
		require.Equal(t, "storage_unavailable", code)
	}
	require.NoError(t, os.Remove(s.Root))
	require.NoError(t, os.Rename(s.Root+".away", s.Root))
	require.Equal(t, 3.0, s.Admin.Count(s.Schema+".t"))
	found := s.Admin.OK("POST", discover, nil)
	require.Equal(t, []any{1.0, 0.0, 0.0}, []any{found["tablesFound"], found["tablesMissing"], found["tablesVanished"]})
}

// replace puts another Delta table where one was.
func replace(s *harness.Server, name, sql string, columns ...column) {
	s.T.Helper()
	require.NoError(s.T, os.RemoveAll(filepath.Join(s.Root, name)))
	harness.WriteTable(s.T, filepath.Join(s.Root, name), sql, nil, columns...)
}

func TestAnotherTableInAGovernedFolderStaysClosed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, keep := range []bool{true, false} {
		name := fmt.Sprintf("t_%v", keep)
		s.Table(name, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
		s.Policy(name, "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
		require.Equal(t, 4.0, s.Admin.Count(s.Schema+"."+name))
		old := s.Admin.OK("GET", s.TablePath(name), nil)["tableId"].(string)
		replace(s, name, `SELECT i AS id FROM range(20) t(i)`, column{"id", "long"})

		builder := s.Member(name+"@acme.example", "builder", nil)
		for range 2 { // the first one finds it out
			for _, r := range []harness.Reply{
				builder.Query("SELECT count(*) FROM " + s.Schema + "." + name), s.Admin.Query("SUMMARIZE " + s.Schema + "." + name),
				s.Admin.Query("DESCRIBE " + s.Schema + "." + name), s.Admin.Query("SELECT * FROM " + s.Schema + "." + name + " AT (VERSION => 0)"),
				builder.Call("GET", s.TablePath(name)+"/rows", nil), s.Admin.Call("GET", s.TablePath(name), nil),
				s.Admin.Call("GET", s.TablePath(name)+"/columns", nil), s.Admin.Call("GET", s.TablePath(name)+"/history", nil),
				s.Admin.Call("GET", s.TablePath(name)+"/effective-policies", nil),
				s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/simulate",
					map[string]any{"tableFqn": "lake." + s.Schema + "." + name, "role": "viewer"}),
			} {
				code, _ := r.Problem(t, http.StatusConflict)
				require.Equal(t, "table_identity_changed", code)
			}
			s.Discover()
		}
		require.Contains(t, string(s.Admin.Call("GET", "/v1/tables", nil).Body), "identity_changed")
		code, _ := builder.Call("POST", s.TablePath(name)+"/adopt-identity", map[string]any{"keep_rules": keep}).Problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
		s.Admin.Call("POST", s.TablePath(name)+"/adopt-identity", nil).Problem(t, 400)
		for _, undecided := range []object{{}, {"keep_rules": keep, "keepRules": keep}, {"keep_rules": nil}} {
			_, fields := s.Admin.Call("POST", s.TablePath(name)+"/adopt-identity", undecided).Problem(t, 422)
			require.Equal(t, []string{"keep_rules"}, fields)
		}
		spelled := map[bool]string{true: "keep_rules", false: "keepRules"}[keep]
		adopted := s.Admin.OK("POST", s.TablePath(name)+"/adopt-identity", map[string]any{spelled: keep})
		require.Equal(t, "live", adopted["state"])
		require.NotEqual(t, old, adopted["tableId"])
		require.Equal(t, map[bool]float64{true: 4, false: 20}[keep], s.Admin.Count(s.Schema+"."+name))
		code, _ = s.Admin.Call("POST", s.TablePath(name)+"/adopt-identity", map[string]any{"keep_rules": true}).Problem(t, 409)
		require.Equal(t, "table_state", code)
	}
}

func TestAnotherTableInAnUngovernedFolderIsServed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	require.Equal(t, 10.0, s.Admin.Count(s.Schema+".t"))
	old := s.Admin.OK("GET", s.TablePath("t"), nil)["tableId"]
	replace(s, "t", `SELECT 'x' AS word FROM range(3)`, column{"word", "string"})
	require.Equal(t, []any{[]any{"x"}, []any{"x"}, []any{"x"}}, s.Admin.Rows("SELECT * FROM "+s.Schema+".t"))
	got := s.Admin.OK("GET", s.TablePath("t"), nil)
	require.NotEqual(t, old, got["tableId"])
	require.Equal(t, "word", got["columns"].([]any)[0].(map[string]any)["name"])
	s.Admin.Call("GET", "/v1/tables/resolve/"+old.(string), nil).Problem(t, 404)
}
