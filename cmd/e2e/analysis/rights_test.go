package analysis_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// No answer to a caller who sees some rows contains a value of the others, nor a number that
// counts them.
func TestFilteredCallersAnalyseWhatTheySee(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "filtered")
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1000, "email": "canary@hidden.example", "name": "CANARY", "city": "Canarytown",
		"state": "canary", "amount": -77777.0, "region": "us"}))
	s.Policy("filtered", "region", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.Policy("filtered", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	eu := s.Member("eu@acme.example", "builder", map[string]string{"region": "eu"})
	for _, body := range actions() {
		answer := analyze(t, eu, path, body)
		require.Equal(t, false, answer["complete"], "%v", body)
		text := strings.ToLower(jsonText(answer))
		for _, hidden := range []string{"canary", "77777"} {
			require.NotContains(t, text, hidden, "%v", body)
		}
		for _, p := range answer["proposals"].(list) {
			require.Equal(t, false, p.(object)["effect"].(object)["complete"])
		}
	}
	summary := analyze(t, eu, path, object{"action": "summary"})["result"].(object)
	require.Equal(t, 100.0, summary["rows"])
}

func TestProposalsSayWhichScopeIsMissing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "scopes")
	viewer := s.Member("viewer@acme.example", "viewer", nil)
	for action, scope := range map[string]string{"fix_nulls": "rows:update", "suggest_constraints": "tables:modify",
		"suggest_domain": "domains:write", "classify_columns": "rls_policies:write", "merge_records": "rows:insert"} {
		for _, p := range analyze(t, viewer, path, object{"action": action})["proposals"].(list) {
			p := p.(object)
			require.Nil(t, p["apply"])
			if action == "suggest_domain" && p["requiresScope"] == "tables:modify" {
				continue // a pattern is a constraint
			}
			require.Equal(t, scope, p["requiresScope"], "%s: %v", action, p)
		}
	}
}

func TestAnalysisCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := shop(t, s, "off")
	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/config",
		object{"features": list{object{"key": "analysis", "enabled": false}}})
	for to, body := range map[string]object{"/analyze": {"action": "summary"}, "/explain-rows": {"where": "id = 1"}} {
		code, fields := s.Admin.Call("POST", path+to, body).Problem(t, 403)
		require.Equal(t, "feature_disabled", code)
		require.Equal(t, []string{"feature"}, fields)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := shop(t, s, "refused")
	for _, c := range []struct {
		body   object
		status int
		field  string
	}{
		{object{"action": "summarise"}, 422, "action"},
		{object{}, 422, "action"},
		{object{"action": "explain_changes", "version_from": 0}, 422, "version_to"},
		{object{"action": "explain_changes"}, 422, "version_from"},
		{object{"action": "summary", "version_to": 1}, 422, "version_to"},
		{object{"action": "suggest_mapping"}, 422, "source_columns"},
		{object{"action": "suggest_mapping", "source_columns": list{}}, 422, "source_columns"},
		{object{"action": "explain_rows"}, 422, "where"},
		{object{"action": "explain_rows", "where": "id = 1", "keys": list{object{"id": 1}}}, 422, "where"},
		{object{"action": "explain_rows", "keys": list{object{"nosuch": 1}}}, 422, "keys[0]"},
		{object{"action": "explain_rows", "keys": list{object{"id": 9007199254740993}}}, 422, "keys[0]"},
		{object{"action": "summary", "columns": list{"id", "nosuch"}}, 422, "columns[1]"},
		{object{"action": "summary", "limit": 0}, 422, "limit"},
		{object{"action": "summary", "limit": 10001}, 422, "limit"},
		{object{"action": "summary", "model": "familyA-nosuch"}, 422, "model"},
		{object{"action": "summary", "where": "id"}, 422, "where"},
		{object{"action": "summary", "where": "nosuch = 1"}, 400, "where"},
		{object{"action": "summary", "where": "id IN (SELECT id FROM " + s.Schema + ".refused)) OR (1 = 1"}, 422, "where"},
		{object{"action": "summary", "where": "email IN (SELECT table_name FROM information_schema.tables)"}, 422, "where"},
		{object{"action": "summary", "where": "random() < 0.5"}, 422, "where"},
		{object{"action": "summary", "where": "id IN (SELECT id FROM " + s.Schema + ".refused USING SAMPLE 3)"}, 422, "where"},
		{object{"action": "summary", "where": "bought < current_date"}, 422, "where"},
		{object{"action": "summary", "surprise": 1}, 422, "surprise"},
	} {
		r := s.Admin.Call("POST", path+"/analyze", c.body)
		_, fields := r.Problem(t, c.status)
		require.True(t, harness.NamesField(fields, c.field), "%v: %s", c.body, r.Body)
	}
	r := s.Admin.Call("POST", path+"/analyze", object{"action": "summary", "model": "familyA-nosuch"})
	require.Contains(t, string(r.Body), "familyC-3.1-pro-preview", "the message lists the models")
	code, _ := s.Admin.Call("POST", path+"/analyze", object{"action": "explain_changes", "version_from": 0, "version_to": 99}).Problem(t, 404)
	require.Equal(t, "version_not_found", code)
	s.Admin.Call("POST", s.TablePath("nosuch")+"/analyze", object{"action": "summary"}).Problem(t, 404)
}

func TestOddTablesAreAnalysed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	most := 500
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		most = 60
	}
	wide, columns := "SELECT range AS c0", []column{{"c0", "long"}}
	for i := 1; i < most; i++ {
		name := "c" + jsonText(i)
		wide += ", range % " + jsonText(i+1) + " AS " + name
		columns = append(columns, column{name, "long"})
	}
	s.Table("wide", wide+" FROM range(20)", nil, columns...)
	s.Table("heavy", "SELECT range AS id, repeat(chr(97 + CAST(range AS INT)), 10000000) AS text FROM range(3)", nil, column{"id", "long"},
		column{"text", "string"})
	s.Table("nothing", "SELECT 1 AS id, 'x' AS text FROM range(0)", nil, column{"id", "integer"}, column{"text", "string"})
	s.Table("odd", `SELECT 'v' AS "a""b", NULL AS "select", [1] AS "xy", MAP {'k': 1} AS "ü" FROM range(40)`, nil, column{`a"b`, "string"},
		column{"select", "string"}, column{"xy", "array<integer>"}, column{"ü", "map<string,integer>"})
	for _, name := range []string{"wide", "heavy", "nothing", "odd"} {
		for _, body := range actions() {
			body := object{"action": body["action"], "where": body["where"], "source_columns": body["source_columns"]}
			switch body["action"] {
			case "explain_changes":
				body["version_from"], body["version_to"] = 0, 0
			case "explain_rows":
				body["where"] = "TRUE"
				if name == "wide" {
					body["where"] = "c0 < 2"
				}
			}
			r := s.Admin.Call("POST", s.TablePath(name)+"/analyze", body)
			require.Contains(t, []int{200, 202}, r.Status, "%s %v: %s", name, body, r.Body)
			require.Less(t, len(r.Body), 2<<20, "%s %v", name, body)
		}
	}
}
