package policy_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// policyWorld is a server with one table whose rows tell who sees them.
func policyWorld(t *testing.T) (s *harness.Server, base, fqn string) {
	s = harness.Shared(t)
	s.Table("people", `SELECT i AS id, 'r' || (i % 3) AS region, i * 1.5 AS pay, DATE '2024-01-01' + i::INTEGER AS joined FROM range(12) t(i)`,
		nil,
		column{"id", "long"}, column{"region", "string"}, column{"pay", "double"}, column{"joined", "date"})
	s.Table("other", `SELECT i AS id, 'r' || (i % 3) AS region FROM range(6) t(i)`, nil, column{"id", "long"}, column{"region", "string"})
	s.Table("plain", `SELECT i AS n FROM range(4) t(i)`, nil, column{"n", "long"})
	return s, "/v1/organisations/" + s.Boot.OrganisationID + "/policies", "lake." + s.Schema + ".people"
}

func TestPoliciesByDefinition(t *testing.T) {
	t.Parallel()
	s, base, fqn := policyWorld(t)
	people := s.Schema + ".people"
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r1", "regions": "r0,r2", "list": `["r1","r2"]`, "limit": "5",
		"since": "2024-01-07"})
	for _, c := range []struct {
		name, column, definition string
		ana, admin               float64
	}{
		{"everyone, all rows", "", harness.Everyone, 12, 12},
		{"members without effect and condition", "",
			`{"effect":"permit","subject":{"everyone":true,"role":null,"attribute":null,"op":null,"value":null}}`, 12, 12},
		{"role", "", `{"effect":"permit","subject":{"role":"viewer"}}`, 12, 0},
		{"attribute with value", "", `{"effect":"permit","subject":{"attribute":"region","op":"eq","value":"r1"}}`, 12, 0},
		{"attribute with other value", "", `{"effect":"permit","subject":{"attribute":"region","op":"eq","value":"r9"}}`, 0, 0},
		{"row filter by attribute", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`, 4, 0},
		{"row filter by list", "region", `{"effect":"permit","subject":{"attribute":"regions","op":"in"}}`, 8, 0},
		{"row filter by JSON list", "region", `{"effect":"permit","subject":{"attribute":"list","op":"in"}}`, 8, 0},
		{"row filter by missing attribute", "region", `{"effect":"permit","subject":{"attribute":"nope","op":"eq"}}`, 0, 0},
		{"order over an attribute", "id", `{"effect":"permit","subject":{"attribute":"limit","op":"gt"}}`, 6, 0},
		{"date attribute", "joined", `{"effect":"permit","subject":{"attribute":"since","op":"gte"}}`, 6, 0},
		{"condition", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":3}}`, 3, 3},
		{"column by default", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"in","value":[1,2,99]}}`, 2, 2},
		{"condition over an attribute", "",
			`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"region","op":"eq","attribute":"region"}}`, 4, 0},
		{"and or not", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"and":[{"or":[{"column":"id","op":"lt","value":2},{"column":"region","op":"eq","value":"r2"}]},{"not":{"column":"id","op":"eq","value":5}}]}}`, 5, 5},
		{"like", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"region","op":"like","value":"*2"}}`, 4, 4},
		{"forbid alone", "", `{"effect":"forbid","subject":{"everyone":true}}`, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := map[string]any{"kind": "rls", "tableFqn": fqn, "definition": harness.Definition(c.definition)}
			if c.column != "" {
				body["columnName"] = c.column
			}
			r := s.Admin.Call("POST", base, body)
			require.Equal(t, http.StatusCreated, r.Status, "%s", r.Body)
			p := r.JSON(t)
			require.Equal(t, 1.0, p["version"])
			require.Equal(t, true, p["enabled"])
			require.Equal(t, fqn, p["tableFqn"])
			require.NotEmpty(t, p["tableId"])
			require.Contains(t, p["policyText"], "principal")
			require.Equal(t, c.ana, ana.Count(people))
			require.Equal(t, c.admin, s.Admin.Count(people))
			require.Equal(t, 6.0, ana.Count(s.Schema+".other"), "another table is not concerned")

			// The text that was generated means the same.
			id := p["id"].(string)
			text := map[string]any{"expectedVersion": 1, "tableFqn": fqn, "policyText": p["policyText"], "columnName": body["columnName"]}
			r = s.Admin.Call("PUT", base+"/"+id, text)
			require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
			require.Equal(t, 2.0, r.JSON(t)["version"])
			require.Equal(t, c.ana, ana.Count(people), "%s", p["policyText"])
			require.Equal(t, c.admin, s.Admin.Count(people))
			require.Equal(t, http.StatusOK, s.Admin.Call("DELETE", base+"/"+id, nil, "If-Match", `"2"`).Status)
			require.Equal(t, 12.0, ana.Count(people))
		})
	}
}

func TestPermitsAddUpAndForbidsWin(t *testing.T) {
	s, _, _ := policyWorld(t)
	people := s.Schema + ".people"
	s.Policy("people", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":4}}`)
	s.Policy("people", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"gte","value":10}}`)
	require.Equal(t, 6.0, s.Admin.Count(people))
	s.Policy("people", "", `{"effect":"forbid","subject":{"everyone":true},"condition":{"column":"region","op":"eq","value":"r1"}}`)
	require.Equal(t, []any{[]any{0.0}, []any{2.0}, []any{3.0}, []any{11.0}}, s.Admin.Rows("SELECT id FROM "+people+" ORDER BY id"))
	// A forbid that cannot be decided hides the row.
	s.Policy("people", "", `{"effect":"forbid","subject":{"everyone":true},"condition":{"column":"region","op":"eq","attribute":"unset"}}`)
	require.Equal(t, 0.0, s.Admin.Count(people))
}

func TestPoliciesByText(t *testing.T) {
	s, base, fqn := policyWorld(t)
	people := s.Schema + ".people"
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	text := s.Policy("people", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)["policyText"].(string)
	p := s.Admin.OK("POST", base, map[string]any{"tableFqn": fqn, "columnName": "region", "policyText": text})
	require.Equal(t, text, p["policyText"])
	require.NotNil(t, p["definition"], "a text that a definition could have made has one")
	require.Equal(t, 4.0, ana.Count(people))
	for _, bad := range []string{"", "permit", "permit (principal, action, resource",
		`permit (principal, action, resource) when { resource.region like principal };`,
		`permit (principal, action, resource) when { context.x };`, `DROP TABLE x`, text + text,
		`permit (principal in Role::"boss", action, resource);`} {
		r := s.Admin.Call("POST", base, map[string]any{"tableFqn": fqn, "policyText": bad})
		_, fields := r.Problem(t, 422)
		require.NotEmpty(t, fields)
		if bad != "" && !strings.Contains(bad, "boss") {
			require.Regexp(t, `line \d+, column \d+`, string(r.Body), "%s", bad)
		}
	}
}

func TestPoliciesAreRefusedWithTheFieldAtFault(t *testing.T) {
	t.Parallel()
	s, base, fqn := policyWorld(t)
	tableID := s.Admin.OK("GET", "/v1/tables/lake/"+s.Schema+"/people", nil)["tableId"]
	otherID := s.Admin.OK("GET", "/v1/tables/lake/"+s.Schema+"/other", nil)["tableId"]
	deep := `{"column":"id","op":"eq","value":1}`
	for range 9 {
		deep = `{"not":` + deep + `}`
	}
	wide := `{"or":[` + strings.TrimSuffix(strings.Repeat(`{"column":"id","op":"eq","value":1},`, 65), ",") + `]}`
	subject := func(text string) map[string]any {
		return map[string]any{"tableFqn": fqn, "definition": harness.Definition(`{"effect":"permit","subject":` + text + `}`)}
	}
	condition := func(text string) map[string]any {
		return map[string]any{"tableFqn": fqn, "definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"condition":` +
			text + `}`)}
	}
	for _, c := range []struct {
		name, field string
		body        map[string]any
	}{
		{"cls without column", "columnName", map[string]any{"kind": "cls", "tableFqn": fqn, "definition": harness.Definition(harness.Everyone)}},
		{"mask without column", "columnName", map[string]any{"kind": "mask", "definition": harness.Definition(harness.Everyone)}},
		{"cls of a member", "columnName", map[string]any{"kind": "cls", "tableFqn": fqn, "columnName": "pay.x",
			"definition": harness.Definition(harness.Everyone)}},
		{"cls of some rows", "definition.condition", map[string]any{"kind": "cls", "tableFqn": fqn, "columnName": "pay",
			"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"op":"is_null"}}`)}},
		{"cls by rows", "definition.subject.value", map[string]any{"kind": "cls", "tableFqn": fqn, "columnName": "pay",
			"definition": harness.Definition(`{"effect":"permit","subject":{"attribute":"a","op":"eq"}}`)}},
		{"cls with a mask", "definition.mask", map[string]any{"kind": "cls", "tableFqn": fqn, "columnName": "region",
			"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"mask":"hash"}`)}},
		{"unknown mask", "definition.mask", map[string]any{"kind": "mask", "tableFqn": fqn, "columnName": "pay",
			"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"mask":"half"}`)}},
		{"mask of another type", "definition.mask", map[string]any{"kind": "mask", "tableFqn": fqn, "columnName": "pay",
			"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"mask":"year"}`)}},
		{"unknown kind", "kind", map[string]any{"kind": "abc", "tableFqn": fqn, "definition": harness.Definition(harness.Everyone)}},
		{"text and definition", "definition", map[string]any{"tableFqn": fqn, "definition": harness.Definition(harness.Everyone),
			"policyText": "permit(principal, action, resource);"}},
		{"neither", "definition", map[string]any{"tableFqn": fqn}},
		{"unknown table", "tableFqn", map[string]any{"tableFqn": "lake." + s.Schema + ".nothing",
			"definition": harness.Definition(harness.Everyone)}},
		{"bad name", "tableFqn", map[string]any{"tableFqn": "people", "definition": harness.Definition(harness.Everyone)}},
		{"unknown id", "tableId", map[string]any{"tableId": uuid.NewString(), "definition": harness.Definition(harness.Everyone)}},
		{"name and id differ", "tableFqn", map[string]any{"tableFqn": fqn, "tableId": otherID,
			"definition": harness.Definition(harness.Everyone)}},
		{"unknown column", "columnName", map[string]any{"tableFqn": fqn, "columnName": "nope",
			"definition": harness.Definition(harness.Everyone)}},
		{"effect", "definition.effect",
			map[string]any{"tableFqn": fqn, "definition": harness.Definition(`{"effect":"allow","subject":{"everyone":true}}`)}},
		{"no effect", "definition.effect", map[string]any{"tableFqn": fqn, "definition": harness.Definition(`{"subject":{"everyone":true}}`)}},
		{"no subject", "definition.subject", map[string]any{"tableFqn": fqn, "definition": harness.Definition(`{"effect":"permit"}`)}},
		{"empty subject", "definition.subject", subject(`{}`)},
		{"two subjects", "definition.subject", subject(`{"everyone":true,"role":"viewer"}`)},
		{"unknown role", "definition.subject.role", subject(`{"role":"boss"}`)},
		{"attribute without op", "definition.subject.op", subject(`{"attribute":"a"}`)},
		{"unknown op", "definition.subject.op", subject(`{"attribute":"a","op":"==","value":"x"}`)},
		{"unknown member", "definition.subject.who", subject(`{"everyone":true,"who":1}`)},
		{"too deep", "definition.condition", condition(deep)},
		{"too wide", "definition.condition", condition(wide)},
		{"condition column", "definition.condition.column", condition(`{"column":"nope","op":"eq","value":1}`)},
		{"condition op", "definition.condition.op", condition(`{"column":"id","op":"between","value":1}`)},
		{"order of text", "definition.condition.op", condition(`{"column":"region","op":"lt","value":"x"}`)},
		{"order of doubles", "definition.condition.op", condition(`{"column":"pay","op":"lt","value":1}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, fields := s.Admin.Call("POST", base, c.body).Problem(t, 422)
			require.True(t, harness.NamesField(fields, c.field) || len(fields) == 1 && strings.HasPrefix(fields[0], c.field), "%v lacks %s", fields,
				c.field)
		})
	}
	require.Empty(t, s.Admin.OK("GET", base, nil)["policies"], "nothing was made")
	s.Admin.OK("POST", base, map[string]any{"tableFqn": fqn, "tableId": tableID, "definition": harness.Definition(harness.Everyone)})
}

func TestOrganisationWidePolicies(t *testing.T) {
	s, base, _ := policyWorld(t)
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r1"})
	p := s.Policy("", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	require.Nil(t, p["tableFqn"])
	require.Nil(t, p["tableId"])
	require.Equal(t, 4.0, ana.Count(s.Schema+".people"))
	require.Equal(t, 2.0, ana.Count(s.Schema+".other"))
	require.Equal(t, 4.0, ana.Count(s.Schema+".plain"), "a table without the column is not concerned")
	// A table that is created later is covered from its creation.
	s.Table("late", `SELECT 'r1' AS "Region" UNION ALL SELECT 'r2'`, nil, column{"Region", "string"})
	require.Equal(t, 1.0, ana.Count(s.Schema+".late"), "whatever the case of the name")
	late := s.Admin.OK("POST", base+"/simulate", map[string]any{"tableFqn": "lake." + s.Schema + ".late", "userId": ana.User})
	require.Equal(t, true, late["restricted"])
	require.Equal(t, p["id"], late["policies"].([]any)[0].(map[string]any)["id"])
	require.Empty(t, s.Admin.OK("GET", base+"?tableFqn=lake."+s.Schema+".people", nil)["policies"], "a list by table has those of the table")
}

// TestDefinitionsAreReturnedInFull checks that every reply has every member of the
// interface, null where it is not set, and that a reply can be sent back.
func TestDefinitionsAreReturnedInFull(t *testing.T) {
	t.Parallel()
	s, base, fqn := policyWorld(t)
	subject := func(name string, value any) object {
		out := object{"everyone": nil, "role": nil, "attribute": nil, "op": nil, "value": nil}
		out[name] = value
		return out
	}
	byValue := subject("attribute", "level")
	byValue["op"], byValue["value"] = "in", list{"a", "b"}
	byRow := subject("attribute", "region")
	byRow["op"] = "eq"
	for name, tc := range map[string]struct {
		sent string
		want object
	}{
		"everyone": {`{"effect":"permit","subject":{"everyone":true}}`, object{"effect": "permit", "subject": subject("everyone", true),
			"condition": nil}},
		"role": {`{"effect":"forbid","subject":{"role":"viewer","op":null},"condition":null}`,
			object{"effect": "forbid", "subject": subject("role", "viewer"), "condition": nil}},
		"row filter": {`{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":{"not":{"and":[{"column":"id","op":"lt","value":5},{"op":"is_null","value":null}]}}}`,
			object{"effect": "permit", "subject": byRow, "condition": object{"not": object{"and": list{object{"column": "id", "op": "lt",
				"value": 5.0}, object{"op": "is_null"}}}}}},
		"values": {`{"subject":{"value":["a","b"],"op":"in","attribute":"level"},"effect":"permit","condition":{"or":[{"op":"in","value":["r1",` +
			`"r2"]},{"op":"neq","attribute":"region"}]}}`,
			object{"effect": "permit", "subject": byValue, "condition": object{"or": list{object{"op": "in", "value": list{"r1", "r2"}},
				object{"op": "neq", "attribute": "region"}}}}},
		"mask": {`{"effect":"permit","subject":{"everyone":false,"role":"admin"},"mask":"hash"}`,
			object{"effect": "permit", "subject": func() object {
				out := subject("role", "admin")
				out["everyone"] = false
				return out
			}(), "condition": nil, "mask": "hash"}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := "rls"
			if name == "mask" {
				kind = name
			}
			body := object{"kind": kind, "tableFqn": fqn, "columnName": "region", "definition": harness.Definition(tc.sent)}
			p := s.Admin.OK("POST", base, body)
			path := base + "/" + p["id"].(string)
			same := func(what string, p object) {
				t.Helper()
				require.Equal(t, tc.want, p["definition"], what)
			}
			same("POST", p)
			same("GET", s.Admin.OK("GET", path, nil))
			all := s.Admin.OK("GET", base, nil)["policies"].(list)
			same("list", all[len(all)-1].(object))
			same("PATCH", s.Admin.OK("PATCH", path, object{"enabled": false, "expectedVersion": 1}))
			same("PATCH of the definition", s.Admin.OK("PATCH", path, object{"definition": p["definition"], "expectedVersion": 2}))
			body["definition"], body["expectedVersion"] = p["definition"], 3
			again := s.Admin.OK("PUT", path, body)
			same("PUT", again)
			require.Equal(t, p["policyText"], again["policyText"])
			for _, revision := range s.Admin.OK("GET", path+"/history", nil)["revisions"].(list) {
				same("history", revision.(object))
			}
			// The text alone gives a definition of the same shape.
			delete(body, "definition")
			body["policyText"], body["expectedVersion"] = p["policyText"], 4
			byText := s.Admin.OK("PUT", path, body)["definition"].(object)
			require.ElementsMatch(t, slices.Collect(maps.Keys(tc.want)), slices.Collect(maps.Keys(byText)))
			require.ElementsMatch(t, slices.Collect(maps.Keys(tc.want["subject"].(object))), slices.Collect(maps.Keys(byText["subject"].(object))))
			require.Less(t, s.Admin.Call("DELETE", path+"?expectedVersion=5", nil).Status, 300)
		})
	}
	p := s.Admin.OK("POST", base, object{"tableFqn": fqn, "policyText": `permit (principal == User::"u", action, resource);`})
	require.Contains(t, p, "definition")
	require.Nil(t, p["definition"])
}
