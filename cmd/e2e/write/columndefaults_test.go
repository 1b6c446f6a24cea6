package write_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// columnOf is a column as a table's description has it.
func columnOf(c *harness.Client, path, name string) map[string]any {
	c.T.Helper()
	for _, column := range c.OK("GET", path, nil)["columns"].([]any) {
		if column := column.(map[string]any); column["name"] == name {
			return column
		}
	}
	c.T.Fatalf("column %s does not exist", name)
	return nil
}

// lastLog is the newest commit in a table's folder, with its version.
func lastLog(t testing.TB, dir string) (text string, version int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	raw, err := os.ReadFile(files[len(files)-1])
	require.NoError(t, err)
	return string(raw), len(files) - 1
}

func TestColumnsHaveDefaults(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("orders", nil, harness.Col("id", "long", "isPrimaryKey", true),
		harness.Col("state", "string", "nullable", false, "default", "'new'"), harness.Col("note", "string"))
	from := " FROM " + s.Schema + ".orders"
	require.Equal(t, "'new'", columnOf(s.Admin, path, "state")["default"])
	require.Nil(t, columnOf(s.Admin, path, "note")["default"])
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1}, object{"id": 2, "state": "old"}))
	before := s.Admin.Version(path)

	// An added column is NULL in the rows of this and of older versions.
	got := s.Admin.OK("POST", path+"/columns", object{"name": "price", "type": "decimal(6,2)", "default": "9.5"})
	require.Equal(t, before+1, got["version"])
	require.Equal(t, "CAST('9.50' AS DECIMAL(6,2))", columnOf(s.Admin, path, "price")["default"])
	require.Equal(t, true, columnOf(s.Admin, path, "price")["nullable"])
	text, _ := lastLog(t, filepath.Join(s.Root, "orders"))
	require.Contains(t, text, `CURRENT_DEFAULT`)
	require.NotContains(t, text, "EXISTS_DEFAULT")
	all := "SELECT id, state, note, price" + from + " ORDER BY id"
	require.Equal(t, list{list{1.0, "new", nil, nil}, list{2.0, "old", nil, nil}}, s.Admin.Rows(all))

	// What is left out is filled in, what is sent as null stays null.
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 3}, object{"id": 4, "price": nil}, object{"id": 5, "price": "1.25", "state": "x"}))
	send := func(media, body string) {
		t.Helper()
		r := s.Admin.Call("POST", path+"/rows", body, "Content-Type", media)
		require.Equal(t, 200, r.Status, "%s", r.Body)
	}
	send("application/x-ndjson", "{\"id\":6}\n{\"id\":7,\"price\":null,\"note\":\"n\"}\n")
	send("text/csv", "id,note\n8,csv\n")
	for i, media := range []string{"application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"} {
		body := s.Admin.Call("POST", "/v1/query", object{"sql": fmt.Sprintf("SELECT %d::BIGINT AS id, NULL::VARCHAR AS note", 9+i)}, "Accept",
			media)
		require.Equal(t, 200, body.Status)
		send(media, string(body.Body))
	}
	require.Equal(t, list{
		list{3.0, "new", nil, "9.50"}, list{4.0, "new", nil, nil}, list{5.0, "x", nil, "1.25"}, list{6.0, "new", nil, "9.50"},
		list{7.0, "new", "n", nil},
		list{8.0, "new", "csv", "9.50"}, list{9.0, "new", nil, "9.50"}, list{10.0, "new", nil, "9.50"},
	}, s.Admin.Rows(all)[2:])
	require.Equal(t, list{list{2.0, nil}}, s.Admin.Rows("SELECT count(*), max(note)"+from+fmt.Sprintf(" AT (VERSION => %d)", int(before))))
	s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 11, "state": nil})).Problem(t, 422)

	// A merge fills in the rows that it adds, and leaves those that it changes.
	inserted, updated, _ := s.Admin.Write(path+"/rows/merge", object{"rows": list{object{"id": 2, "note": "met"},
		object{"id": 12, "note": "added"}, object{"id": 5, "price": nil}}})
	require.Equal(t, []float64{1, 2}, []float64{inserted, updated})
	require.Equal(t, list{list{2.0, "old", "met", nil}, list{5.0, "x", nil, nil}, list{12.0, "new", "added", "9.50"}},
		s.Admin.Rows("SELECT id, state, note, price"+from+" WHERE id IN (2, 5, 12) ORDER BY id"))

	// The default goes with the column, and goes when it is taken away.
	s.Admin.OK("PATCH", path+"/columns/price", object{"name": "cost"})
	require.Equal(t, "CAST('9.50' AS DECIMAL(6,2))", columnOf(s.Admin, path, "cost")["default"])
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 13}))
	s.Admin.OK("PATCH", path+"/columns/cost", object{"default": "2"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 14}))
	version := s.Admin.Version(path)
	require.Equal(t, version, s.Admin.OK("PATCH", path+"/columns/cost", object{"default": "2.00"})["version"], "nothing changes")
	s.Admin.OK("PATCH", path+"/columns/cost", object{"default": nil})
	require.Nil(t, columnOf(s.Admin, path, "cost")["default"])
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 15}))
	require.Equal(t, list{list{13.0, "9.50"}, list{14.0, "2.00"}, list{15.0, nil}},
		s.Admin.Rows("SELECT id, cost"+from+" WHERE id > 12 ORDER BY id"))
	require.Equal(t, list{list{"cost", nil}, list{"id", nil}, list{"note", nil}, list{"state", "'new'"}},
		s.Admin.Rows("SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'orders' ORDER BY 1"))
}

func TestDefaultsAreConstantsOfTheColumn(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	before := s.Admin.Version(path)
	for _, c := range []struct{ typ, text string }{
		{"date", "current_date"}, {"double", "random()"}, {"integer", "id"}, {"integer", "1.5"}, {"integer", "'x'"}, {"string", "'a' || 'b'"},
		{"integer", "(SELECT 1)"}, {"integer", "1; SELECT 1"}, {"binary", "'a'"}, {"array<long>", "[1]"}, {"string", "'it''s'"},
	} {
		code, fields := s.Admin.Call("POST", path+"/columns", object{"name": "x", "type": c.typ, "default": c.text}).Problem(t, 422)
		require.Equal(t, "invalid_field default", code+" "+fields[0], c.text)
	}
	_, fields := s.Admin.Call("PATCH", path+"/columns/n", object{"default": "2147483648"}).Problem(t, 422)
	require.Equal(t, []string{"default"}, fields)
	s.Admin.Call("PATCH", path+"/columns/n", object{"default": ""}).Problem(t, 422)
	require.Equal(t, before, s.Admin.Version(path), "nothing was committed")
	_, fields = s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "bad", nil, harness.Col("id", "long", "default", "now()"),
		harness.Col("a", "long"), harness.Col("b", "date", "default", "'2024-02-30'"))).Problem(t, 422)
	require.Equal(t, []string{"columns[0].default", "columns[2].default"}, fields)
	s.Admin.OK("PATCH", path+"/columns/n", object{"default": "7", "type": "long"})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1}))
	require.Equal(t, list{list{1.0, 7.0}}, s.Admin.Rows("SELECT id, n FROM "+s.Schema+".t"))
}

// TestRulesAreCheckedAfterDefaults checks that constraints, keys and the row filter apply
// to the stored values.
func TestRulesAreCheckedAfterDefaults(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", object{"partition_by": list{"region"}}, harness.Col("id", "long", "default", "1", "isPrimaryKey", true),
		harness.Col("region", "string", "default", "'eu'"),
		harness.Col("pay", "integer", "default", "5"), harness.Col("secret", "string", "default", "'hidden'"))
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "small", "expr": "pay < 100"}}})
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"pay": 1}))
	code, _ := s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"pay": 2})).Problem(t, 409)
	require.Equal(t, "key_conflict", code, "the key is the default")
	s.Admin.OK("PATCH", path+"/columns/pay", object{"default": "100"})
	s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 2})).Problem(t, 422)
	s.Admin.OK("PATCH", path+"/columns/pay", object{"default": "5"})

	s.Rule("rls", "t", "region", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"eu"}}`)
	s.Rule("cls", "t", "secret", harness.AdminsSee)
	s.Rule("mask", "t", "pay", harness.AdminsSee)
	editor := s.Member("ed@acme.example", "editor", nil)
	editor.Write(path+"/rows", harness.RowsOf(object{"id": 3}))
	require.Equal(t, list{list{3.0, "eu", 5.0, "hidden"}}, s.Admin.Rows("SELECT id, region, pay, secret FROM "+s.Schema+".t WHERE id = 3"))
	s.Admin.Write(path+"/rows/update", object{"where": "id = 3", "set": object{"pay": "6", "secret": "'own'"}})
	_, updated, _ := editor.Write(path+"/rows/merge", harness.RowsOf(object{"id": 3}, object{"id": 5}))
	require.InDelta(t, 1, updated, 0)
	require.Equal(t, list{list{3.0, "eu", 6.0, "own"}, list{5.0, "eu", 5.0, "hidden"}},
		s.Admin.Rows("SELECT id, region, pay, secret FROM "+s.Schema+".t WHERE id IN (3, 5) ORDER BY id"),
		"a changed row keeps its values, an added one has the defaults, of hidden and masked columns, too")
	require.Equal(t, list{list{5.0, "eu", nil}}, editor.Rows("SELECT * FROM "+s.Schema+".t WHERE id = 5"))
	s.Admin.OK("PATCH", path+"/columns/region", object{"default": "'us'"})
	editor.Call("POST", path+"/rows", harness.RowsOf(object{"id": 4})).Problem(t, 403)
	editor.Write(path+"/rows", harness.RowsOf(object{"id": 4, "region": "eu"}))

	// A default is a value of rows, so it is not shown for a masked column.
	require.Nil(t, columnOf(editor, path, "pay")["default"])
	require.Equal(t, "'us'", columnOf(editor, path, "region")["default"])
	require.NotContains(t, string(editor.Call("GET", path, nil).Body), "hidden")
	require.Equal(t, list{list{"id", "CAST('1' AS BIGINT)"}, list{"pay", nil}, list{"region", "'us'"}},
		editor.Rows("SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 't' ORDER BY 1"))
}

// TestForeignDefaultsBlockOnlyRowsThatNeedThem checks that a default which cannot be
// evaluated does not affect rows that name the column.
func TestForeignDefaultsBlockOnlyRowsThatNeedThem(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("day", "date", "default", "'2024-01-01'"),
		harness.Col("kind", "string", "default", "'a'"), harness.Col("hid", "date"))
	foreignDefaults(s, "t", map[string]string{"day": "current_date()", "kind": "CAST('b' AS STRING)"})
	from := " FROM " + s.Schema + ".t"
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "day": "2024-05-05"}, object{"id": 2, "day": nil, "kind": nil}))
	require.Equal(t, list{list{1.0, "2024-05-05", "b"}, list{2.0, nil, nil}}, s.Admin.Rows("SELECT id, day, kind"+from+" ORDER BY id"))
	require.Equal(t, "current_date()", columnOf(s.Admin, path, "day")["default"])
	version := s.Admin.Version(path)
	details, _ := told(s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 3, "day": "2024-05-05"}, object{"id": 4})), t, 422)
	require.Equal(t, []string{"rows[1].day: is required: the default of the column cannot be evaluated here"}, details)
	r := s.Admin.Call("POST", path+"/rows", "id\n5\n", "Content-Type", "text/csv")
	_, fields := r.Problem(t, 422)
	require.Equal(t, []string{"rows.day"}, fields)
	s.Admin.Call("POST", path+"/rows/merge", object{"rows": list{object{"id": 1, "kind": "x"}}}).Problem(t, 422)
	require.Equal(t, version, s.Admin.Version(path), "nothing was committed")

	// Other changes continue to work.
	_, updated, _ := s.Admin.Write(path+"/rows/merge", object{"rows": list{object{"id": 1, "kind": "x"}}, "when_not_matched": "ignore"})
	require.InDelta(t, 1, updated, 0)
	s.Admin.OK("POST", path+"/rows/update", object{"where": "id = 2", "set": object{"kind": "'y'"}})
	s.Admin.OK("POST", path+"/rows/delete", object{"where": "id = 2"})
	s.Admin.OK("POST", path+"/optimize", object{})
	require.Equal(t, list{list{1.0, "2024-05-05", "x"}}, s.Admin.Rows("SELECT id, day, kind"+from))

	// The error does not name a hidden column.
	foreignDefaults(s, "t", map[string]string{"hid": "current_date()", "day": "DATE '2024-02-02'"})
	s.Rule("cls", "t", "hid", harness.AdminsSee)
	editor := s.Member("ed@acme.example", "editor", nil)
	details, _ = told(editor.Call("POST", path+"/rows", harness.RowsOf(object{"id": 6})), t, 422)
	require.Equal(t, []string{"rows: cannot be added: the table has a default that cannot be evaluated here"}, details)
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 6, "hid": nil}))
	require.Equal(t, list{list{6.0, "2024-02-02"}}, s.Admin.Rows("SELECT id, day"+from+" WHERE id = 6"))
	s.Admin.OK("PATCH", path+"/columns/hid", object{"default": nil})
	editor.Write(path+"/rows", harness.RowsOf(object{"id": 7}))
}

// foreignDefaults commits defaults to a table as another engine does.
func foreignDefaults(s *harness.Server, table string, defaults map[string]string) {
	s.T.Helper()
	dir := filepath.Join(s.Root, table)
	files, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(s.T, err)
	var metadata map[string]any
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(s.T, err)
		for _, line := range bytes.Split(bytes.TrimSpace(raw), []byte("\n")) {
			var action map[string]map[string]any
			require.NoError(s.T, json.Unmarshal(line, &action))
			if m := action["metaData"]; m != nil {
				metadata = m
			}
		}
	}
	var schema map[string]any
	require.NoError(s.T, json.Unmarshal([]byte(metadata["schemaString"].(string)), &schema))
	for _, f := range schema["fields"].([]any) {
		field := f.(map[string]any)
		if text, ok := defaults[field["name"].(string)]; ok {
			field["metadata"].(map[string]any)["CURRENT_DEFAULT"] = text
		}
	}
	text, err := json.Marshal(schema)
	require.NoError(s.T, err)
	metadata["schemaString"] = string(text)
	line, err := json.Marshal(object{"metaData": metadata})
	require.NoError(s.T, err)
	info := `{"commitInfo":{"timestamp":1700000000000,"operation":"CHANGE COLUMN","operationParameters":{}}}`
	name := fmt.Sprintf("%020d.json", len(files))
	require.NoError(s.T, os.WriteFile(filepath.Join(dir, "_delta_log", name), []byte(info+"\n"+string(line)+"\n"), 0o600))
}

// TestMaskedColumnsTakeNoDefault checks that a caller who sees the hashes of a column
// cannot set its default, which would show which rows have the same value.
func TestMaskedColumnsTakeNoDefault(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("people", nil, harness.Col("id", "long"), harness.Col("ssn", "string"), harness.Col("note", "string"))
	s.Admin.Write(path+"/rows", object{"rows": []any{object{"id": 1, "ssn": "123"}}})
	s.Rule("mask", "people", "ssn", `{"effect":"permit","subject":{"role":"admin"},"mask":"hash"}`)
	ben := s.Member("ben@acme.example", "builder", nil)
	before := s.Admin.Version(path)
	for _, value := range []any{"'123'", nil} {
		code, _ := ben.Call("PATCH", path+"/columns/ssn", object{"default": value}).Problem(t, 403)
		require.Equal(t, "table_partly_visible", code)
	}
	require.Equal(t, before, s.Admin.Version(path))
	ben.OK("PATCH", path+"/columns/note", object{"default": "'x'"})
	s.Admin.OK("PATCH", path+"/columns/ssn", object{"default": "'123'"})
}
