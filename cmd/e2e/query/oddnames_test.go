package query_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// oddNames are names that somebody may send for a column.
var oddNames = []string{
	"nul\x00nul", "\x00", "\x01", "tab\tend", "line\nend", "line\r\nend", "\x7f", "\u0085", "\u009f", "bell\x07",
	"\u2028", "\u200b", "\u202egnp", "\ufeffmark", "\ufffe", "\U0010ffff", "e\u0301", "\U0001F600",
	`"`, `""`, `a"b`, "'", "`", `\`, `\"`, "a.b", "a..b", "$", "?", "%s", "*", "a*", "-- x", "/* x", ";", "a b", " a", "a ", "(", "{",
	"[0]",
	"select", "rowid", "file_row_number", "filename", "row", "column", "_metadata", "_change_type", "NULL", "true", "1", "1a", "ß", "İ", "ı",
	"K",
	strings.Repeat("n", 255), strings.Repeat("é", 255), strings.Repeat("\U0001F600", 255), strings.Repeat(`"`, 255),
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// usable uses a table in every way that names its column.
func usable(t *testing.T, s *harness.Server, table, column, value string, by *harness.Client) {
	t.Helper()
	path := s.TablePath(table)
	get := func(what string, r harness.Reply) {
		t.Helper()
		if r.Status >= 300 {
			t.Errorf("%s: %s with %.40q: %d %s", table, what, column, r.Status, r.Body)
		}
	}
	row, err := json.Marshal(map[string]json.RawMessage{"id": json.RawMessage("1"), column: json.RawMessage(value)})
	require.NoError(t, err)
	get("insert", by.Call("POST", path+"/rows", `{"rows":[`+string(row)+`]}`))
	from := s.Schema + "." + table
	get("star", by.Query("SELECT * FROM "+from))
	get("name", by.Query("SELECT "+quoted(column)+" FROM "+from+" WHERE "+quoted(column)+" IS NOT NULL ORDER BY "+quoted(column)))
	get("describe", by.Query("DESCRIBE "+from))
	get("page", by.Call("GET", path+"/rows?select="+url.QueryEscape(column), nil))
	get("details", by.Call("GET", path, nil))
	get("details", by.Call("GET", path+"/history", nil))
	get("update", by.Call("POST", path+"/rows/update", object{"where": quoted(column) + " IS NOT NULL",
		"set": object{column: quoted(column)}}))
	get("settings", by.Call("PUT", path+"/columns/"+url.PathEscape(column)+"/settings", object{"isUnique": true}))
	get("settings", by.Call("PUT", path+"/columns/"+url.PathEscape(column)+"/settings", object{"isUnique": false}))
	get("comment", by.Call("PATCH", path+"/columns/"+url.PathEscape(column), object{"comment": "x"}))
	get("constraint", by.Call("POST", path+"/constraints", object{"constraints": list{object{"name": "c", "expr": quoted(column) +
		" IS NOT NULL"}}}))
	get("insert again", by.Call("POST", path+"/rows", `{"rows":[`+string(row)+`]}`))
	get("optimize", by.Call("POST", path+"/optimize", nil))
}

func TestColumnsWithOddNamesWorkOrAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	mapped := object{"properties": object{"delta.columnMapping.mode": "name"}}
	var taken []string
	for i, name := range oddNames {
		for kind, more := range map[string]object{"plain": nil, "mapped": mapped} {
			table := fmt.Sprintf("t_%s_%d", kind, i)
			r := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, table, more, harness.Col("id", "long"), harness.Col(name, "string")))
			require.Less(t, r.Status, 500, "%q: %s", name, r.Body)
			if r.Status != 201 {
				fields := harness.Refused(t, r, r.Status)
				require.NotEmpty(t, fields, "%q", name)
				continue
			}
			taken = append(taken, name)
			usable(t, s, table, name, `"v"`, s.Admin)
		}
	}
	require.Greater(t, len(taken), len(oddNames), "most names are taken")
	for _, name := range taken {
		require.NotRegexp(t, "[\\x00-\\x1f\\x7f]", name)
	}
}

// TestColumnsWithCommasAndDots selects and orders by a column whose name has a comma, and
// reaches columns of other writers whose names clients remove from a path.
func TestColumnsWithCommasAndDots(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("commas", object{"properties": object{"delta.columnMapping.mode": "name"}},
		harness.Col("a", "long"), harness.Col("b", "long"), harness.Col("a,b", "long"), harness.Col("b,c", "long"))
	s.Admin.Write(path+"/rows", `{"rows":[{"a":1,"b":5,"a,b":8,"b,c":9},{"a":2,"b":4,"a,b":7,"b,c":9}]}`)
	for query, want := range map[string]list{
		"select=a,b&order_by=a":             {list{8.0}, list{7.0}},
		"select=a&select=b&order_by=a":      {list{1.0, 5.0}, list{2.0, 4.0}},
		"select=b,a&order_by=a":             {list{5.0, 1.0}, list{4.0, 2.0}},
		"select=a&order_by=a,b":             {list{2.0}, list{1.0}},
		"select=a&order_by=a,b%20desc":      {list{1.0}, list{2.0}},
		"select=a&order_by=b%20desc,a":      {list{1.0}, list{2.0}},
		"select=b,c&select=a&order_by=a%20": {list{9.0, 1.0}, list{9.0, 2.0}},
	} {
		require.Equal(t, want, s.Admin.OK("GET", path+"/rows?"+query, nil)["rows"].([]any), query)
	}
	for _, name := range []string{".", ".."} {
		code, _ := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "dots", nil, harness.Col(name, "long"))).Problem(t, 422)
		require.Equal(t, "invalid_schema", code)
		require.Equal(t, []string{"name"}, harness.Refused(t, s.Admin.Call("PATCH", path+"/columns/a", object{"name": name}), 422))
	}
	dir := filepath.Join(s.Root, "foreign")
	harness.ForeignTable(t, dir, `SELECT 1::BIGINT AS ".", 2::BIGINT AS ".."`,
		[]string{harness.SchemaField(".", "long"), harness.SchemaField("..", "long")}, nil, "")
	s.Discover()
	for _, escaped := range []string{"%2E", "%2E%2E"} {
		s.Admin.OK("PUT", s.TablePath("foreign")+"/columns/"+escaped+"/settings", object{"isUnique": true})
	}
	for _, name := range []string{".", ".."} {
		_, unique, _ := s.Admin.Flags(s.TablePath("foreign"), name)
		require.True(t, unique, name)
	}
}

// A name or a depth inside of a type is judged like that of a column.
func TestTypesOfNewColumnsWorkOrAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	deep := func(n int) string { return strings.Repeat("array<", n) + "long" + strings.Repeat(">", n) }
	for i, c := range []struct{ typ, value string }{
		{deep(15), strings.Repeat("[", 15) + "1" + strings.Repeat("]", 15)}, {deep(17), ""}, {deep(64), ""},
		{"struct<a: long, `b c`: long>", ""}, {"struct<`x\x00y`: long>", ""}, {"struct<`x\ny`: long>", ""}, {"array<struct<`\x7f`: long>>", ""},
		{"struct<`" + strings.Repeat("é", 128) + "`: long>", ""}, {"struct<a: long>", `{"a":1}`},
	} {
		table := fmt.Sprintf("t_%d", i)
		r := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, table, nil, harness.Col("id", "long"), harness.Col("v", c.typ)))
		if c.value == "" {
			require.Equal(t, []string{"columns[1].type"}, harness.Refused(t, r, 422), "%.60s", c.typ)
			continue
		}
		require.Equal(t, 201, r.Status, "%s", r.Body)
		s.Admin.Write(s.TablePath(table)+"/rows", `{"rows":[{"id":1,"v":`+c.value+`}]}`)
		require.Len(t, s.Admin.Rows("SELECT * FROM "+s.Schema+"."+table), 1)
		require.Len(t, s.Admin.Rows("SELECT [v] FROM "+s.Schema+"."+table), 1)
	}
	path := s.Create("named", nil, harness.Col("id", "long"))
	require.Equal(t, []string{"name"}, harness.Refused(t, s.Admin.Call("PATCH", path+"/columns/id", object{"name": "a\x00b"}), 422))
	require.Equal(t, []string{"name"}, harness.Refused(t, s.Admin.Call("PATCH", path+"/columns/id", object{"name": "a\tb"}), 422))
	require.Equal(t, []string{"name"}, harness.Refused(t, s.Admin.Call("POST", path+"/columns", object{"name": "a\x00b", "type": "long"}),
		422))
	require.Equal(t, []string{"type"}, harness.Refused(t, s.Admin.Call("POST", path+"/columns",
		object{"name": "v", "type": "struct<`a\x00b`: long>"}), 422))
}
