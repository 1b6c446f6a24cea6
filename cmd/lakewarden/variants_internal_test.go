package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// foreignTable writes a table as another engine would: files with the rows of a query, and
// a log with the given fields of the schema, features and properties.
func foreignTable(t testing.TB, dir, sql string, fields []string, features []string, properties string) []engine.DataFile {
	t.Helper()
	files := writeFiles(t, dir, sql, engine.FileLayout{})
	protocol := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	if features != nil {
		list, err := json.Marshal(features)
		require.NoError(t, err)
		protocol = fmt.Sprintf(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":%s,"writerFeatures":%s}}`, list, list)
	}
	schema, err := json.Marshal(`{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`)
	require.NoError(t, err)
	lines := []string{protocol, `{"metaData":{"id":"` + filepath.Base(dir) + `","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{` + properties + `},"schemaString":` + string(schema) + `,"createdTime":1}}`}
	for _, f := range files {
		lines = append(lines, fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":%d}"}}`, f.Name, f.Bytes, f.Rows))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, firstCommit), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return files
}

// schemaField returns a nullable field of a schema; typ is JSON or a name.
func schemaField(name, typ string) string {
	if !strings.HasPrefix(typ, "{") {
		typ = `"` + typ + `"`
	}
	return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}}`, name, typ)
}

const variantRows = `SELECT i AS id, 'u' || (i % 2) AS who, CASE i WHEN 0 THEN 0.00001::DECIMAL(10,5)::VARIANT WHEN 1 THEN '\xFF\x00'::BLOB::VARIANT
	WHEN 2 THEN DATE '2024-02-29'::VARIANT WHEN 3 THEN TIMESTAMPTZ '2024-02-29 01:02:03.5+00'::VARIANT
	WHEN 4 THEN {'a': -0.5::DECIMAL(2,1), 'secret': 'é"', 'list': [NULL, 'nan'::DOUBLE]}::VARIANT ELSE NULL END AS v FROM range(6) t(i)`

func variantTable(s *testServer, name string) string {
	dir := filepath.Join(s.root, name)
	foreignTable(s.t, dir, variantRows, []string{
		schemaField("id", "long"), schemaField("who", "string"), schemaField("v", "variant"),
	}, []string{"variantType", "deletionVectors"}, `"delta.enableDeletionVectors":"true"`)
	return dir
}

// TestVariantsAreShownAsJSONText reads variants on every path, with and without policies
// for rows and columns.
func TestVariantsAreShownAsJSONText(t *testing.T) {
	s := startServer(t, nil)
	for _, name := range []string{"plain", "rowed", "hidden", "masked"} {
		variantTable(s, name)
	}
	s.discover()
	s.policy("rowed", "who", `{"effect":"permit","subject":{"attribute":"who","op":"eq"},"condition":null}`)
	s.policy("rowed", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.rule("cls", "hidden", "v", viewersNot)
	s.rule("mask", "masked", "v", `{"effect":"forbid","subject":{"role":"viewer"},"mask":"null"}`)
	ana := s.member("ana@acme.example", "viewer", map[string]string{"who": "u1"})
	want := []any{
		`0.00001`, `"/wA="`, `"2024-02-29"`, `"2024-02-29T01:02:03.5Z"`, `{"a":-0.5,"list":[null,"NaN"],"secret":"é\""}`, nil,
	}
	of := func(table string) string { return s.schema + "." + table }

	for _, r := range [][]any{s.admin.rows("SELECT * FROM " + of("plain") + " ORDER BY id"), s.admin.ok("GET", s.tablePath("plain")+"/rows", nil)["rows"].([]any)} {
		require.Len(t, r, 6)
		for i, row := range r {
			cells := row.([]any)
			require.Equal(t, want[i], cells[2])
		}
	}
	require.Equal(t, []any{[]any{"é\""}}, s.admin.rows("SELECT v->>'$.secret' FROM "+of("plain")+" WHERE v->>'$.a' = '-0.5'"))
	require.Equal(t, []any{[]any{1.0}}, s.admin.rows("SELECT count(*) FROM "+of("plain")+" WHERE v IS NULL"))
	require.Len(t, s.admin.rows("SELECT v, count(*) FROM "+of("plain")+" GROUP BY v"), 6)

	reply := s.admin.call("POST", "/v1/query", map[string]any{"sql": "SELECT v FROM " + of("plain") + " ORDER BY id"}, "Accept", "application/vnd.apache.arrow.stream")
	require.Equal(t, 200, reply.status)
	reader, err := ipc.NewReader(bytes.NewReader(reply.body))
	require.NoError(t, err)
	var texts []any
	for reader.Next() {
		column := reader.RecordBatch().Column(0).(*array.String)
		for i := range column.Len() {
			if column.IsNull(i) {
				texts = append(texts, nil)
				continue
			}
			require.True(t, json.Valid([]byte(column.Value(i))))
			texts = append(texts, strings.Clone(column.Value(i)))
		}
	}
	require.NoError(t, reader.Err())
	reader.Release()
	require.Equal(t, want, texts)

	// Rules hold for them as for other columns.
	require.Equal(t, []any{[]any{1.0, want[1]}, []any{3.0, want[3]}, []any{5.0, nil}}, ana.rows("SELECT id, v FROM "+of("rowed")+" ORDER BY id"))
	require.Equal(t, []any{[]any{0.0}}, ana.rows("SELECT count(*) FROM "+of("rowed")+" WHERE v LIKE '%secret%'"))
	code, _ := ana.query("SELECT v FROM "+of("hidden")).problem(t, 400)
	require.Equal(t, "column_not_found", code)
	require.Len(t, ana.rows("SELECT * FROM " + of("hidden"))[0], 2)
	require.Equal(t, []any{[]any{6.0, 0.0}}, ana.rows("SELECT count(*), count(v) FROM "+of("masked")))
	require.Equal(t, []any{[]any{6.0, 5.0}}, s.admin.rows("SELECT count(*), count(v) FROM "+of("masked")))

	require.Equal(t, []any{[]any{"v", "VARCHAR"}}, s.admin.rows("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'plain' AND column_name = 'v'"))
	columns := s.admin.ok("GET", s.tablePath("plain"), nil)["columns"].([]any)
	require.Equal(t, "variant", columns[2].(map[string]any)["type"])
}

// TestTablesWithVariantsAreNotWritten checks that every write of rows is refused, so that
// no text is written back in place of a variant.
func TestTablesWithVariantsAreNotWritten(t *testing.T) {
	s := startServer(t, nil)
	dir := variantTable(s, "t")
	s.discover()
	path := s.tablePath("t")
	before, err := os.ReadDir(filepath.Join(dir, "_delta_log"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		method, path string
		body         any
	}{
		"insert":   {"POST", path + "/rows", `{"rows":[{"id":9,"v":"{}"}]}`},
		"update":   {"POST", path + "/rows/update", `{"where":"id = 1","set":{"who":"'x'"}}`},
		"delete":   {"POST", path + "/rows/delete", `{"where":"id = 1"}`},
		"merge":    {"POST", path + "/rows/merge?on=id", `{"rows":[{"id":9}]}`},
		"optimize": {"POST", path + "/optimize", `{}`},
	} {
		r := s.admin.call(c.method, c.path, c.body)
		require.Equal(t, 409, r.status, "%s: %s", name, r.body)
		require.Contains(t, string(r.body), "variantType", name)
	}
	after, err := os.ReadDir(filepath.Join(dir, "_delta_log"))
	require.NoError(t, err)
	require.Len(t, after, len(before))
	require.Equal(t, 6.0, s.admin.count(s.schema+".t"))
	// Metadata may change.
	s.admin.ok("POST", path+"/columns", `{"name":"more","type":"long"}`)
	require.Equal(t, []any{[]any{`0.00001`, nil}}, s.admin.rows("SELECT v, more FROM "+s.schema+".t WHERE id = 0"))
}
