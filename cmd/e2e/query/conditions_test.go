package query_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// conditioned is a table whose values could pass for conditions.
func conditioned(t *testing.T) (*harness.Server, string) {
	s := harness.Shared(t)
	path := s.Create("t", object{"partition_by": list{"p"}},
		harness.Col("id", "long"), harness.Col("b", "byte"), harness.Col("flag", "boolean"), harness.Col("word", "string"),
		harness.Col("nested", "struct<x:integer>"), harness.Col("p", "integer"))
	s.Admin.Write(path+"/rows", harness.RowsOf(
		object{"id": 1, "b": 1, "flag": true, "word": "x", "nested": object{"x": 1}, "p": 1},
		object{"id": 2, "b": 2, "flag": false, "word": "true", "p": 2},
	))
	return s, path
}

func TestAConditionIsABoolean(t *testing.T) {
	t.Parallel()
	s, path := conditioned(t)
	get := func(where string) harness.Reply {
		return s.Admin.Call("GET", path+"/rows?where="+url.QueryEscape(where), nil)
	}
	for where, kind := range map[string]string{
		"id": "BIGINT", "b": "TINYINT", "1": "INTEGER", "'true'": "VARCHAR", "word": "VARCHAR", "nested": "STRUCT", "1, 2": "STRUCT",
		"b + 1":                            "TINYINT",
		"CASE WHEN flag THEN 1 ELSE 0 END": "INTEGER", "(SELECT count(*) FROM " + s.Schema + ".t)": "BIGINT", "'x'::INTEGER": "INTEGER",
	} {
		for _, r := range []harness.Reply{
			s.Admin.Call("POST", path+"/rows/delete", object{"where": where}),
			s.Admin.Call("POST", path+"/rows/update", object{"where": where, "set": object{"b": "7"}}),
			get(where),
		} {
			code, _ := r.Problem(t, 422)
			require.Equal(t, "invalid_field", code, where)
			require.Regexp(t, "^must be a condition; this is "+kind, r.Details(t)["where"], where)
		}
	}
	for _, where := range []string{"p", "1", "'true'", "p + 1"} {
		r := s.Admin.Call("POST", path+"/optimize", object{"where": where})
		code, _ := r.Problem(t, 422)
		require.Equal(t, "invalid_field", code, where)
		require.Contains(t, r.Details(t)["where"], "must be a condition; this is ", where)
	}
	require.Equal(t, 2.0, s.Admin.Count(s.Schema+".t"))
	for where, rows := range map[string]int{
		"flag": 1, "NOT flag": 1, "NULL": 0, "(NULL)": 0, "true": 2, "starts_with(word, 'x')": 1, "coalesce(flag, false)": 1,
		"CASE WHEN b = 1 THEN flag END": 1,
		"id = 1 -- one":                 1, "word LIKE 'x'": 1, "(SELECT true)": 2, "random() < 2": 2, "EXISTS (SELECT 1)": 2, "nested.x = 1": 1,
		"word ~ 'tr.e'": 1, "id IN (1, 2)": 2,
	} {
		r := get(where)
		require.Equal(t, 200, r.Status, "%s: %s", where, r.Body)
		require.Len(t, r.JSON(t)["rows"], rows, where)
		_, updated, _ := s.Admin.Write(path+"/rows/update?dry_run=true", object{"where": where, "set": object{"b": "7"}})
		require.Equal(t, float64(rows), updated, where)
	}
	require.Equal(t, 200, s.Admin.Call("POST", path+"/optimize", object{"where": "p = 1", "dry_run": true}).Status)
	require.Equal(t, 200, s.Admin.Call("POST", path+"/optimize", object{"where": "NOT (p > 1)", "dry_run": true}).Status)
	_, _, deleted := s.Admin.Write(path+"/rows/delete", object{"where": "flag"})
	require.Equal(t, 1.0, deleted)
}

func TestErrorsOfChangesNameTheirField(t *testing.T) {
	t.Parallel()
	s, path := conditioned(t)
	update := func(where string, set object) harness.Reply {
		return s.Admin.Call("POST", path+"/rows/update", object{"where": where, "set": set})
	}
	for _, c := range []struct {
		where   string
		set     object
		status  int
		code    string
		field   string
		message string
	}{
		{"nope = 1", object{"b": "1"}, 400, "column_not_found", "where", `^line 1, column 1: column not found: "nope"`},
		{"id = 1\n  AND wrod = 'x'", object{"b": "1"}, 400, "column_not_found", "where",
			`^line 2, column 7: column not found: "wrod"; near: word`},
		{"word > 1", object{"b": "1"}, 400, "type_mismatch", "where", `^line 1, column 6: `},
		{"nope", object{"b": "1"}, 400, "column_not_found", "where", `^line 1, column 1: `},
		{"true", object{"b": "nope + 1"}, 400, "column_not_found", "set.b", `^line 1, column 1: column not found: "nope"`},
		{"true", object{"id": "b + 1", "b": "b +\n wrod"}, 400, "column_not_found", "set.b", `^line 2, column 2: .*near: word`},
		{"true", object{"b": "1", "word": "abs(word)"}, 400, "type_mismatch", "set.word", `^line 1, column 1: `},
		{"true", object{"b": "1000"}, 422, "value_error", "set.b", `cannot be converted`},
		{"true", object{"id": "word", "b": "id"}, 422, "value_error", "set.id", `cannot be converted`},
		{"word::INTEGER = 1", object{"b": "id"}, 422, "value_error", "where", `cannot be converted`},
		{"(\n1", object{"b": "1"}, 422, "invalid_field", "where", `^must be one SQL expression`},
		{"foo(1) = 1", object{"b": "1"}, 422, "invalid_field", "where", `^line 1, column 1: there is no function foo`},
		{"true", object{"b": "1 +\n foo(1)"}, 422, "invalid_field", "set.b", `^line 2, column 2: there is no function foo`},
		{"id = ?", object{"b": "1"}, 422, "invalid_field", "where", `parameter`},
		{"sum(id) > 1", object{"b": "1"}, 422, "invalid_field", "where", `^line 1, column 1: sum `},
		{"id > 1 AND row_number() OVER () = 1", object{"b": "1"}, 422, "invalid_field", "where", `^line 1, column 12: row_number `},
		{"true", object{"b": "1 + max(b)"}, 422, "invalid_field", "set.b", `^line 1, column 5: max `},
		{"true", object{"b": "lag(b) OVER (ORDER BY id)"}, 422, "invalid_field", "set.b", `^line 1, column 1: lag `},
		{"true", object{"b": "unnest([1, 2])"}, 422, "invalid_field", "set.b", `^line 1, column 1: unnest `},
		{"id IN (SELECT id FROM nowhere)", object{"b": "1"}, 400, "table_not_found", "where", `^line 1, column 23: `},
	} {
		r := update(c.where, c.set)
		code, fields := r.Problem(t, c.status)
		require.Equal(t, c.code, code, "%v: %s", c, r.Body)
		require.Equal(t, []string{c.field}, fields, "%v: %s", c, r.Body)
		require.Regexp(t, c.message, r.Details(t)[c.field], "%v", c)
		require.NotContains(t, string(r.Body), "lw_", "names of ours")
	}
	_, updated, _ := s.Admin.Write(path+"/rows/update", object{"where": "id = (SELECT max(id) FROM " + s.Schema + ".t)",
		"set": object{"b": "(SELECT sum(id) FROM " + s.Schema + ".t)"}})
	require.Equal(t, 1.0, updated, "in a subquery an aggregate is one value")

	code, fields := s.Admin.Call("POST", path+"/rows/delete", object{"where": "word::INTEGER = 1"}).Problem(t, 422)
	require.Equal(t, "value_error", code)
	require.Equal(t, []string{"where"}, fields)
}

func TestErrorsOfPagesNameTheirField(t *testing.T) {
	s, path := conditioned(t)
	for _, c := range []struct {
		query         string
		status        int
		code          string
		field, wanted string
	}{
		{"where=" + url.QueryEscape("id = 1\nOR wrod = 'x'"), 400, "column_not_found", "where", `^line 2, column 4: .*near: word`},
		{"where=" + url.QueryEscape("word > 1") + "&order_by=id", 400, "type_mismatch", "where", `^line 1, column 6: `},
		{"where=" + url.QueryEscape("count(*) > 1"), 422, "invalid_field", "where", `^line 1, column 1: count`},
		{"where=" + url.QueryEscape("word::INTEGER = 1"), 422, "value_error", "where", `cannot be converted`},
		{"select=wrod&where=id=1", 400, "column_not_found", "select", `^column not found: "wrod"; near: word`},
		{"order_by=wrod+desc", 400, "column_not_found", "order_by", `^column not found: "wrod"; near: word`},
	} {
		r := s.Admin.Call("GET", path+"/rows?"+c.query, nil)
		code, fields := r.Problem(t, c.status)
		require.Equal(t, c.code, code, "%s: %s", c.query, r.Body)
		require.Equal(t, []string{c.field}, fields, "%s: %s", c.query, r.Body)
		require.Regexp(t, c.wanted, r.Details(t)[c.field], c.query)
	}
}
