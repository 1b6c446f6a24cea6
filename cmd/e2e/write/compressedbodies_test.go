package write_test

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// compressed returns text in a content coding.
func compressed(tb testing.TB, coding, text string) string {
	tb.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if coding == "zstd" {
		var err error
		w, err = zstd.NewWriter(&b)
		require.NoError(tb, err)
	}
	_, err := io.WriteString(w, text)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.String()
}

func TestBodiesMayBeCompressed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"))
	dir := t.TempDir()
	harness.Python(t, `
import sys, pyarrow as pa, pyarrow.parquet as pq
rows = pa.table({"id": pa.array([1], pa.int64()), "name": ["a"]})
pq.write_table(rows, sys.argv[1] + "/parquet")
with pa.OSFile(sys.argv[1] + "/arrow", "wb") as f, pa.ipc.new_stream(f, rows.schema) as out:
    out.write_table(rows)
`, dir)
	file := func(name string) string {
		body, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(body)
	}
	const csv = "id,name\n1,a\n"
	bodies := map[string]string{
		"application/json": `{"rows":[{"id":1,"name":"a"}]}`, "application/x-ndjson": `[1,"a"]`, "text/csv": csv,
		"application/vnd.apache.arrow.stream": file("arrow"), harness.ParquetType: file("parquet"),
	}
	for media, body := range bodies {
		for _, coding := range []string{"gzip", "zstd"} {
			send := func(text string) harness.Reply {
				return s.Admin.Call("POST", path+"/rows", text, "Content-Type", media, "Content-Encoding", coding)
			}
			r := send(compressed(t, coding, body))
			require.Equal(t, 200, r.Status, "%s, %s: %s", media, coding, r.Body)
			whole := compressed(t, coding, body)
			details, _ := told(send(whole[:len(whole)-1]), t, 400)
			require.Equal(t, []string{fmt.Sprintf("body: body is no %s: byte %d: the compressed data is cut off", coding, len(whole)-1)},
				details, media)
			details, _ = told(send(body+"no "+coding), t, 400)
			require.Contains(t, details[0], "body: body is no "+coding, "%s, %s", media, coding)
		}
	}
	require.EqualValues(t, 10, s.Admin.Count(s.Schema+".t"))

	for _, coding := range []string{"br", "deflate", "gzip, zstd", "gzip;q=1"} {
		r := s.Admin.Call("POST", path+"/rows/merge?on=id", csv, "Content-Type", "text/csv", "Content-Encoding", coding)
		details, _ := told(r, t, 400)
		require.Equal(t, []string{"Content-Encoding: must be gzip or zstd, once"}, details)
		require.Equal(t, "unsupported_media_type", r.JSON(t)["code"])
	}
	// What is repeated is the rows, not the bytes that were sent.
	for _, coding := range []string{"gzip", "identity", "zstd"} {
		body := csv
		if coding != "identity" {
			body = compressed(t, coding, csv)
		}
		r := s.Admin.Call("POST", path+"/rows", body, "Content-Type", "text/csv", "Content-Encoding", coding, "Idempotency-Key", "k")
		require.Equal(t, 200, r.Status, "%s", r.Body)
	}
	require.EqualValues(t, 11, s.Admin.Count(s.Schema+".t"))
}

// TestDecompressedBodiesAreBounded checks that a short body with a huge content is refused,
// writes nothing and leaves nothing behind.
func TestDecompressedBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.TempBytes = 8 })
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"))
	long := strings.Repeat("\n", 9<<20)
	for media, body := range map[string]string{
		"text/csv":             "id,name\n" + long,
		"application/x-ndjson": long,
		"application/json":     `{"rows":[` + long + `]}`,
		harness.ParquetType:    "PAR1" + long,
	} {
		for _, coding := range []string{"gzip", "zstd"} {
			small := compressed(t, coding, body)
			require.Less(t, len(small), 1<<16)
			r := s.Admin.Call("POST", path+"/rows", small, "Content-Type", media, "Content-Encoding", coding)
			require.Equal(t, 413, r.Status, "%s, %s: %s", media, coding, r.Body)
		}
	}
	require.Zero(t, s.Admin.Count(s.Schema+".t"))
	left, err := os.ReadDir(filepath.Join(s.Config.DataDir, "writes"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCSVOfOtherPrograms(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("price", "decimal(10,2)"), harness.Col("day", "date"),
		harness.Col("at", "timestamp_ntz"), harness.Col("name", "string"))
	query := func(options ...string) string {
		q := url.Values{}
		for i := 0; i < len(options); i += 2 {
			q.Set("csv_"+options[i], options[i+1])
		}
		return "?" + q.Encode()
	}
	german := query("delimiter", ";", "decimal", "comma", "encoding", "windows-1252", "date_format", "%d.%m.%Y", "timestamp_format",
		"%d.%m.%Y %H:%M", "columns", "id,price,day,at,,name")
	r := s.Admin.Call("POST", path+"/rows"+german, "Nr;Preis;Tag;Zeit;Rest;Name\n1;12,50;06.05.2024;06.05.2024 7:08;x;M\xfcller \x80\n",
		"Content-Type", "text/csv")
	require.Equal(t, 200, r.Status, "%s", r.Body)
	require.Equal(t, list{list{1.0, "12.50", "2024-05-06", "2024-05-06 07:08:00", "Müller €"}},
		s.Admin.Rows("SELECT id, price::VARCHAR, day::VARCHAR, \"at\"::VARCHAR, name FROM "+s.Schema+".t"))
	r = s.Admin.Call("POST", path+"/rows/merge"+query("columns", "id,name", "header", "absent")+"&on=id", "1,x\n", "Content-Type", "text/csv")
	require.Equal(t, 200, r.Status, "%s", r.Body)
	require.Equal(t, 1.0, r.JSON(t)["updated"])

	for options, want := range map[[2]string]string{
		{"encoding", "utf-7"}:    `csv_encoding: expected value to be one of "utf-8, latin-1, windows-1252, utf-16"`,
		{"decimal", ","}:         `csv_decimal: expected value to be one of "point, comma"`,
		{"date_format", "%d.%m"}: "csv_date_format: must have one of %Y and %y",
		{"date_format", "%c"}: "csv_date_format: must have only the directives %Y %y %m %-m %b %B %d %-d %a %A %j " +
			"%H %-H %I %-I %p %M %-M %S %-S %g %f %z %%",
		{"timestamp_format", "%H:%M"}: "csv_timestamp_format: must have one of %Y and %y",
		{"columns", "a\nb"}:           "csv_columns: must be one CSV record of column names",
		{"columns", ","}:              "csv_columns: must name a column",
		{"columns", "id,colour"}:      "rows.colour: unknown column",
		{"columns", "id"}:             "rows: the header has another number of fields than csv_columns",
	} {
		details, _ := told(s.Admin.Call("POST", path+"/rows"+query(options[:]...), "id,name\n", "Content-Type", "text/csv"), t, 422)
		require.Equal(t, []string{want}, details, options[1])
	}
	details, _ := told(s.Admin.Call("POST", path+"/rows?csv_encoding=latin-1", "id\n", "Content-Type", "text/csv; charset=utf-8"), t, 422)
	require.Equal(t, []string{"csv_encoding: contradicts the charset of Content-Type"}, details)
	details, _ = told(s.Admin.Call("POST", path+"/rows?csv_columns=id", "[1]", "Content-Type", "application/x-ndjson"), t, 422)
	require.Equal(t, []string{"csv_columns: is for text/csv only"}, details)
	repeat := func(q string) harness.Reply {
		return s.Admin.Call("POST", path+"/rows"+q, "id,name\n9,2\n", "Content-Type", "text/csv", "Idempotency-Key", "k")
	}
	require.Equal(t, 200, repeat("").Status)
	code, _ := repeat("?csv_columns=name,id").Problem(t, 422)
	require.Equal(t, "idempotency_key_reused", code)
}
