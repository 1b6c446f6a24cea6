package query_test

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func decodeJSON(t testing.TB, raw []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	require.NoError(t, dec.Decode(into), "%s", raw)
}

// formats runs a statement in every format and returns the rows of each as
// JSON values, for CSV as text.
type inEveryFormat struct {
	columns []string
	json    [][]any
	ndjson  [][]any
	csv     [][]string
	arrow   [][]any
}

func everyFormat(c *harness.Client, sql string) inEveryFormat {
	c.T.Helper()
	var out inEveryFormat
	get := func(accept string) harness.Reply {
		r := c.Call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", accept)
		require.Equal(c.T, http.StatusOK, r.Status, "%s", r.Body)
		require.True(c.T, strings.HasPrefix(r.Header.Get("Content-Type"), accept))
		require.NotEmpty(c.T, r.Header.Get("X-Query-Id"))
		return r
	}
	var whole struct {
		Columns  []struct{ Name, Type string }
		Rows     [][]any
		RowCount int `json:"row_count"`
	}
	decodeJSON(c.T, get("application/json").Body, &whole)
	require.Len(c.T, whole.Rows, whole.RowCount)
	out.json = whole.Rows
	for _, col := range whole.Columns {
		out.columns = append(out.columns, col.Name)
	}
	for _, line := range bytes.Split(bytes.TrimSpace(get("application/x-ndjson").Body), []byte("\n")) {
		var row map[string]any
		decodeJSON(c.T, line, &row)
		require.Len(c.T, row, len(out.columns))
		values := make([]any, len(out.columns))
		for i, name := range out.columns {
			values[i] = row[name]
		}
		out.ndjson = append(out.ndjson, values)
	}
	rows, err := csv.NewReader(bytes.NewReader(get("text/csv").Body)).ReadAll()
	require.NoError(c.T, err)
	require.Equal(c.T, out.columns, rows[0])
	out.csv = rows[1:]
	reader, err := ipc.NewReader(bytes.NewReader(get("application/vnd.apache.arrow.stream").Body))
	require.NoError(c.T, err)
	defer reader.Release()
	for i, field := range reader.Schema().Fields() {
		require.Equal(c.T, out.columns[i], field.Name)
	}
	for reader.Next() {
		batch := reader.RecordBatch()
		for row := range int(batch.NumRows()) {
			values := make([]any, batch.NumCols())
			for i := range values {
				values[i] = arrowValue(batch.Column(i), row)
			}
			out.arrow = append(out.arrow, values)
		}
	}
	require.NoError(c.T, reader.Err())
	return out
}

// arrowValue converts an Arrow value to that of the JSON format, independently of the server.
func arrowValue(col arrow.Array, row int) any {
	if col.IsNull(row) {
		return nil
	}
	switch c := col.(type) {
	case *array.Boolean:
		return c.Value(row)
	case *array.String:
		return c.Value(row)
	case *array.Binary:
		return base64.StdEncoding.EncodeToString(c.Value(row))
	case *array.List:
		start, end := c.ValueOffsets(row)
		out := []any{}
		for i := start; i < end; i++ {
			out = append(out, arrowValue(c.ListValues(), int(i)))
		}
		return out
	case *array.Map:
		start, end := c.ValueOffsets(row)
		out := []any{}
		for i := start; i < end; i++ {
			out = append(out, map[string]any{"key": arrowValue(c.Keys(), int(i)), "value": arrowValue(c.Items(), int(i))})
		}
		return out
	case *array.Struct:
		out := map[string]any{}
		for i := range c.NumField() {
			out[c.DataType().(*arrow.StructType).Field(i).Name] = arrowValue(c.Field(i), row)
		}
		return out
	case *array.Decimal128:
		return c.Value(row).ToString(c.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Timestamp:
		at := c.Value(row).ToTime(c.DataType().(*arrow.TimestampType).Unit)
		if c.DataType().(*arrow.TimestampType).TimeZone != "" {
			return at.UTC().Format("2006-01-02T15:04:05.999999Z")
		}
		return at.Format("2006-01-02T15:04:05.999999")
	case *array.Date32:
		return c.Value(row).ToTime().Format("2006-01-02")
	case *array.Float32:
		return number(float64(c.Value(row)), 32)
	case *array.Float64:
		return number(c.Value(row), 64)
	}
	return json.Number(col.ValueStr(row))
}

// number returns a float as JSON represents it: NaN and the infinities are text.
func number(f float64, bits int) any {
	if f != f || f > 1.7976931348623157e308 || f < -1.7976931348623157e308 {
		return fmt.Sprint(f)
	}
	_ = bits
	return f
}

// like compares two values; numbers by value.
func like(a, b any) bool {
	text := func(v any) string {
		switch v := v.(type) {
		case json.Number:
			f, _ := v.Float64()
			if strings.ContainsAny(v.String(), ".eE") {
				return fmt.Sprint(float32(f))
			}
			return v.String()
		case float64:
			if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
				return fmt.Sprint(int64(v))
			}
			return fmt.Sprint(float32(v))
		}
		raw, _ := json.Marshal(v)
		return string(raw)
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !like(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			if !like(a[key], b[key]) {
				return false
			}
		}
		return true
	}
	x, y := strings.ToLower(strings.Trim(text(a), `"`)), strings.ToLower(strings.Trim(text(b), `"`))
	for _, w := range []string{"+", "inity"} {
		x, y = strings.ReplaceAll(x, w, ""), strings.ReplaceAll(y, w, "")
	}
	return x == y || x == "-0" && y == "0" || x == "0" && y == "-0"
}

func TestAllFormatsHaveTheSameRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("types", harness.EveryType, nil, harness.EveryColumn...)
	got := everyFormat(s.Admin, "SELECT * FROM "+s.Schema+".types ORDER BY id")
	require.Len(t, got.json, 4)
	require.Equal(t, got.json, got.ndjson)
	require.Len(t, got.csv, 4)
	require.Len(t, got.arrow, 4)
	for row := range got.json {
		for i, name := range got.columns {
			value := got.json[row][i]
			require.True(t, like(value, got.arrow[row][i]), "%s: JSON %v, Arrow %v", name, value, got.arrow[row][i])
			text := got.csv[row][i]
			switch v := value.(type) {
			case nil:
				require.Empty(t, text, name)
			case string:
				require.Equal(t, v, text, name)
			case json.Number:
				require.Equal(t, v.String(), text, name)
			case bool:
				require.Equal(t, fmt.Sprint(v), text, name)
			default:
				var nested any
				decodeJSON(t, []byte(text), &nested)
				require.Equal(t, v, nested, name)
			}
		}
	}
	first := map[string]any{}
	for i, name := range got.columns {
		first[name] = got.json[0][i]
	}
	require.Equal(t, json.Number("9223372036854775807"), first["l"], "no digit is lost")
	require.Equal(t, "12345678901234567890.123456789", first["dec"])
	require.Equal(t, "a,\"b\"\nü🙂", first["str"])
	require.Equal(t, "0001-01-01", first["dat"])
	require.Equal(t, map[string]any{"a": json.Number("1"), "b": "x"}, first["st"])
	require.Equal(t, []any{json.Number("1"), nil, json.Number("3")}, first["arr"])
}

func TestTheFormatIsNegotiated(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "text/*": "text/csv", "text/html, text/csv;q=0.9, */*;q=0.1": "text/csv",
		"application/vnd.apache.arrow.stream;q=0.2, application/x-ndjson;q=0.3": "application/x-ndjson",
		"application/xml, application/json;q=0.1":                               "application/json",
	} {
		r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 1"}, "Accept", accept)
		require.Equal(t, 200, r.Status)
		require.True(t, strings.HasPrefix(r.Header.Get("Content-Type"), want), "%q: %s", accept, r.Header.Get("Content-Type"))
	}
	for _, accept := range []string{"text/html", "application/xml", "application/json;q=0", "nonsense"} {
		code, _ := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 1"}, "Accept", accept).Problem(t, 400)
		require.Equal(t, "not_acceptable", code, accept)
	}
	r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT nope"}, "Accept", "text/csv")
	require.Equal(t, "application/json", r.Header.Get("Content-Type"), "an error is JSON whatever was asked for")
}

func TestEmptyResultsKeepTheirColumns(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	sql := "SELECT 1 AS a, 'x' AS b WHERE false"
	require.Contains(t, string(s.Admin.Query(sql).Body), `"columns":[{"name":"a","type":"INTEGER"},{"name":"b","type":"VARCHAR"}],"rows":[]`)
	r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", "text/csv")
	require.Equal(t, "a,b", strings.TrimSpace(string(r.Body)))
	r = s.Admin.Call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", "application/vnd.apache.arrow.stream")
	reader, err := ipc.NewReader(bytes.NewReader(r.Body))
	require.NoError(t, err)
	defer reader.Release()
	require.Equal(t, 2, reader.Schema().NumFields())
	require.False(t, reader.Next())
	require.Empty(t, s.Admin.Call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", "application/x-ndjson").Body)
}

// send returns the reply with its trailers.
func trailers(c *harness.Client, accept string, body map[string]any) (http.Header, []byte) {
	c.T.Helper()
	raw, err := json.Marshal(body)
	require.NoError(c.T, err)
	req, err := http.NewRequest(http.MethodPost, c.URL+"/v1/query", bytes.NewReader(raw))
	require.NoError(c.T, err)
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.T, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.T, err)
	require.Equal(c.T, 200, resp.StatusCode, "%s", text)
	return resp.Trailer, text
}

func TestLimitsTruncateAndReportIt(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	big := "SELECT i, 'row ' || i AS word FROM range(150000) t(i)"
	r := s.Admin.Query(big).JSON(t)
	require.Equal(t, true, r["truncated"])
	require.Equal(t, 100000.0, r["row_count"])
	require.Len(t, r["rows"], 100000)
	for rows, cut := range map[int]bool{1: true, 99: true, 100: false, 1000: false} {
		body := map[string]any{"sql": "SELECT * FROM range(100)", "row_limit": rows}
		got := s.Admin.Call("POST", "/v1/query", body).JSON(t)
		require.Equal(t, cut, got["truncated"], "%d", rows)
		require.Len(t, got["rows"], min(rows, 100))
		for _, accept := range []string{"application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream", "application/json"} {
			trailer, _ := trailers(s.Admin, accept, body)
			require.Equal(t, fmt.Sprint(cut), trailer.Get("X-Truncated"), "%s %d", accept, rows)
		}
	}
	trailer, text := trailers(s.Admin, "text/csv", map[string]any{"sql": big})
	require.Equal(t, "false", trailer.Get("X-Truncated"), "only JSON has a limit by default")
	require.Equal(t, 150001, bytes.Count(text, []byte("\n")))
	for _, accept := range []string{"application/json", "application/x-ndjson", "text/csv"} {
		trailer, text = trailers(s.Admin, accept, map[string]any{"sql": big, "byte_limit": 10000})
		require.Equal(t, "true", trailer.Get("X-Truncated"), accept)
		require.Less(t, len(text), 12000, accept)
		require.Greater(t, len(text), 5000, accept)
	}
}
