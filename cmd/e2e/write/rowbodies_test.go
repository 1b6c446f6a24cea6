package write_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// told returns the details of an error, each as field and message, and its message.
func told(r harness.Reply, t testing.TB, status int) (details []string, message string) {
	t.Helper()
	r.Problem(t, status)
	body := r.JSON(t)
	for _, d := range body["details"].([]any) {
		detail := d.(map[string]any)
		details = append(details, detail["field"].(string)+": "+detail["message"].(string))
	}
	return details, body["message"].(string)
}

// timesInParquet writes files whose times are 123 nanoseconds beyond a
// microsecond, or that might hold such, and one whose times fit.
const timesInParquet = `
import sys, pyarrow as pa, pyarrow.parquet as pq
ns, naive = pa.timestamp("ns", "UTC"), pa.timestamp("ns")
t, whole = 1704067200123456789, 1704067200123456000
def write(name, column, at, **how):
    pq.write_table(pa.table({"id": pa.array([1], pa.int64()), column: at}), sys.argv[1] + "/" + name, **how)
write("plain", "at", pa.array([t], ns))
write("whole", "at", pa.array([whole], ns))
write("list", "times", pa.array([[None, t]], pa.list_(ns)))
write("struct", "deep", pa.array([{"n": 1, "inner": {"at": t}}], pa.struct([("n", pa.int32()), ("inner", pa.struct([("at", ns)]))])))
write("map", "marks", pa.array([[("k", t)]], pa.map_(pa.string(), ns)))
write("int96", "local", pa.array([t], naive), use_deprecated_int96_timestamps=True)
write("int96list", "locals", pa.array([[t]], pa.list_(naive)), use_deprecated_int96_timestamps=True)
write("naive", "local", pa.array([t], naive))
pq.write_table(pa.table({
    "id": pa.array([1], pa.int64()), "at": pa.array([t // 1000], pa.timestamp("us", "UTC")), "local": pa.array([whole], naive),
    "times": pa.array([[t // 1000]], pa.list_(pa.timestamp("us", "UTC"))), "locals": pa.array([[whole]], pa.list_(naive)),
}), sys.argv[1] + "/fits")
`

func TestNanosecondsOfParquetAreNotCut(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("at", "timestamp"), harness.Col("times", "array<timestamp>"),
		harness.Col("deep", "struct<n: int, inner: struct<at: timestamp>>"),
		harness.Col("marks", "map<string, timestamp>"), harness.Col("local", "timestamp_ntz"), harness.Col("locals", "array<timestamp_ntz>"))
	dir := t.TempDir()
	harness.Python(t, timesInParquet, dir)
	send := func(file string) harness.Reply {
		body, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		return s.Admin.Call("POST", path+"/rows", string(body), "Content-Type", harness.ParquetType)
	}
	for file, column := range map[string]string{
		"plain": "at", "whole": "at", "list": "times", "struct": "deep", "map": "marks", "int96": "local", "int96list": "locals",
	} {
		details, _ := told(send(file), t, 422)
		require.Equal(t, []string{"rows." + column + ": has nanoseconds; write it with microseconds"}, details, file)
	}
	details, _ := told(send("naive"), t, 422)
	require.Equal(t, []string{"rows[0].local: the value does not become TIMESTAMP without loss"}, details)
	require.Zero(t, s.Admin.Count(s.Schema+".t"))
	r := send("fits")
	require.Equal(t, 200, r.Status, "%s", r.Body)
	require.Equal(t, list{list{"2024-01-01 00:00:00.123456+00", "['2024-01-01 00:00:00.123456+00']", "2024-01-01 00:00:00.123456",
		"['2024-01-01 00:00:00.123456']"}},
		s.Admin.Rows("SELECT \"at\"::VARCHAR, times::VARCHAR, local::VARCHAR, locals::VARCHAR FROM "+s.Schema+".t"))
}

// valuesInParquet writes files with a value that no column holds, or that cannot be read.
const valuesInParquet = `
import decimal, sys, pyarrow as pa, pyarrow.parquet as pq
us = pa.timestamp("us")
def write(name, column, values, of, **how):
    path = sys.argv[1] + "/" + name
    pq.write_table(pa.table({"id": pa.array(range(len(values)), pa.int64()), column: pa.array(values, of)}), path, **how)
    return path
write("greatest", "local", [0, 2**63 - 1], us)
write("list", "locals", [[0], [None, 2**63 - 1]], pa.list_(us))
write("day", "day", [0, 2**31 - 1], pa.date32())
write("twice", "marks", [[("k", 1)], [("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))
write("wide", "d", [decimal.Decimal(10) ** 50], pa.decimal256(60, 0))
write("long", "s", ["x", "y" * (20 << 20)], pa.string())
write("most", "s", ["x" * ((16 << 20) - 100)], pa.string())
write("encoded", "n", [1, 2], pa.int32(), use_dictionary=False, column_encoding={"n": "BYTE_STREAM_SPLIT"})
path = write("text", "s", ["text number 5"], pa.string(), compression="none", use_dictionary=False)
body = open(path, "rb").read().replace(b"text number 5", b"\xffext number 5")
open(path, "wb").write(body)
path = write("damaged", "s", ["text number %d" % i for i in range(1000)], pa.string(), compression="snappy")
body = bytearray(open(path, "rb").read())
at = body.find(b"text number") + 40
body[at:at + 200] = b"\xee" * 200
open(path, "wb").write(body)
`

func TestParquetBodiesHoldWhatOtherFormatsHold(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("local", "timestamp_ntz"), harness.Col("locals", "array<timestamp_ntz>"),
		harness.Col("day", "date"), harness.Col("marks", "map<string, long>"), harness.Col("d", "double"), harness.Col("s", "string"),
		harness.Col("n", "integer"))
	dir := t.TempDir()
	harness.Python(t, valuesInParquet, dir)
	send := func(file string) harness.Reply {
		body, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		return s.Admin.Call("POST", path+"/rows", string(body), "Content-Type", harness.ParquetType)
	}
	for file, want := range map[string]string{
		"greatest": "rows[1].local: the year is not from 0001 to 9999",
		"list":     "rows[1].locals: the year is not from 0001 to 9999",
		"day":      "rows[1].day: the year is not from 0001 to 9999",
		"twice":    "rows[1].marks: a key is there twice",
		"wide":     "rows.d: has decimals of more than 38 digits",
	} {
		details, _ := told(send(file), t, 422)
		require.Equal(t, []string{want}, details, file)
	}
	require.Equal(t, 413, send("long").Status)
	require.Equal(t, 413, s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"s": strings.Repeat("y", 20<<20)})).Status)
	for file, cause := range map[string]string{
		"encoded": "the encoding of a column is not known",
		"text":    "text is not UTF-8",
		"damaged": "a page cannot be decompressed, so the file is damaged",
	} {
		details, _ := told(send(file), t, 400)
		require.Equal(t, []string{"body: body is no Parquet file: " + cause}, details, file)
	}
	require.Zero(t, s.Admin.Count(s.Schema+".t"))
	require.Equal(t, 200, send("most").Status)
}

func TestProblemsOfRowsAreCounted(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	require.Equal(t, 200, s.Admin.Call("POST", path+"/constraints", object{"constraints": list{
		object{"name": "pos", "expr": "n > 0"}, object{"name": "small", "expr": "n > -10"},
	}}).Status)
	many := func(n any) object {
		rows := make(list, 150)
		for i := range rows {
			rows[i] = object{"id": i, "n": n}
		}
		return object{"rows": rows}
	}
	details, message := told(s.Admin.Call("POST", path+"/rows", many("x")), t, 422)
	require.Len(t, details, 100)
	require.Equal(t, "A value does not fit its column. Problems in total: 150.", message)

	details, message = told(s.Admin.Call("POST", path+"/rows", many(-1)), t, 422)
	require.Len(t, details, 100)
	require.Equal(t, "rows[0].n: breaks the constraint pos", details[0])
	require.Equal(t, "A row breaks a rule of the table. Problems in total: 150.", message)

	details, message = told(s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1, "n": -10})), t, 422)
	require.Equal(t, []string{"rows[0].n: breaks the constraint pos", "rows[0].n: breaks the constraint small"}, details)
	require.Equal(t, "A row breaks a rule of the table. Problems in total: 2.", message)

	_, message = told(s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1, "n": -1})), t, 422)
	require.Equal(t, "A row breaks a rule of the table.", message)

	s.Admin.Write(path+"/rows", many(1))
	details, message = told(s.Admin.Call("POST", path+"/rows/update", object{"where": "true", "set": object{"n": "-1"}}), t, 422)
	require.Equal(t, []string{"set.n: breaks the constraint pos"}, details, "rows of the table have no number in the request")
	require.Equal(t, "A row breaks a rule of the table. Problems in total: 150.", message)
}

func TestProblemsOfKeysNameTheirColumns(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("region", "string", "isPrimaryKey", true), harness.Col("id", "long", "isPrimaryKey", true),
		harness.Col("n", "integer"))
	one := object{"region": "eu", "id": 1}
	s.Admin.Write(path+"/rows", harness.RowsOf(one))
	details, _ := told(s.Admin.Call("POST", path+"/rows", harness.RowsOf(one)), t, 409)
	require.Equal(t, []string{"rows[0]: a row with this key (region, id) exists"}, details)
	two := object{"region": "eu", "id": 2}
	details, _ = told(s.Admin.Call("POST", path+"/rows/merge", harness.RowsOf(one, two, two)), t, 422)
	require.Equal(t, []string{"rows[2]: another of the new rows has this key (region, id)"}, details)

	details, _ = told(s.Admin.Call("POST", path+"/rows/merge", harness.RowsOf(one, object{"id": 2, "n": 1}, object{"n": 2})), t, 422)
	require.Equal(t, []string{"rows[1].region: is required: the merge is on it", "rows[2].region: is required: the merge is on it",
		"rows[2].id: is required: the merge is on it"}, details)
	details, _ = told(s.Admin.Call("POST", path+"/rows/merge", "id,n\n1,1\n", "Content-Type", "text/csv"), t, 422)
	require.Equal(t, []string{"rows.region: is required: the merge is on it"}, details)

	// A caller who does not see a column of the key gets no row numbers.
	s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{
		"kind": "cls", "tableFqn": "lake." + s.Schema + ".t", "columnName": "region",
		"definition": object{"effect": "permit", "subject": object{"role": "admin"}},
	})
	editor := s.Member("ed@acme.example", "editor", nil)
	editor.Write(path+"/rows", harness.RowsOf(object{"id": 7}))
	details, message := told(editor.Call("POST", path+"/rows", harness.RowsOf(object{"id": 7})), t, 409)
	require.Empty(t, details)
	require.Equal(t, "A row with this key exists.", message)
}

func TestBodiesThatAreCutOffSayWhere(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"))
	dir := t.TempDir()
	harness.Python(t, `
import sys, pyarrow as pa, pyarrow.parquet as pq
rows = pa.table({"id": pa.array([1], pa.int64())})
pq.write_table(rows, sys.argv[1] + "/parquet")
with pa.OSFile(sys.argv[1] + "/arrow", "wb") as f, pa.ipc.new_stream(f, rows.schema) as out:
    out.write_table(rows)
`, dir)
	half := func(file string) string {
		body, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		return string(body[:len(body)/2])
	}
	arrow, parquet := half("arrow"), half("parquet")
	for _, c := range []struct{ media, body, want string }{
		{"application/json", "{\"rows\":[\n{\"id\":1},", "the body is cut off: line 2 (byte 19)"},
		{"application/x-ndjson", "{\"id\":1}\n{\"id\":", "the body is cut off: line 2 (byte 15)"},
		{"text/csv", "id,name\n1,\"a\nb", "the body is cut off: line 3 (byte 14), in the row that begins at line 2"},
		{"application/vnd.apache.arrow.stream", arrow, fmt.Sprintf("the body is cut off: byte %d", len(arrow))},
		{harness.ParquetType, parquet, fmt.Sprintf("the body is cut off: byte %d", len(parquet))},
		{"application/json", "", "the body is empty"},
	} {
		r := s.Admin.Call("POST", path+"/rows", c.body, "Content-Type", c.media)
		details, _ := told(r, t, 400)
		require.Equal(t, []string{"body: " + c.want}, details, c.media)
		require.Equal(t, "invalid_body", r.JSON(t)["code"])
	}
}

func TestDialectsOfCSVAreSelected(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"))
	send := func(query, media, body string) harness.Reply {
		return s.Admin.Call("POST", path+"/rows"+query, body, "Content-Type", media)
	}
	for _, c := range []struct{ query, media, body string }{
		{"?csv_delimiter=%3B", "text/csv", "name;id\na,b;1\n"},
		{"?csv_delimiter=%09&csv_quote='", "text/csv; charset=UTF-8", "id\tname\n2\t'it''s'\n"},
		{"?csv_null=NA", "text/csv", "id,name\n3,NA\n4,\"NA\"\n"},
		{"?csv_header=absent", "text/csv", "5,e\n"},
		{"", "text/csv; header=absent", "6,f\n"},
		{"?csv_header=present", "text/csv; header=present", "id,name\n7,g\n"},
	} {
		r := send(c.query, c.media, c.body)
		require.Equal(t, 200, r.Status, "%s: %s", c.query, r.Body)
	}
	require.Equal(t, list{
		list{1.0, "a,b"}, list{2.0, "it's"}, list{3.0, nil}, list{4.0, "NA"}, list{5.0, "e"}, list{6.0, "f"}, list{7.0, "g"},
	}, s.Admin.Rows("SELECT id, name FROM "+s.Schema+".t ORDER BY id"))
	r := s.Admin.Call("POST", path+"/rows/merge?on=id&csv_header=absent&csv_delimiter=|", "7|h\n", "Content-Type", "text/csv")
	require.Equal(t, 200, r.Status, "%s", r.Body)
	require.Equal(t, 1.0, r.JSON(t)["updated"])

	for query, want := range map[string]string{
		"csv_delimiter=ab":            "csv_delimiter: must be one ASCII character, and no line end",
		"csv_delimiter=%C3%A9":        "csv_delimiter: must be one ASCII character, and no line end",
		"csv_delimiter=%0A":           "csv_delimiter: must be one ASCII character, and no line end",
		"csv_quote=%0D":               "csv_quote: must be one ASCII character, and no line end",
		"csv_quote=%00":               "csv_quote: must be one ASCII character, and no line end",
		"csv_quote=,":                 "csv_quote: must not be the delimiter",
		"csv_delimiter=x&csv_quote=x": "csv_quote: must not be the delimiter",
		"csv_null=a,b":                "csv_null: must hold no delimiter, quote or line end",
		"csv_null=%22":                "csv_null: must hold no delimiter, quote or line end",
		"csv_header=maybe":            "csv_header: expected value to be one of \"absent, present\"",
	} {
		details, _ := told(send("?"+query, "text/csv", "id\n8\n"), t, 422)
		require.Equal(t, []string{want}, details, query)
	}
	details, _ := told(send("?csv_header=absent", "text/csv; header=present", "8,h\n"), t, 422)
	require.Equal(t, []string{"csv_header: contradicts the header of Content-Type"}, details)
	details, _ = told(send("?csv_null=NA", "application/x-ndjson", "{\"id\":8}"), t, 422)
	require.Equal(t, []string{"csv_null: is for text/csv only"}, details)
	// Some parsers end a parameter at a bare semicolon, so that the value would be lost.
	code, _ := send("?csv_delimiter=;", "text/csv", "id;name\n8;h\n").Problem(t, 400)
	require.Equal(t, "invalid_request", code)

	for media, want := range map[string]string{
		"text/csv; delimiter=x": "Content-Type: has a parameter that is not taken: text/csv has charset and header, the other " +
			"formats charset",
		"text/csv; header=none": "Content-Type: header must be absent or present",
		"application/x-ndjson; header=absent": "Content-Type: has a parameter that is not taken: text/csv has charset and header, the other " +
			"formats charset",
		"application/json; charset=utf-16": "charset: must be utf-8",
		"application/json; charset=utf-8; rev=1": "Content-Type: has a parameter that is not taken: text/csv has charset and header, the other " +
			"formats charset",
	} {
		r := send("", media, "id\n8\n")
		details, _ := told(r, t, 400)
		require.Equal(t, []string{want}, details, media)
		require.Equal(t, "unsupported_media_type", r.JSON(t)["code"])
	}

	details, _ = told(send("?csv_header=absent", "text/csv", "8\n"), t, 422)
	require.Equal(t, []string{"rows[0]: has another number of fields than the table has columns"}, details)
	details, _ = told(send("", "text/csv", "id,name\n8\n"), t, 422)
	require.Equal(t, []string{"rows[0]: has another number of fields than the header"}, details)

	repeat := func(query string) harness.Reply {
		return s.Admin.Call("POST", path+"/rows"+query, "id,name\n9,\"NA\"\n", "Content-Type", "text/csv", "Idempotency-Key", "k")
	}
	require.Equal(t, 200, repeat("").Status)
	require.Equal(t, 200, repeat("").Status)
	code, _ = repeat("?csv_null=NA").Problem(t, 422)
	require.Equal(t, "idempotency_key_reused", code)
}

func TestFormatsThatAreTakenAreListed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"))
	for _, media := range []string{"text/plain", "application/xml", "", ";"} {
		r := s.Admin.Call("POST", path+"/rows", `{"rows":[]}`, "Content-Type", media)
		details, _ := told(r, t, 400)
		require.Equal(t, []string{"Content-Type: must be application/json, application/x-ndjson, text/csv, application/vnd.apache.arrow.stream " +
			"or application/vnd.apache.parquet"}, details)
		require.Equal(t, "unsupported_media_type", r.JSON(t)["code"])
	}
	for _, route := range []string{"/v1/query", "/v1/tables", path + "/rows/delete", path + "/optimize"} {
		r := s.Admin.Call("POST", route, `{"sql":"SELECT 1"}`, "Content-Type", "application/x-www-form-urlencoded")
		details, _ := told(r, t, 400)
		require.Equal(t, []string{"Content-Type: must be application/json"}, details, route)
		require.Equal(t, "unsupported_media_type", r.JSON(t)["code"])
	}
	r := s.Admin.Call("POST", "/v1/query", object{"sql": "SELECT 1"}, "Accept", "text/html")
	details, _ := told(r, t, 400)
	require.Equal(t, []string{"Accept: must allow application/json, application/x-ndjson, text/csv, application/vnd.apache.arrow.stream or " +
		"application/vnd.apache.parquet"}, details)
	require.Equal(t, "not_acceptable", r.JSON(t)["code"])
}

func TestTheSchemaOfANewTableMustExist(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	table := s.NewTable(s.Schema, "t", nil, harness.Col("id", "long"))
	table["schema"] = "no_such"
	details, _ := told(s.Admin.Call("POST", "/v1/tables", table), t, 404)
	require.Equal(t, []string{"schema: must be the schema of a storage configuration"}, details)
	table["schema"], table["catalog"] = s.Schema, "no_such"
	details, _ = told(s.Admin.Call("POST", "/v1/tables", table), t, 404)
	require.Equal(t, []string{"catalog: must be lake"}, details)
}

// TestInfiniteInstantsHideNoKey checks keys in a table to which another engine wrote the two
// instants that engines read as infinite.
func TestInfiniteInstantsHideNoKey(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path, dir := s.TablePath("t"), s.Table("t", `SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' AS "at", 1::BIGINT AS n`, nil,
		harness.Column{"at", "timestamp"}, harness.Column{"n", "long"})
	harness.AppendRows(t, dir, `SELECT unnest([TIMESTAMPTZ '2026-01-02 00:00:00+00', '-infinity', 'infinity']) AS "at", 1::BIGINT AS n`)
	require.Equal(t, 200, s.Admin.Call("PUT", path+"/primary-key", object{"columns": list{"at"}}).Status)
	rows := func(days ...string) object {
		rows := list{}
		for _, day := range days {
			rows = append(rows, object{"at": day + "T00:00:00Z", "n": 2})
		}
		return object{"rows": rows}
	}
	require.Equal(t, 409, s.Admin.Call("POST", path+"/rows", rows("2026-01-02")).Status)
	for round := range 2 {
		inserted, updated, _ := s.Admin.Write(path+"/rows/merge", rows("2026-01-01", "2026-01-02", "2026-01-03"))
		require.Equal(t, []float64{1 - float64(round), 2 + float64(round)}, []float64{inserted, updated})
		require.Equal(t, list{list{5.0, 5.0, "8"}}, s.Admin.Rows(`SELECT count(*), count(DISTINCT "at"), sum(n)::VARCHAR FROM `+s.Schema+".t"))
	}
	for _, instant := range []string{"infinity", "-infinity"} {
		code, fields := s.Admin.Call("POST", path+"/rows/update", object{"where": `"at" = TIMESTAMPTZ '2026-01-03 00:00:00+00'`,
			"set": object{"at": "TIMESTAMPTZ '" + instant + "'"}}).Problem(t, 409)
		require.Equal(t, []any{"key_conflict", []string{"set.at"}}, []any{code, fields}, instant)
	}

	// Rows of a request cannot have such an instant, not even in a format that can express it.
	file := filepath.Join(t.TempDir(), "rows")
	harness.Python(t, `
import sys, pyarrow as pa, pyarrow.parquet as pq
at = pa.array([1 - 2**63, 2**63 - 1], pa.timestamp("us", "UTC"))
pq.write_table(pa.table({"at": at, "n": pa.array([2, 2], pa.int64())}), sys.argv[1])
`, file)
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, below := range []string{"/rows", "/rows/merge"} {
		code, fields := s.Admin.Call("POST", path+below, string(body), "Content-Type", harness.ParquetType).Problem(t, 422)
		require.Equal(t, []any{"invalid_value", []string{"rows[0].at", "rows[1].at"}}, []any{code, fields})
	}

	// A key is refused if a row has the same infinite instant as another.
	require.Equal(t, 200, s.Admin.Call("PUT", path+"/primary-key", object{"columns": list{}}).Status)
	harness.AppendRows(t, dir, `SELECT TIMESTAMPTZ 'infinity' AS "at", 1::BIGINT AS n`)
	code, fields := s.Admin.Call("PUT", path+"/primary-key", object{"columns": list{"at"}}).Problem(t, 409)
	require.Equal(t, []any{"constraint_violation", []string{"columns"}}, []any{code, fields})
}
