package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// warned returns the codes and columns of the warnings in a reply, each with its tables.
func warned(reply object) list {
	tables := map[[2]any]list{}
	for _, w := range reply["warnings"].(list) {
		w := w.(object)
		of := [2]any{w["code"], w["columnName"]}
		tables[of] = append(tables[of], w["tables"].(list)...)
	}
	out := list{}
	for _, code := range []any{"missing_column", "out_of_range", "wrong_type"} {
		for of, names := range tables {
			if of[0] == code {
				slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
				out = append(out, list{code, of[1], names})
			}
		}
	}
	return out
}

// A literal is compared exactly with a column of its type, whatever the column's width, and a literal
// of another type is refused with the names of both.
func TestTypesOfPolicies(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("typed", `SELECT i::SMALLINT AS sm, i AS n, (i / 2)::DECIMAL(5,1) AS d, i = 1 AS b, 'r' || i AS s,
		DATE '2024-01-01' + i::INTEGER AS day, i::DOUBLE AS f, (i / 2)::DECIMAL(18,6) AS long FROM range(4) t(i)`, nil,
		column{"sm", "short"}, column{"n", "long"}, column{"d", "decimal(5,1)"}, column{"b", "boolean"}, column{"s", "string"},
		column{"day", "date"}, column{"f", "double"}, column{"long", "decimal(18,6)"})
	base, fqn, typed := "/v1/organisations/"+s.Boot.OrganisationID+"/policies", "lake."+s.Schema+".typed", s.Schema+".typed"
	simulate := func() object {
		return s.Admin.OK("POST", base+"/simulate", object{"tableFqn": fqn, "role": "viewer"})
	}
	text := func(condition string) object {
		return object{"kind": "rls", "tableFqn": fqn, "policyText": "permit (principal, action, resource) when { " + condition + " };"}
	}
	for condition, want := range map[string]struct {
		rows   float64
		code   string
		column string
	}{
		`resource.sm < 100000`:                              {4, "out_of_range", "sm"},
		`resource.sm > -100000 && resource.n >= 2`:          {2, "out_of_range", "sm"},
		`resource.sm == 70000`:                              {0, "out_of_range", "sm"},
		`resource.sm != 70000`:                              {4, "out_of_range", "sm"},
		`[1, 70000].contains(resource.sm)`:                  {1, "out_of_range", "sm"},
		`resource.d.lessThan(decimal("0.55"))`:              {2, "out_of_range", "d"},
		`resource.d.greaterThanOrEqual(decimal("0.4999"))`:  {3, "out_of_range", "d"},
		`resource.d.lessThan(decimal("100000.0"))`:          {4, "out_of_range", "d"},
		`resource.day <= datetime("2024-01-02T10:00:00Z")`:  {2, "out_of_range", "day"},
		`!(resource has nope)`:                              {0, "missing_column", "nope"},
		`resource.n == 1`:                                   {1, "", ""},
		`resource.d.lessThan(decimal("0.5"))`:               {1, "", ""},
		`resource has f && resource has long && resource.b`: {1, "", ""},
	} {
		p := s.Admin.OK("POST", base, text(condition))
		warnings := list{}
		if want.code != "" {
			warnings = list{list{want.code, want.column, list{fqn}}}
		}
		require.Equal(t, warnings, warned(p), condition)
		require.Equal(t, want.rows, s.Admin.Count(typed), condition)
		require.Equal(t, warnings, warned(simulate()), condition)
		require.Equal(t, want.rows, simulate()["visibleRowCount"], condition)
		id := "/" + p["id"].(string)
		require.NotContains(t, s.Admin.OK("GET", base+id, nil), "warnings")
		require.Equal(t, warnings, warned(s.Admin.OK("PATCH", base+id, object{"enabled": true, "expectedVersion": 1})), condition)
		s.Admin.OK("DELETE", base+id+"?expectedVersion=2", nil)
	}
	for condition, names := range map[string][]string{
		`resource.n == 1 || resource.n == "5"`:        {"resource.n is of type bigint", `\"5\", which is a string`, "line 1, column 78"},
		`resource.n != true`:                          {"bigint", "a boolean"},
		`resource.n.lessThan(decimal("5.0"))`:         {"bigint", "a decimal"},
		`[1, "a"].contains(resource.n)`:               {"bigint", "a string"},
		`resource.n like "5*"`:                        {"bigint", `\"like\"`},
		`resource.n`:                                  {"bigint", "boolean"},
		`resource.n.lessThan(principal.x)`:            {"bigint", "lessThan"},
		`resource.d == 5`:                             {"decimal(5,1)", "an integer"},
		`resource.d < decimal("1.5")`:                 {"lessThan"},
		`resource.d < principal.x`:                    {"decimal(5,1)", "lessThan"},
		`resource.b == "true"`:                        {"boolean", "a string"},
		`resource.s == 5`:                             {"varchar", "an integer"},
		`resource.s < "x"`:                            {"varchar"},
		`resource.day == "2024-01-01"`:                {"date", "a string"},
		`resource.day < datetime("+000010000-01-01")`: {"years 1 to 9999"},
		`resource.f == decimal("1.5")`:                {"double"},
		`resource.f == principal.x`:                   {"double"},
		`resource.long.lessThan(decimal("1.5"))`:      {"decimal(18,6)"},
		`principal.x < decimal("1.5")`:                {"lessThan"},
		`principal.x < "a"`:                           {"a string has no order"},
	} {
		r := s.Admin.Call("POST", base, text(condition))
		code, fields := r.Problem(t, 422)
		require.Equal(t, "invalid_policy", code, condition)
		require.Equal(t, []string{"policyText"}, fields, condition)
		for _, name := range names {
			require.Contains(t, string(r.Body), name, condition)
		}
	}
	definition := func(condition string) object {
		return object{"kind": "rls", "tableFqn": fqn, "definition": harness.Definition(
			`{"effect":"permit","subject":{"everyone":true},"condition":` + condition + `}`)}
	}
	for condition, names := range map[string][]string{
		`{"column":"n","op":"eq","value":"5"}`:          {"a string", "column n", "bigint"},
		`{"column":"n","op":"in","value":["5"]}`:        {"a string", "column n", "bigint"},
		`{"column":"sm","op":"lt","value":100000}`:      {"column sm", "smallint"},
		`{"column":"b","op":"eq","value":"true"}`:       {"a string", "column b", "boolean"},
		`{"column":"s","op":"eq","value":5}`:            {"an integer", "column s", "varchar"},
		`{"column":"day","op":"eq","value":5}`:          {"an integer", "column day", "date"},
		`{"column":"day","op":"eq","value":"tomorrow"}`: {"column day", "date"},
		`{"column":"f","op":"lt","value":1.5}`:          {"double"},
	} {
		r := s.Admin.Call("POST", base, definition(condition))
		_, fields := r.Problem(t, 422)
		require.Len(t, fields, 1, condition)
		require.True(t, strings.HasPrefix(fields[0], "definition.condition."), condition)
		for _, name := range names {
			require.Contains(t, string(r.Body), name, condition)
		}
	}
	for condition, want := range map[string]float64{
		`{"column":"n","op":"eq","value":1}`:               1,
		`{"column":"d","op":"lt","value":1}`:               2,
		`{"column":"d","op":"lt","value":"0.5"}`:           1,
		`{"column":"day","op":"gte","value":"2024-01-03"}`: 2,
		`{"column":"b","op":"eq","value":true}`:            1,
	} {
		p := s.Admin.OK("POST", base, definition(condition))
		require.Empty(t, p["warnings"], condition)
		require.Equal(t, want, s.Admin.Count(typed), condition)
		s.Admin.OK("DELETE", base+"/"+p["id"].(string)+"?expectedVersion=1", nil)
	}
}

// A policy of every table decides nothing about tables whose columns have another type: a permit
// shows none of their rows by it, and a forbid hides them. The reply names these tables.
func TestPoliciesOfEveryTableAndTypes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("asnumber", `SELECT i AS mark, 'x' AS other FROM range(4) t(i)`, nil, column{"mark", "long"}, column{"other", "string"})
	s.Table("astext", `SELECT '' || i AS mark, 'x' AS other FROM range(4) t(i)`, nil, column{"mark", "string"}, column{"other", "string"})
	s.Table("asdecimal", `SELECT i::DECIMAL(5,1) AS mark, 'x' AS other FROM range(4) t(i)`, nil, column{"mark", "decimal(5,1)"},
		column{"other", "string"})
	s.Table("lacking", `SELECT 'x' AS other FROM range(4) t(i)`, nil, column{"other", "string"})
	names := []string{"asdecimal", "asnumber", "astext", "lacking"}
	base := "/v1/organisations/" + s.Boot.OrganisationID + "/policies"
	fqn := func(name string) string { return "lake." + s.Schema + "." + name }
	for _, c := range []struct {
		name string
		body object
		// rows are those that are visible of the tables by name.
		rows  []float64
		wrong list
	}{
		{"permit", object{"policyText": `permit (principal, action, resource) when { resource has mark && resource.mark == 1 };`},
			[]float64{0, 1, 0, 0}, list{fqn("asdecimal"), fqn("astext")}},
		{"permit, not", object{"policyText": `permit (principal, action, resource) when { resource has mark && !(resource.mark == 1) };`},
			[]float64{0, 3, 0, 0}, list{fqn("asdecimal"), fqn("astext")}},
		{"permit by definition", object{"definition": harness.Definition(
			`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"mark","op":"neq","value":1}}`)},
			[]float64{3, 3, 0, 0}, list{fqn("astext")}},
		{"forbid", object{"policyText": `forbid (principal, action, resource) when { resource has mark && resource.mark == "1" };`},
			[]float64{0, 0, 3, 4}, list{fqn("asdecimal"), fqn("asnumber")}},
	} {
		var made []object
		if strings.HasPrefix(c.name, "forbid") {
			made = append(made, s.Admin.OK("POST", base, object{"kind": "rls", "definition": harness.Definition(harness.Everyone)}))
		}
		c.body["kind"] = "rls"
		p := s.Admin.OK("POST", base, c.body)
		made = append(made, p)
		require.Equal(t, list{list{"missing_column", "mark", list{fqn("lacking")}}, list{"wrong_type", "mark", c.wrong}}, warned(p), c.name)
		for i, table := range names {
			require.Equal(t, c.rows[i], s.Admin.Count(s.Schema+"."+table), "%s: %s", c.name, table)
			warnings := s.Admin.OK("POST", base+"/simulate", object{"tableFqn": fqn(table), "role": "viewer"})["warnings"].(list)
			require.Equal(t, table == "lacking" || slices.Contains(c.wrong, any(fqn(table))), len(warnings) == 1, table)
		}
		for _, p := range made {
			s.Admin.OK("DELETE", base+"/"+p["id"].(string)+"?expectedVersion=1", nil)
		}
	}
}
