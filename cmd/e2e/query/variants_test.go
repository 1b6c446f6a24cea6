package query_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

const variantRows = `SELECT i AS id, 'u' || (i % 2) AS who, CASE i WHEN 0 THEN 0.00001::DECIMAL(10,5)::VARIANT WHEN 1 THEN '\xFF\x00'::BLOB::VARIANT
	WHEN 2 THEN DATE '2024-02-29'::VARIANT WHEN 3 THEN TIMESTAMPTZ '2024-02-29 01:02:03.5+00'::VARIANT
	WHEN 4 THEN {'a': -0.5::DECIMAL(2,1), 'secret': 'é"', 'list': [NULL, 'nan'::DOUBLE]}::VARIANT ELSE NULL END AS v FROM range(6) t(i)`

func variantTable(s *harness.Server, name string) string {
	dir := filepath.Join(s.Root, name)
	harness.ForeignTable(s.T, dir, variantRows, []string{
		harness.SchemaField("id", "long"), harness.SchemaField("who", "string"), harness.SchemaField("v", "variant"),
	}, []string{"variantType", "deletionVectors"}, `"delta.enableDeletionVectors":"true"`)
	return dir
}

// TestVariantsAreShownAsJSONText reads variants on every path, with and without policies
// for rows and columns.
func TestVariantsAreShownAsJSONText(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, name := range []string{"plain", "rowed", "hidden", "masked"} {
		variantTable(s, name)
	}
	s.Discover()
	s.Policy("rowed", "who", `{"effect":"permit","subject":{"attribute":"who","op":"eq"},"condition":null}`)
	s.Policy("rowed", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.Rule("cls", "hidden", "v", harness.ViewersNot)
	s.Rule("mask", "masked", "v", `{"effect":"forbid","subject":{"role":"viewer"},"mask":"null"}`)
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"who": "u1"})
	want := []any{
		`0.00001`, `"/wA="`, `"2024-02-29"`, `"2024-02-29T01:02:03.5Z"`, `{"a":-0.5,"list":[null,"NaN"],"secret":"é\""}`, nil,
	}
	of := func(table string) string { return s.Schema + "." + table }

	for _, r := range [][]any{s.Admin.Rows("SELECT * FROM " + of("plain") + " ORDER BY id"),
		s.Admin.OK("GET", s.TablePath("plain")+"/rows", nil)["rows"].([]any)} {
		require.Len(t, r, 6)
		for i, row := range r {
			cells := row.([]any)
			require.Equal(t, want[i], cells[2])
		}
	}
	require.Equal(t, []any{[]any{"é\""}}, s.Admin.Rows("SELECT v->>'$.secret' FROM "+of("plain")+" WHERE v->>'$.a' = '-0.5'"))
	require.Equal(t, []any{[]any{1.0}}, s.Admin.Rows("SELECT count(*) FROM "+of("plain")+" WHERE v IS NULL"))
	require.Len(t, s.Admin.Rows("SELECT v, count(*) FROM "+of("plain")+" GROUP BY v"), 6)

	reply := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT v FROM " + of("plain") + " ORDER BY id"}, "Accept",
		"application/vnd.apache.arrow.stream")
	require.Equal(t, 200, reply.Status)
	reader, err := ipc.NewReader(bytes.NewReader(reply.Body))
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
	require.Equal(t, []any{[]any{1.0, want[1]}, []any{3.0, want[3]}, []any{5.0, nil}},
		ana.Rows("SELECT id, v FROM "+of("rowed")+" ORDER BY id"))
	require.Equal(t, []any{[]any{0.0}}, ana.Rows("SELECT count(*) FROM "+of("rowed")+" WHERE v LIKE '%secret%'"))
	code, _ := ana.Query("SELECT v FROM "+of("hidden")).Problem(t, 400)
	require.Equal(t, "column_not_found", code)
	require.Len(t, ana.Rows("SELECT * FROM " + of("hidden"))[0], 2)
	require.Equal(t, []any{[]any{6.0, 0.0}}, ana.Rows("SELECT count(*), count(v) FROM "+of("masked")))
	require.Equal(t, []any{[]any{6.0, 5.0}}, s.Admin.Rows("SELECT count(*), count(v) FROM "+of("masked")))

	require.Equal(t, []any{[]any{"v", "VARCHAR"}},
		s.Admin.Rows("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'plain' AND column_name = 'v'"))
	columns := s.Admin.OK("GET", s.TablePath("plain"), nil)["columns"].([]any)
	require.Equal(t, "variant", columns[2].(map[string]any)["type"])
}

// TestTablesWithVariantsAreNotWritten checks that every write of rows is refused, so that
// no text is written back in place of a variant.
func TestTablesWithVariantsAreNotWritten(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := variantTable(s, "t")
	s.Discover()
	path := s.TablePath("t")
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
		r := s.Admin.Call(c.method, c.path, c.body)
		require.Equal(t, 409, r.Status, "%s: %s", name, r.Body)
		require.Contains(t, string(r.Body), "variantType", name)
	}
	after, err := os.ReadDir(filepath.Join(dir, "_delta_log"))
	require.NoError(t, err)
	require.Len(t, after, len(before))
	require.Equal(t, 6.0, s.Admin.Count(s.Schema+".t"))
	// Metadata may change.
	s.Admin.OK("POST", path+"/columns", `{"name":"more","type":"long"}`)
	require.Equal(t, []any{[]any{`0.00001`, nil}}, s.Admin.Rows("SELECT v, more FROM "+s.Schema+".t WHERE id = 0"))
}
