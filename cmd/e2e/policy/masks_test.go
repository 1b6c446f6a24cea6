package policy_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// pageToken is bound to the table's name.
var pageToken = regexp.MustCompile(`"next_page_token":"[^"]*"`)

// TestAHiddenColumnIsAMissingColumn compares a table of which two columns are
// hidden with a twin that never had them: nothing tells them apart.
func TestAHiddenColumnIsAMissingColumn(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("wide", harness.MaskedRows, nil, column{"id", "long"}, column{"name", "string"}, column{"ssn", "string"}, column{"pay", "double"},
		column{"home", "struct<city:string,zip:integer>"})
	s.Table("twin", harness.TwinRows, nil, column{"id", "long"}, column{"name", "string"}, column{"pay", "double"})
	s.Rule("cls", "wide", "SSN", harness.ViewersNot)
	s.Rule("cls", "wide", "home", harness.AdminsSee)
	ana := s.Member("ana@acme.example", "viewer", nil)
	alike := func(a harness.Ask) harness.Answer {
		t.Helper()
		of := func(table string) harness.Answer {
			text, err := json.Marshal(a.Body)
			require.NoError(t, err)
			one := a
			one.Path = strings.ReplaceAll(a.Path, "TABLE", table)
			if a.Body != nil {
				one.Body = json.RawMessage(strings.ReplaceAll(string(text), "TABLE", table))
			}
			got, err := ana.Answer(1, one)
			require.NoError(t, err)
			got.Body = pageToken.ReplaceAllString(strings.ReplaceAll(got.Body, table, "TABLE"), "")
			// The caller may know that the table has a hidden part, but not what it is.
			got.Body = strings.Replace(got.Body, `"wholeTable":true`, `"wholeTable":false`, 1)
			return got
		}
		wide, twin := of("wide"), of("twin")
		require.Equal(t, twin.Status, wide.Status, "%v %s", a, wide.Body)
		require.Equal(t, twin.Body, wide.Body, "%v", a)
		require.NotContains(t, wide.Body, "SECRET")
		return wide
	}
	from := " FROM " + s.Schema + ".TABLE"
	for _, c := range []struct {
		status int
		sql    string
	}{
		{200, "SELECT *" + from + " ORDER BY id"},
		{200, "SELECT t.*" + from + " t"},
		{200, "SELECT COLUMNS(*)" + from},
		{200, "SELECT COLUMNS('s|h|p')" + from},
		{400, "SELECT COLUMNS('ssn')" + from},
		{200, "SELECT * EXCLUDE (pay)" + from},
		{400, "SELECT * EXCLUDE (ssn)" + from},
		{400, "SELECT * REPLACE ('x' AS ssn)" + from},
		{200, "SELECT count(*), count(name)" + from},
		{200, "DESCRIBE SELECT *" + from},
		{200, "DESCRIBE " + s.Schema + ".TABLE"},
		{200, "SUMMARIZE " + s.Schema + ".TABLE"},
		{200, "SELECT t" + from + " t LIMIT 2"},
		{200, "EXPLAIN SELECT *" + from},
		{400, "SELECT ssn" + from},
		{400, `SELECT "SSN"` + from},
		{400, "SELECT ss" + from},
		{400, "SELECT home.city" + from},
		{400, "SELECT t.home.city" + from + " t"},
		{400, "SELECT TABLE.ssn" + from},
		{400, "SELECT id" + from + " WHERE ssn = 'SECRET-0'"},
		{400, "SELECT id" + from + " ORDER BY ssn"},
		{400, "SELECT count(*)" + from + " GROUP BY home"},
		{400, "SELECT max(ssn) OVER ()" + from},
		{400, "SELECT 1" + from + " a JOIN" + strings.TrimPrefix(from, " FROM") + " b USING (ssn)"},
		{200, "SELECT count(*)" + from + " a NATURAL JOIN" + strings.TrimPrefix(from, " FROM") + " b"},
		{400, "SELECT (SELECT ssn)" + from},
		{200, "SELECT column_name, ordinal_position, data_type FROM information_schema.columns WHERE table_name = 'TABLE'"},
		{200, "SELECT *" + from + " AT (VERSION => 1)"},
		{400, "SELECT ssn" + from + " AT (VERSION => 1)"},
		{200, "UNPIVOT (SELECT id, pay" + from + ") ON COLUMNS(* EXCLUDE id)"},
	} {
		got := alike(harness.SQLAsk(c.sql))
		require.Equal(t, c.status, got.Status, "%s\n%s", c.sql, got.Body)
	}
	base := "/v1/tables/lake/" + s.Schema + "/TABLE"
	for _, path := range []string{
		"/columns", "/effective-policies", "/rows", "/rows?select=id,ssn", "/rows?select=home", "/rows?order_by=ssn",
		"/rows?order_by=name%20desc&page_size=3",
		"/rows?where=" + url.QueryEscape("ssn IS NOT NULL"), "/rows?where=" + url.QueryEscape("home.zip = 3"), "/rows?page_size=4&where=" +
			url.QueryEscape("pay > 50"),
	} {
		alike(harness.Ask{Method: "GET", Path: base + path})
	}
	for _, path := range []string{"", "/history"} {
		got, err := ana.Answer(1, harness.Ask{Method: "GET", Path: strings.ReplaceAll(base, "TABLE", "wide") + path})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, got.Status)
		require.NotRegexp(t, `(?i)ssn|home|operationParameters|operationMetrics`, got.Body)
	}
	details := ana.OK("GET", strings.ReplaceAll(base, "TABLE", "wide"), nil)
	require.Nil(t, details["bytes"], "its size tells of hidden values")
	require.Nil(t, details["files"])
	require.Equal(t, 20.0, details["rows"], "no row is hidden")
	require.Len(t, s.Admin.OK("GET", strings.ReplaceAll(base, "TABLE", "wide")+"/columns", nil)["columns"], 5, "the administrator sees them")
	require.NotNil(t, s.Admin.OK("GET", strings.ReplaceAll(base, "TABLE", "wide"), nil)["bytes"])
}

// hashOf is what a value shows under the mask hash.
func hashOf(s *harness.Server, table, value string) string {
	s.T.Helper()
	keys, err := secret.File{Path: s.Config.KeyFile}.Load(s.T.Context())
	require.NoError(s.T, err)
	id := s.Admin.OK("GET", "/v1/tables/lake/"+s.Schema+"/"+table, nil)["tableId"].(string)
	store, err := s.OpenCatalog(s.T.Context())
	require.NoError(s.T, err)
	defer func() { require.NoError(s.T, store.Close()) }()
	org := catalog.OrgID(s.Boot.OrganisationID)
	found, err := store.ListTables(s.T.Context(), catalog.SystemViewer(org), catalog.TableFilter{DeltaID: catalog.DeltaID(id)}, catalog.Page{})
	require.NoError(s.T, err)
	require.Len(s.T, found.Items, 1)
	key, err := keys.MaskKey(org, found.Items[0].ID)
	require.NoError(s.T, err)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil))
}

// TestMasksOnEveryPath checks that values are masked before any expression reads them.
func TestMasksOnEveryPath(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("people", `SELECT i AS id, 'SECRET-' || lpad(i::VARCHAR, 4, '0') AS ssn,
		'SECRET-' || lpad(i::VARCHAR, 4, '0') AS card, DATE '2020-01-31' + (i * 100)::INT AS born,
		TIMESTAMP '2021-03-04 05:06:07' + INTERVAL (i) DAY AS seen, i * 10 AS pay FROM range(10) t(i)`, nil,
		column{"id", "long"}, column{"ssn", "string"}, column{"card", "string"}, column{"born", "date"}, column{"seen", "timestamp"},
		column{"pay", "long"})
	mask := func(name string) string {
		return `{"effect":"permit","subject":{"role":"admin"},"mask":"` + name + `"}`
	}
	s.Rule("mask", "people", "ssn", mask("hash"))
	s.Rule("mask", "people", "card", mask("last4"))
	s.Rule("mask", "people", "born", mask("year"))
	s.Rule("mask", "people", "seen", mask("year"))
	s.Rule("mask", "people", "pay", harness.AdminsSee)
	ana := s.Member("ana@acme.example", "viewer", nil)
	people := s.Schema + ".people"
	digest := func(i int) string { return hashOf(s, "people", fmt.Sprintf("SECRET-%04d", i)) }

	clear := s.Admin.Rows("SELECT ssn, card, pay FROM " + people + " WHERE id = 3")
	require.Equal(t, []any{[]any{"SECRET-0003", "SECRET-0003", 30.0}}, clear)
	require.Equal(t, []any{[]any{3.0, digest(3), "****0003", "2020-01-01", "2021-01-01T00:00:00Z", nil}},
		ana.Rows("SELECT * FROM "+people+" WHERE id = 3"))
	require.Equal(t, []any{[]any{digest(3)}}, ana.Rows("SELECT ssn FROM "+people+" AT (VERSION => 1) WHERE id = 3"))

	for _, c := range []struct {
		sql  string
		want any
	}{
		{"SELECT count(*) FROM P WHERE ssn = 'SECRET-0003'", 0.0},
		{"SELECT id FROM P WHERE ssn = '" + digest(3) + "'", 3.0},
		{"SELECT count(*) FROM P WHERE ssn IN ('SECRET-0003', 'SECRET-0004')", 0.0},
		{"SELECT count(*) FROM P WHERE ssn BETWEEN 'SECRET-0000' AND 'SECRET-9999'", 0.0},
		{"SELECT count(*) FROM P WHERE card LIKE 'SECRET%'", 0.0},
		{"SELECT count(*) FROM P WHERE card = '****0003'", 1.0},
		{"SELECT count(*) FROM P WHERE born = DATE '2020-01-31'", 0.0},
		{"SELECT count(*) FROM P WHERE born = DATE '2020-01-01'", 4.0},
		{"SELECT count(*) FROM P WHERE pay >= 0", 0.0},
		{"SELECT count(*) FROM P WHERE pay IS NULL", 10.0},
		{"SELECT count(*) FROM P a JOIN P b ON a.ssn = b.ssn", 10.0},
		{"SELECT count(*) FROM P a JOIN (SELECT 'SECRET-0003' AS ssn) b USING (ssn)", 0.0},
		{"SELECT min(ssn) > max(card) FROM P", true},
		{"SELECT count(DISTINCT born) FROM P", 3.0},
		{"SELECT sum(pay) FROM P", nil},
		{"SELECT typeof(ssn) || typeof(card) || typeof(born) || typeof(seen) || typeof(pay) FROM P LIMIT 1",
			"VARCHARVARCHARDATETIMESTAMP WITH TIME ZONEBIGINT"},
		{"SELECT list_transform([card], lambda x: x)[1] FROM P WHERE id = 3", "****0003"},
	} {
		sql := strings.ReplaceAll(c.sql, " P", " "+people)
		require.Equal(t, c.want, ana.Rows(sql)[0].([]any)[0], sql)
	}
	whole := regexp.MustCompile(`SECRET-|-01-31|05:06:07`)
	base := "/v1/tables/lake/" + s.Schema + "/people"
	for _, sql := range []string{
		"SELECT * FROM P", "SELECT COLUMNS('s|c') FROM P", "SELECT p FROM P p", "SUMMARIZE P", "DESCRIBE P", "FROM P ORDER BY ssn, pay, born",
		"SELECT list(ssn), histogram(card), max(seen) FROM P",
		"SELECT CAST(ssn AS INT) FROM P", "SELECT date_diff(card, born, born) FROM P", "SELECT * FROM P USING SAMPLE 50%",
		"EXPLAIN SELECT ssn FROM P WHERE card = 'x'",
		"WITH x AS (SELECT * FROM P) SELECT * FROM x WHERE ssn > 'S'", "SELECT list_transform([ssn], lambda x: CAST(x AS INT)) FROM P",
	} {
		r := ana.Query(strings.ReplaceAll(sql, "P", people))
		require.NotRegexp(t, whole, string(r.Body), sql)
		require.NotRegexp(t, harness.Inside, string(r.Body), sql)
	}
	for _, path := range []string{"/rows", "/rows?select=ssn,card,born", "/rows?order_by=ssn%20desc&page_size=2", "/columns", "", "/history",
		"/effective-policies"} {
		r := ana.Call("GET", base+path, nil)
		require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
		require.NotRegexp(t, whole, string(r.Body), path)
	}
	require.Empty(t, ana.OK("GET", base+"/rows?where="+url.QueryEscape("ssn = 'SECRET-0003'"), nil)["rows"])
	sorted := ana.OK("GET", base+"/rows?select=ssn&order_by=ssn", nil)["rows"].([]any)
	require.Len(t, sorted, 10)
	for i := 1; i < len(sorted); i++ {
		require.Less(t, fmt.Sprint(sorted[i-1]), fmt.Sprint(sorted[i]), "the order is that of the masked values")
	}
	types := map[string]any{}
	for _, c := range ana.OK("GET", base+"/columns", nil)["columns"].([]any) {
		types[c.(map[string]any)["name"].(string)] = c.(map[string]any)["type"]
	}
	require.Equal(t, map[string]any{"id": "long", "ssn": "string", "card": "string", "born": "date", "seen": "timestamp", "pay": "long"},
		types)
	effective := ana.OK("GET", base+"/effective-policies", nil)
	require.Equal(t, false, effective["restricted"])
	require.Len(t, effective["policies"], 5)
	require.Nil(t, ana.OK("GET", base, nil)["bytes"])
}

// TestTheStrictestPolicyWins, and policies for every table.
func TestTheStrictestPolicyWins(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []column{{"id", "long"}, {"Born", "date"}}
	s.Table("a", `SELECT i AS id, DATE '2020-05-06' AS Born FROM range(3) t(i)`, nil, columns...)
	s.Table("b", `SELECT i AS id, 'text' AS born FROM range(3) t(i)`, nil, column{"id", "long"}, column{"born", "string"})
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"clearance": "3"})
	shown := func(table string) any {
		t.Helper()
		r := ana.Query("SELECT born FROM " + s.Schema + "." + table + " LIMIT 1")
		if r.Status != http.StatusOK {
			code, _ := r.Problem(t, 400)
			return code
		}
		return r.JSON(t)["rows"].([]any)[0].([]any)[0]
	}
	require.Equal(t, "2020-05-06", shown("a"))
	s.Rule("mask", "", "BORN", `{"effect":"permit","subject":{"attribute":"clearance","op":"gte","value":5},"mask":"year"}`)
	require.Equal(t, "2020-01-01", shown("a"))
	require.Nil(t, shown("b"), "a mask that does not fit the type shows nothing")
	s.Rule("mask", "a", "born", `{"effect":"permit","subject":{"attribute":"clearance","op":"gte","value":2},"mask":"hash"}`)
	require.Equal(t, "2020-01-01", shown("a"), "a permit for the user adds nothing")
	forbid := s.Rule("mask", "a", "born", `{"effect":"forbid","subject":{"everyone":true},"mask":"hash"}`)
	require.Equal(t, hashOf(s, "a", "2020-05-06"), shown("a"))
	s.Rule("mask", "a", "born", `{"effect":"forbid","subject":{"attribute":"missing","op":"eq","value":"x"}}`)
	require.Nil(t, shown("a"), "a forbid that cannot be decided holds")
	s.Rule("cls", "a", "born", `{"effect":"permit","subject":{"attribute":"clearance","op":"eq","value":"4"}}`)
	require.Equal(t, "column_not_found", shown("a"))
	require.Nil(t, shown("b"))

	simulated := s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/simulate",
		map[string]any{"tableFqn": "lake." + s.Schema + ".a", "userId": ana.User})
	require.Equal(t, []any{"Born"}, simulated["hiddenColumns"])
	require.Equal(t, []any{}, simulated["maskedColumns"])
	require.Equal(t, 3.0, simulated["visibleRowCount"])
	require.Equal(t, false, simulated["restricted"])
	simulated = s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+ana.User+"/effective-policies?tableFqn=lake."+s.Schema+
		".b", nil)
	require.Equal(t, []any{map[string]any{"columnName": "born", "mask": "null"}}, simulated["maskedColumns"])
	require.Equal(t, map[string]any{"restricted": false, "wholeTable": false, "policies": []any{}},
		ana.OK("GET", "/v1/tables/lake/"+s.Schema+"/a/effective-policies", nil),
		"what is hidden is not named")

	// The kind and the column of a policy can be changed; its text follows.
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/policies/" + forbid["id"].(string)
	_, fields := s.Admin.Call("PATCH", path, map[string]any{"kind": "cls", "expectedVersion": 1}).Problem(t, 422)
	require.Equal(t, []string{"definition.mask"}, fields)
	got := s.Admin.OK("PATCH", path, map[string]any{"kind": "cls", "columnName": "id", "expectedVersion": 1,
		"definition": json.RawMessage(harness.ViewersNot)})
	require.Contains(t, got["policyText"], `resource == Column::"id"`)
	require.NotContains(t, got["policyText"], "@mask")
	r := ana.Query("SELECT * FROM " + s.Schema + ".a")
	require.Equal(t, http.StatusBadRequest, r.Status, "no column is left: %s", r.Body)
	require.Empty(t, ana.OK("GET", "/v1/tables/lake/"+s.Schema+"/a/columns", nil)["columns"])
	history := s.Admin.OK("GET", path+"/history", nil)["revisions"].([]any)
	require.Equal(t, []any{"cls", "mask"}, []any{history[0].(map[string]any)["kind"], history[1].(map[string]any)["kind"]})
	require.Contains(t, history[1].(map[string]any)["policyText"], `@mask("hash")`)
	got = s.Admin.OK("PATCH", path, map[string]any{"enabled": false, "expectedVersion": 2})
	require.Equal(t, "cls", got["kind"])
	require.Equal(t, []any{[]any{0.0}}, ana.Rows("SELECT min(id) FROM "+s.Schema+".a"))
}

// TestColumnPoliciesByText checks that a policy by text and one by definition mean the
// same.
func TestColumnPoliciesByText(t *testing.T) {
	t.Parallel()
	s, base, fqn := policyWorld(t)
	for _, c := range []struct{ kind, column, definition string }{
		{"cls", "pay", harness.AdminsSee}, {"cls", "pay", harness.ViewersNot},
		{"mask", "region", `{"effect":"forbid","subject":{"everyone":true},"mask":"hash"}`},
		{"mask", "region", `{"effect":"permit","subject":{"attribute":"dept","op":"in","value":["hr","it"]},"mask":"last4"}`},
		{"mask", "joined", `{"effect":"forbid","subject":{"attribute":"dept","op":"is_null"},"mask":"year"}`},
		{"mask", "pay", `{"effect":"permit","subject":{"role":"admin"},"mask":null}`},
	} {
		made := s.Rule(c.kind, "people", c.column, c.definition)
		byText := s.Admin.OK("POST", base, map[string]any{"kind": c.kind, "tableFqn": fqn, "columnName": c.column,
			"policyText": made["policyText"]})
		require.NotNil(t, byText["definition"])
		again := s.Admin.OK("PUT", base+"/"+byText["id"].(string), map[string]any{"kind": c.kind, "tableFqn": fqn, "columnName": c.column,
			"definition": byText["definition"], "expectedVersion": 1})
		require.Equal(t, made["policyText"], again["policyText"])
	}
	permit := func(rest string) string { return `permit (principal, action, ` + rest }
	for _, c := range []struct{ kind, column, text string }{
		{"cls", "pay", permit(`resource);`)},
		{"cls", "pay", permit(`resource == Column::"region");`)},
		{"cls", "pay", permit(`resource == Column::"pay") when { resource.id == 1 };`)},
		{"cls", "pay", permit(`resource == Column::"pay") when { resource has id };`)},
		{"cls", "pay", `permit (principal, action == Action::"read", resource == Column::"pay");`},
		{"cls", "pay", `@mask("hash") ` + permit(`resource == Column::"pay");`)},
		{"rls", "pay", `@mask("hash") ` + permit(`resource);`)},
		{"rls", "pay", permit(`resource == Column::"pay");`)},
		{"mask", "pay", `@mask("half") ` + permit(`resource == Column::"pay");`)},
		{"mask", "pay", `@mask ` + permit(`resource == Column::"pay");`)},
		{"mask", "pay", `@mask("last4") ` + permit(`resource == Column::"pay");`)},
	} {
		code, fields := s.Admin.Call("POST", base, map[string]any{"kind": c.kind, "tableFqn": fqn, "columnName": c.column,
			"policyText": c.text}).Problem(t, 422)
		require.Equal(t, []string{"policyText"}, fields, c.text)
		require.Contains(t, []string{"invalid_policy", "type_not_supported"}, code)
	}
}

// TestCopiesHaveOtherHashes checks that nobody learns masked values from the hashes of chosen ones, in a
// table to which they gave the id of the masked one.
func TestCopiesHaveOtherHashes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("people", `SELECT i AS id, 'SECRET-' || i AS ssn FROM range(10) t(i)`, nil, column{"id", "long"}, column{"ssn", "string"})
	s.Rule("mask", "people", "ssn", `{"effect":"permit","subject":{"role":"admin"},"mask":"hash"}`)
	require.NoError(t, os.CopyFS(filepath.Join(s.Root, "guesses"), os.DirFS(filepath.Join(s.Root, "people"))))
	s.Discover()
	ben := s.Member("ben@acme.example", "builder", nil)
	shown := func(c *harness.Client, table string) []any {
		return c.Rows("SELECT ssn FROM " + s.Schema + "." + table + " ORDER BY id")
	}
	require.Equal(t, shown(s.Admin, "people"), shown(s.Admin, "guesses"))
	masked := shown(ben, "people")
	require.NotEqual(t, shown(s.Admin, "people"), masked)
	for _, hash := range shown(ben, "guesses") {
		require.NotContains(t, masked, hash)
	}
	require.Empty(t, ben.Rows("SELECT 1 FROM "+s.Schema+".people p JOIN "+s.Schema+".guesses g ON p.ssn = g.ssn"))
}
