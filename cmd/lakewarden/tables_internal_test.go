package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func (s *testServer) tablePath(name string) string { return "/v1/tables/lake/" + s.schema + "/" + name }

func TestTablesAreListedDescribedAndResolved(t *testing.T) {
	s := startServer(t, nil)
	s.table("sales/2024/orders", `SELECT i AS id, 'p' || (i % 2) AS part, i::DECIMAL(12,2) AS amount, [i, i] AS list FROM range(10) t(i)`, []string{"part"},
		column{"id", "long"}, column{"part", "string"}, column{"amount", "decimal(12,2)"}, column{"list", "array<long>"})
	s.table("a b", `SELECT 1 AS id`, nil, column{"id", "long"})
	s.table("plain", `SELECT 1 AS id`, nil, column{"id", "long"})

	list := s.admin.ok("GET", "/v1/tables", nil)["tables"].([]any)
	var found []string
	for _, l := range list {
		entry := l.(map[string]any)
		found = append(found, entry["table"].(string))
		require.Equal(t, "lake", entry["catalog"])
		require.Equal(t, s.schema, entry["schema"])
		require.Equal(t, "live", entry["state"])
		require.NoError(t, uuid.Validate(entry["tableId"].(string)))
	}
	require.ElementsMatch(t, []string{"sales__2024__orders", "a_b", "plain"}, found)
	require.Len(t, s.admin.ok("GET", "/v1/tables?schema="+s.schema, nil)["tables"], 3)
	s.admin.call("GET", "/v1/tables?schema=nowhere", nil).problem(t, 404)
	var paged []string
	token := ""
	for {
		page := s.admin.ok("GET", "/v1/tables?page_size=2&page_token="+token, nil)
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

	orders := s.tablePath("sales__2024__orders")
	got := s.admin.ok("GET", orders, nil)
	require.Equal(t, []any{"part"}, got["partitionColumns"])
	require.Equal(t, 10.0, got["rows"])
	require.Equal(t, 2.0, got["files"])
	require.Greater(t, got["bytes"], 0.0)
	require.Equal(t, got, s.admin.ok("GET", orders+"/details", nil))
	s.policy("sales__2024__orders", "", `{"effect":"permit","subject":{"role":"viewer"},"condition":{"column":"id","op":"lt","value":3}}`)
	s.policy("sales__2024__orders", "", `{"effect":"permit","subject":{"role":"admin"}}`)
	filtered := s.member("v@acme.example", "viewer", nil)
	less := filtered.ok("GET", orders+"/details", nil)
	require.Equal(t, filtered.ok("GET", orders, nil), less)
	require.Equal(t, got["version"], less["version"])
	for _, count := range []string{"files", "bytes", "rows"} {
		require.Contains(t, less, count)
		require.Nil(t, less[count], "%s tell of rows that the caller does not see", count)
	}
	require.Equal(t, 1.0, got["version"])
	require.NotNil(t, got["versionAt"])
	columns := s.admin.ok("GET", orders+"/columns", nil)["columns"].([]any)
	require.Equal(t, got["columns"], columns)
	var types []string
	for _, c := range columns {
		c := c.(map[string]any)
		types = append(types, fmt.Sprintf("%s %s %v %v", c["name"], c["type"], c["nullable"], c["isPartition"]))
	}
	require.Equal(t, []string{"id long true false", "part string true true", "amount decimal(12,2) true false", "list array<long> true false"}, types)

	history := s.admin.ok("GET", orders+"/history", nil)["versions"].([]any)
	require.Len(t, history, 2)
	require.Equal(t, 1.0, history[0].(map[string]any)["version"])
	require.Equal(t, "WRITE", history[0].(map[string]any)["operation"])
	require.Equal(t, "CREATE TABLE", history[1].(map[string]any)["operation"])
	first := s.admin.ok("GET", orders+"/history?page_size=1", nil)
	second := s.admin.ok("GET", orders+"/history?page_size=1&page_token="+first["nextPageToken"].(string), nil)
	require.Equal(t, history, append(first["versions"].([]any), second["versions"].([]any)...))
	require.NotContains(t, second, "nextPageToken")

	require.Equal(t, map[string]any{"catalog": "lake", "schema": s.schema, "table": "sales__2024__orders"},
		s.admin.ok("GET", "/v1/tables/resolve/"+got["tableId"].(string), nil))
	s.admin.call("GET", "/v1/tables/resolve/"+uuid.NewString(), nil).problem(t, 404)
	for _, missing := range []string{"/v1/tables/other/" + s.schema + "/plain", "/v1/tables/lake/nowhere/plain", s.tablePath("nothing")} {
		for _, suffix := range []string{"", "/details", "/columns", "/history", "/rows", "/effective-policies"} {
			code, _ := s.admin.call("GET", missing+suffix, nil).problem(t, 404)
			require.Equal(t, "not_found", code)
		}
	}
}

func TestTwoTablesWithOneIdAreAmbiguousOnlyToWhomSeesBoth(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	id := s.admin.ok("GET", s.tablePath("t"), nil)["tableId"].(string)
	require.NoError(t, os.CopyFS(filepath.Join(s.config.LocalRoots[0], "copy/t"), os.DirFS(dir)))
	ada := s.member("ada@acme.example", "admin", nil)
	ada.ok("POST", configsPath, local("copy", "copy"))
	require.Equal(t, s.schema, s.admin.ok("GET", "/v1/tables/resolve/"+id, nil)["schema"], "a private copy is of no concern to others")
	code, _ := ada.call("GET", "/v1/tables/resolve/"+id, nil).problem(t, 409)
	require.Equal(t, "table_id_ambiguous", code)
}

func TestARenamedTableKeepsItsIdAndItsRules(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	s.table("u", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	p := s.policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	id := s.admin.ok("GET", s.tablePath("t"), nil)["tableId"].(string)
	renamed := s.admin.ok("PATCH", s.tablePath("t"), map[string]any{"name": "Better_name"})
	require.Equal(t, "Better_name", renamed["table"])
	require.Equal(t, id, renamed["tableId"])
	require.Equal(t, 4.0, s.admin.count(s.schema+`."Better_name"`))
	require.Equal(t, 4.0, s.admin.count(s.schema+`."BETTER_NAME"`))
	require.Equal(t, "Better_name", s.admin.ok("GET", "/v1/tables/resolve/"+id, nil)["table"])
	s.admin.call("GET", s.tablePath("t"), nil).problem(t, 404)
	policy := s.admin.ok("GET", "/v1/organisations/"+s.boot.OrganisationID+"/policies/"+p["id"].(string), nil)
	require.Equal(t, "lake."+s.schema+".Better_name", policy["tableFqn"])
	require.Equal(t, 1.0, policy["version"])
	s.discover()
	require.Equal(t, id, s.admin.ok("GET", s.tablePath("Better_name"), nil)["tableId"], "discovery keeps the name")
	s.admin.ok("PATCH", s.tablePath("Better_name"), map[string]any{"name": "better_NAME"})

	code, fields := s.admin.call("PATCH", s.tablePath("better_name"), map[string]any{"name": "U"}).problem(t, 409)
	require.Equal(t, "already_exists", code)
	require.Equal(t, []string{"name"}, fields)
	for _, bad := range []string{"", strings.Repeat("x", 201), "a\x00b", "a\nb", "a b", "1a", "a.b"} {
		_, fields := s.admin.call("PATCH", s.tablePath("u"), map[string]any{"name": bad}).problem(t, 422)
		require.Equal(t, []string{"name"}, fields, "%q", bad)
	}
}

func TestADroppedTableStaysAwayUntilAskedFor(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	s.policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	require.Empty(t, s.admin.ok("DELETE", s.tablePath("t"), nil))
	gone := func() {
		s.admin.call("GET", s.tablePath("t"), nil).problem(t, 404)
		s.admin.call("DELETE", s.tablePath("t"), nil).problem(t, 404)
		code, _ := s.admin.query("SELECT * FROM "+s.schema+".t").problem(t, 400)
		require.Equal(t, "table_not_found", code)
		require.Empty(t, s.admin.ok("GET", "/v1/tables", nil)["tables"])
	}
	gone()
	require.Equal(t, 0.0, s.discover()["tablesAdded"])
	gone()
	config := s.admin.ok("GET", configsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	back := s.admin.ok("POST", configsPath+"/"+config+"/discover", map[string]any{"includeDropped": true})
	require.Equal(t, 1.0, back["tablesAdded"])
	require.Equal(t, 4.0, s.admin.count(s.schema+".t"), "its rules stayed with it")
}

func TestATableThatVanishesIsSaidToHaveVanished(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	s.table("u", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	s.policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	require.Equal(t, 4.0, s.admin.count(s.schema+".t"))
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.NoError(t, os.Rename(dir+".away", filepath.Join(t.TempDir(), "t")))
	for range 2 { // before and after discovery has seen it
		for _, r := range []reply{
			s.admin.query("SELECT * FROM " + s.schema + ".t"), s.admin.call("GET", s.tablePath("t"), nil), s.admin.call("GET", s.tablePath("t")+"/rows", nil),
			s.admin.call("GET", s.tablePath("t")+"/columns", nil), s.admin.call("GET", s.tablePath("t")+"/history", nil),
		} {
			code, _ := r.problem(t, 409)
			require.Equal(t, "table_vanished", code)
			require.NotContains(t, string(r.body), s.root)
		}
		require.Equal(t, 3.0, s.admin.count(s.schema+".u"))
		s.discover()
	}
	writeTable(t, dir, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	code, _ := s.admin.query("SELECT * FROM "+s.schema+".t").problem(t, 409)
	require.Equal(t, "table_identity_changed", code, "another table in its place does not get in by the back door")
}

// replace puts another Delta table where one was.
func (s *testServer) replace(name, sql string, columns ...column) {
	s.t.Helper()
	require.NoError(s.t, os.RemoveAll(filepath.Join(s.root, name)))
	writeTable(s.t, filepath.Join(s.root, name), sql, nil, columns...)
}

func TestAnotherTableInAGovernedPlaceStaysClosed(t *testing.T) {
	s := startServer(t, nil)
	for _, keep := range []bool{true, false} {
		name := fmt.Sprintf("t_%v", keep)
		s.table(name, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
		s.policy(name, "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
		require.Equal(t, 4.0, s.admin.count(s.schema+"."+name))
		old := s.admin.ok("GET", s.tablePath(name), nil)["tableId"].(string)
		s.replace(name, `SELECT i AS id FROM range(20) t(i)`, column{"id", "long"})

		builder := s.member(name+"@acme.example", "builder", nil)
		for range 2 { // the first one finds it out
			for _, r := range []reply{
				builder.query("SELECT count(*) FROM " + s.schema + "." + name), s.admin.query("SUMMARIZE " + s.schema + "." + name),
				s.admin.query("DESCRIBE " + s.schema + "." + name), s.admin.query("SELECT * FROM " + s.schema + "." + name + " AT (VERSION => 0)"),
				builder.call("GET", s.tablePath(name)+"/rows", nil), s.admin.call("GET", s.tablePath(name), nil),
				s.admin.call("GET", s.tablePath(name)+"/columns", nil), s.admin.call("GET", s.tablePath(name)+"/history", nil),
				s.admin.call("GET", s.tablePath(name)+"/effective-policies", nil),
				s.admin.call("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies/simulate", map[string]any{"tableFqn": "lake." + s.schema + "." + name, "role": "viewer"}),
			} {
				code, _ := r.problem(t, http.StatusConflict)
				require.Equal(t, "table_identity_changed", code)
			}
			s.discover()
		}
		require.Contains(t, string(s.admin.call("GET", "/v1/tables", nil).body), "identity_changed")
		code, _ := builder.call("POST", s.tablePath(name)+"/adopt-identity", map[string]any{"keep_rules": keep}).problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
		s.admin.call("POST", s.tablePath(name)+"/adopt-identity", nil).problem(t, 400)
		for _, undecided := range []object{{}, {"keep_rules": keep, "keepRules": keep}, {"keep_rules": nil}} {
			_, fields := s.admin.call("POST", s.tablePath(name)+"/adopt-identity", undecided).problem(t, 422)
			require.Equal(t, []string{"keep_rules"}, fields)
		}
		spelled := map[bool]string{true: "keep_rules", false: "keepRules"}[keep]
		adopted := s.admin.ok("POST", s.tablePath(name)+"/adopt-identity", map[string]any{spelled: keep})
		require.Equal(t, "live", adopted["state"])
		require.NotEqual(t, old, adopted["tableId"])
		require.Equal(t, map[bool]float64{true: 4, false: 20}[keep], s.admin.count(s.schema+"."+name))
		code, _ = s.admin.call("POST", s.tablePath(name)+"/adopt-identity", map[string]any{"keep_rules": true}).problem(t, 409)
		require.Equal(t, "table_state", code)
	}
}

func TestAnotherTableInAnUngovernedPlaceJustWorks(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	require.Equal(t, 10.0, s.admin.count(s.schema+".t"))
	old := s.admin.ok("GET", s.tablePath("t"), nil)["tableId"]
	s.replace("t", `SELECT 'x' AS word FROM range(3)`, column{"word", "string"})
	require.Equal(t, []any{[]any{"x"}, []any{"x"}, []any{"x"}}, s.admin.rows("SELECT * FROM "+s.schema+".t"))
	got := s.admin.ok("GET", s.tablePath("t"), nil)
	require.NotEqual(t, old, got["tableId"])
	require.Equal(t, "word", got["columns"].([]any)[0].(map[string]any)["name"])
	s.admin.call("GET", "/v1/tables/resolve/"+old.(string), nil).problem(t, 404)
}
