package table_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

const germanOrders = "Nr;Preis (EUR);Tag;Zeit;Land\r\n" +
	"1;1234,50;06.05.2024;06.05.2024 7:08;de\r\n" +
	"2;-7,5;16.05.2024;16.05.2024 17:08;at\r\n" +
	"3;;;;de\r\n" +
	"4;0,25;17.05.2024;17.05.2024 00:00;at\r\n"

func gzipped(tb testing.TB, text string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.String()
}

func zstandard(tb testing.TB, text string) string {
	tb.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, w.Close()) }()
	return string(w.EncodeAll([]byte(text), nil))
}

// load creates the table of a reply and sends the file as its member load says.
func load(s *harness.Server, inferred map[string]any, content string) (rows float64) {
	s.Admin.T.Helper()
	s.Admin.OK("POST", "/v1/tables", inferred["createTable"])
	to := inferred["load"].(object)
	header := []string{}
	for name, value := range to["headers"].(object) {
		header = append(header, name, value.(string))
	}
	r := s.Admin.Call(to["method"].(string), to["path"].(string)+"?"+to["query"].(string), content, header...)
	require.Equal(s.Admin.T, 200, r.Status, "%s", r.Body)
	return r.JSON(s.Admin.T)["inserted"].(float64)
}

func TestFileBecomesTableInThreeCalls(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for i, c := range []struct{ content, encoding, compression string }{
		{germanOrders, "", ""}, {gzipped(t, germanOrders), "gzip", "gzip"}, {gzipped(t, germanOrders), "", "gzip"},
		{zstandard(t, germanOrders), "zstd", "zstd"}, {zstandard(t, germanOrders), "", "zstd"},
	} {
		table := fmt.Sprintf("orders_%d", i)
		r := s.Admin.Infer(harness.Upload{Name: "Bestellungen 2024.csv.gz", Content: c.content, Encoding: c.encoding,
			Fields: []string{"schema", s.Schema, "name", table}})
		require.Equal(t, 200, r.Status, "%s", r.Body)
		got := r.JSON(t)
		require.Empty(t, got["problems"])
		require.EqualValues(t, 4, got["rowCount"])
		require.Equal(t, list{
			object{"name": "Nr", "type": "int64", "nullable": false},
			object{"name": "Preis_EUR", "type": "decimal128(6,2)", "nullable": true},
			object{"name": "Tag", "type": "date32", "nullable": true}, object{"name": "Zeit", "type": "timestamp[us]", "nullable": true},
			object{"name": "Land", "type": "utf8", "nullable": false},
		}, got["schema"].(object)["fields"])
		require.Equal(t, list{object{
			"columnName": "Land", "distinctCount": 2.0,
			"values": list{object{"value": "at", "count": 2.0}, object{"value": "de", "count": 2.0}},
			"apply": object{"method": "PUT", "path": s.TablePath(table) + "/columns/Land/domain/fixed",
				"body": object{"values": list{"at", "de"}}},
		}}, got["domainCandidates"])
		dialect := got["dialect"].(object)
		if c.compression != "" {
			require.Equal(t, c.compression, dialect["compression"])
		}
		delete(dialect, "compression")
		require.Equal(t, object{"delimiter": ";", "quote": `"`, "header": true, "encoding": "utf-8", "decimal": "comma", "nullText": nil,
			"nullIn": "all", "skip": 0.0, "comment": nil, "thousands": nil, "dateFormat": "%d.%m.%Y", "timestampFormat": "%d.%m.%Y %H:%M"}, dialect)
		require.EqualValues(t, 4, load(s, got, c.content))
		require.Equal(t, list{list{1.0, "1234.50", "2024-05-06", "2024-05-06 07:08:00", "de"}}, s.Admin.Rows(
			`SELECT "Nr", "Preis_EUR"::VARCHAR, "Tag"::VARCHAR, "Zeit"::VARCHAR, "Land" FROM `+s.Schema+"."+table+` WHERE "Nr" = 1`))
	}

	// Without a schema the reply leaves its place open; the table is named after the file.
	r := s.Admin.Infer(harness.Upload{Name: `C:\data\Bestellungen 2024.csv`, Content: "a,ö ,A\n1,x,\"\"\n"})
	require.Equal(t, 200, r.Status, "%s", r.Body)
	got := r.JSON(t)
	require.Equal(t, object{"catalog": "lake", "schema": "{schema}", "name": "Bestellungen_2024", "columns": list{
		object{"name": "a", "type": "long", "nullable": false}, object{"name": "ö", "type": "string", "nullable": false},
		object{"name": "A_2", "type": "string", "nullable": false},
	}}, got["createTable"])
	require.Equal(t, object{"method": "POST", "path": "/v1/tables/lake/{schema}/Bestellungen_2024/rows",
		"query":   "csv_columns=a%2C%C3%B6%2CA_2",
		"headers": object{"Content-Type": "text/csv"}}, got["load"])
}

func TestOptionsOfAnUploadAreObeyed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	r := s.Admin.Infer(harness.Upload{Name: "t", Content: "1|'a|b'|NA|M\xfcller|05/06/2024\n", Fields: []string{
		"csv_delimiter", "|", "csv_quote", "'", "csv_null", "NA", "csv_header", "absent", "csv_encoding", "latin-1", "csv_decimal", "point",
		"csv_date_format", "%m/%d/%Y", "csv_timestamp_format", "%c",
	}})
	_, fields := r.Problem(t, 422)
	require.Equal(t, []string{"csv_timestamp_format"}, fields)
	r = s.Admin.Infer(harness.Upload{Name: "t", Content: "1|'a|b'|NA|M\xfcller|05/06/2024\n", Fields: []string{
		"csv_delimiter", "|", "csv_quote", "'", "csv_null", "NA", "csv_header", "absent", "csv_encoding", "latin-1", "csv_decimal", "point",
		"csv_date_format", "%m/%d/%Y", "schema", s.Schema, "name", "given",
	}})
	require.Equal(t, 200, r.Status, "%s", r.Body)
	got := r.JSON(t)
	require.Empty(t, got["problems"])
	require.EqualValues(t, 1, load(s, got, "1|'a|b'|NA|M\xfcller|05/06/2024\n"))
	require.Equal(t, list{list{1.0, "a|b", nil, "Müller", "2024-05-06"}},
		s.Admin.Rows("SELECT column1, column2, column3, column4, column5::VARCHAR FROM "+s.Schema+".given"))
}

func TestUploadsThatAreNotCSV(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.TempBytes = 40 })
	for name, c := range map[string]struct {
		upload harness.Upload
		status int
		want   map[string]string
	}{
		"empty":      {harness.Upload{}, 400, map[string]string{"file": "the file is empty"}},
		"empty gzip": {harness.Upload{Content: gzipped(t, "")}, 400, map[string]string{"file": "the file is empty"}},
		"no line": {harness.Upload{Content: "\uFEFF"}, 400,
			map[string]string{"file": "body is no CSV: line 1: the file has no line"}},
		"binary": {harness.Upload{Content: "a,b\n1\x002"}, 400,
			map[string]string{"file": "body is no CSV: line 2 (byte 5): a zero byte: the file is not text"}},
		"open quote": {harness.Upload{Content: "a,b\n1,\"2\n3"}, 400,
			map[string]string{"file": "the body is cut off: line 3 (byte 10), in the row that begins at line 2"}},
		"cut gzip": {harness.Upload{Content: gzipped(t, "a,b\n")[:20]}, 400,
			map[string]string{"file": "body is no gzip: byte 20: the compressed data is cut off"}},
		"no zstd": {harness.Upload{Content: "a,b\n1,2\n", Encoding: "zstd"}, 400,
			map[string]string{"file": "body is no zstd: byte 4: the compressed data is damaged"}},
		"unknown coding": {harness.Upload{Content: "a,b\n", Encoding: "br"}, 400,
			map[string]string{"file": "Content-Encoding must be gzip or zstd, once"}},
		"a long line": {harness.Upload{Content: gzipped(t, "a,b\n1,"+strings.Repeat("x", 17<<20))}, 400,
			map[string]string{"file": "body is no CSV: line 2: a line is longer than 16777216 bytes"}},
		"a line of zeros": {harness.Upload{Content: zstandard(t, strings.Repeat("\x00", 39<<20))}, 400,
			map[string]string{"file": "body is no CSV: line 1 (byte 0): a zero byte: the file is not text"}},
		"a bomb": {harness.Upload{Content: zstandard(t, strings.Repeat("a,b\n", 11<<20))}, 413, nil},
		"unknown field": {harness.Upload{Content: "a\n", Fields: []string{"colour", "red"}}, 422,
			map[string]string{"colour": "is not a field of this request"}},
		"field twice": {harness.Upload{Content: "a\n", Fields: []string{"name", "x", "name", "y"}}, 422,
			map[string]string{"name": "must be sent once"}},
		"long field": {harness.Upload{Content: "a\n", Fields: []string{"name", strings.Repeat("x", 9000)}}, 422,
			map[string]string{"name": "is too long"}},
		"columns": {harness.Upload{Content: "a\n", Fields: []string{"csv_columns", "a"}}, 422,
			map[string]string{"csv_columns": "is not a field of this request"}},
		"no name": {harness.Upload{Content: "a\n", Fields: []string{"name", "a b"}}, 422,
			map[string]string{"name": "must be 1 to 200 letters, digits or '_' and must not start with a digit"}},
		"unknown schema": {harness.Upload{Content: "a\n", Fields: []string{"schema", "nowhere"}}, 404,
			map[string]string{"schema": "must be the schema of a storage configuration"}},
		"unknown encoding": {harness.Upload{Content: "a\n", Fields: []string{"csv_encoding", "utf-7"}}, 422,
			map[string]string{"csv_encoding": "must be utf-8, latin-1, windows-1252 or utf-16"}},
	} {
		c.upload.Name = "t.csv"
		r := s.Admin.Infer(c.upload)
		require.Equal(t, c.status, r.Status, "%s: %s", name, r.Body)
		if c.status != 413 {
			harness.Refused(t, r, c.status)
			require.Equal(t, c.want, r.Details(t), name)
		}
	}
	call := func(media, body string, header ...string) harness.Reply {
		return s.Admin.Call("POST", "/v1/tables/infer-schema", body, append([]string{"Content-Type", media}, header...)...)
	}
	form, media := harness.Upload{Name: "t.csv", Content: "a\n1\n"}.Form(t)
	for name, c := range map[string]struct {
		r      harness.Reply
		status int
		want   map[string]string
	}{
		"JSON": {call("application/json", "{}"), 400,
			map[string]string{"Content-Type": "must be multipart/form-data with a boundary"}},
		"no boundary": {call("multipart/form-data", form), 400,
			map[string]string{"Content-Type": "must be multipart/form-data with a boundary"}},
		"other bounds": {call("multipart/form-data; boundary=x", form), 422, map[string]string{"file": "is required"}},
		"cut off":      {call(media, form[:len(form)-10]), 400, map[string]string{"file": "the body is cut off: line 3 (byte 4)"}},
		"no body":      {call(media, ""), 422, map[string]string{"file": "is required"}},
		"no file": {call(media, form[strings.LastIndex(form, "--"+strings.Split(media, "boundary=")[1]):]), 422,
			map[string]string{"file": "is required"}},
		"coding": {call(media, form, "Content-Encoding", "br"), 400,
			map[string]string{"Content-Encoding": "must be gzip or zstd, once"}},
	} {
		require.Equal(t, c.status, c.r.Status, "%s: %s", name, c.r.Body)
		require.Equal(t, c.want, c.r.Details(t), name)
	}
	r := call(media, gzipped(t, form), "Content-Encoding", "gzip")
	require.Equal(t, 200, r.Status, "the request may be compressed too: %s", r.Body)
	left, err := os.ReadDir(filepath.Join(s.Config.DataDir, "writes"))
	require.NoError(t, err)
	require.Empty(t, left)

	viewer := s.Member("v@acme.example", "viewer", nil)
	code, _ := viewer.Infer(harness.Upload{Name: "t.csv", Content: "a\n1\n"}).Problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
}

func TestProblemsOfAFileHaveLines(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.BodyRows = 3 })
	r := s.Admin.Infer(harness.Upload{Name: "t.csv", Content: "a,b,ä\n1,2,3\n1,\"\n\n\",3\n\n1,2\n1,2,3,4\n"})
	require.Equal(t, 200, r.Status, "%s", r.Body)
	got := r.JSON(t)
	require.EqualValues(t, 4, got["rowCount"])
	require.Equal(t, list{
		object{"line": 7.0, "message": "2 fields; the first line has 3"},
		object{"line": 8.0, "message": "one request loads at most 3 rows: split the file before this line"},
		object{"line": 8.0, "message": "4 fields; the first line has 3"},
	}, got["problems"])
	require.EqualValues(t, 3, got["problemCount"])
	r = s.Admin.Infer(harness.Upload{Name: "t.csv", Content: "a;b\n"})
	require.Equal(t, 200, r.Status, "%s", r.Body)
	got = r.JSON(t)
	require.Zero(t, got["rowCount"])
	require.Equal(t, list{object{"name": "a", "type": "utf8", "nullable": true}, object{"name": "b", "type": "utf8", "nullable": true}},
		got["schema"].(object)["fields"])
	require.Empty(t, got["domainCandidates"])
}
