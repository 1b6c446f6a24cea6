package ingest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/parquetbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

var twoColumns = columns("a", "INTEGER", "b", "VARCHAR")

func TestEnvelope(t *testing.T) {
	req := ingest.Request{Format: staging.JSON, Columns: twoColumns, Dir: t.TempDir()}
	body := "\uFEFF" + ` {"on":["a"], "rows": [{"a":1},[2,"x"]] , "when_matched":"update","deep":{"x":[1, 2]}} `
	staged, err := ingest.Stage(t.Context(), iotest.OneByteReader(strings.NewReader(body)), req)
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{
		"on": []byte(`["a"]`), "when_matched": []byte(`"update"`), "deep": []byte(`{"x":[1, 2]}`)}, staged.Members)
	require.EqualValues(t, 2, staged.Rows)
	require.EqualValues(t, len(body), staged.Bytes)
	require.Equal(t, [][]any{{int64(1), nil}, {int64(2), "x"}}, readFile(t, filepath.Join(req.Dir, staged.File)))

	staged, err = stage(t, `{"rows":[]}`, ingest.Request{Format: staging.JSON, Columns: twoColumns})
	require.NoError(t, err)
	require.Zero(t, staged.Rows)
	require.Empty(t, staged.Shapes)
}

// TestShapes: which columns a row names can be told from the staged file.
func TestShapes(t *testing.T) {
	req := ingest.Request{Format: staging.NDJSON, Columns: twoColumns, ShapeColumn: "shape", Dir: t.TempDir()}
	staged, err := stage(t, `{"b":null,"a":1}{"a":2} {"a":3,"b":"x"}{}`, req)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a", "b"}, {"a"}, {}}, staged.Shapes)
	require.Equal(t, []int64{0, 1, 3}, staged.FirstRows)
	require.Equal(t, [][]any{
		{int64(1), nil, int64(0)}, {int64(2), nil, int64(1)}, {int64(3), "x", int64(0)}, {nil, nil, int64(2)},
	}, readFile(t, filepath.Join(req.Dir, staged.File)))

	req.Format = staging.CSV
	staged, err = stage(t, "B\n", req)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"b"}}, staged.Shapes)
	require.Equal(t, []int64{-1}, staged.FirstRows)

	many := make([]string, 0, 26)
	for i := range 13 {
		many = append(many, string(rune('a'+i)), "INTEGER")
	}
	var body strings.Builder
	for set := range 1 << 13 {
		row := map[string]int{}
		for i := range 13 {
			if set>>i&1 != 0 {
				row[string(rune('a'+i))] = i
			}
		}
		line, err := json.Marshal(row)
		require.NoError(t, err)
		body.Write(append(line, '\n'))
	}
	_, err = stage(t, body.String(), ingest.Request{Format: staging.NDJSON, Columns: columns(many...)})
	require.ErrorIs(t, err, staging.ErrTooLarge)
}

func TestCSVDialects(t *testing.T) {
	cases := []struct {
		name, body string
		dialect    csvbody.Dialect
		want       [][]any
	}{
		{"quoted empty is no NULL", "a,b\n1,\"\"\n2,\n,\n", csvbody.Dialect{}, [][]any{{int64(1), ""}, {int64(2), nil}, {nil, nil}}},
		{"quotes, line feeds and separators in quotes", "b\r\n\"a,\"\"b\"\"\r\nc\"\r\n", csvbody.Dialect{}, [][]any{{nil, "a,\"b\"\r\nc"}}},
		{"no line end", "a,b\n1,x", csvbody.Dialect{}, [][]any{{int64(1), "x"}}},
		{"no line end after a quote", "a,b\n1,\"x\"", csvbody.Dialect{}, [][]any{{int64(1), "x"}}},
		{"last field empty", "b,a\nx,", csvbody.Dialect{}, [][]any{{nil, "x"}}},
		{"empty lines", "a,b\n\n1,x\n\r\n\n", csvbody.Dialect{}, [][]any{{int64(1), "x"}}},
		{"empty line is a row of one column", "b\n\nx\n", csvbody.Dialect{}, [][]any{{nil, nil}, {nil, "x"}}},
		{"byte order mark, other order and case", "\uFEFFB,A\nx,1\n", csvbody.Dialect{}, [][]any{{int64(1), "x"}}},
		{"blanks are data", "a,b\n1, x \n", csvbody.Dialect{}, [][]any{{int64(1), " x "}}},
		{"semicolons", "a;b\n1;\"x;y\"\n", csvbody.Dialect{Comma: ';'}, [][]any{{int64(1), "x;y"}}},
		{"tabs and single quotes", "a\tb\n1\t'it''s \"x\"'\n", csvbody.Dialect{Comma: '\t', Quote: '\''}, [][]any{{int64(1), `it's "x"`}}},
		{"text for NULL", "a,b\nNA,NA\n1,\"NA\"\n2,\n", csvbody.Dialect{Null: "NA"}, [][]any{{nil, nil}, {int64(1), "NA"}, {int64(2), nil}}},
		{"no header", "1,x\n2,y\n", csvbody.Dialect{NoHeader: true}, [][]any{{int64(1), "x"}, {int64(2), "y"}}},
		{"header only", "a,b\n", csvbody.Dialect{}, [][]any{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ingest.Request{Format: staging.CSV, CSV: c.dialect, Columns: twoColumns}
			require.Equal(t, c.want, mustRead(t, c.body, req))
			req.Dir = t.TempDir()
			staged, err := ingest.Stage(t.Context(), iotest.OneByteReader(strings.NewReader(c.body)), req)
			require.NoError(t, err)
			require.Equal(t, c.want, readFile(t, filepath.Join(req.Dir, staged.File)))
		})
	}
	for _, d := range []csvbody.Dialect{{Comma: '"'}, {Quote: '\n'}, {Comma: 0xe9}, {Comma: 'x', Quote: 'x'}} {
		_, err := stage(t, "a\n", ingest.Request{Format: staging.CSV, CSV: d, Columns: twoColumns})
		require.ErrorIs(t, err, staging.ErrDialect)
	}
}

// TestBrokenBodies: a body that is not whole, not valid or beyond a limit stages
// nothing, and says so in its type.
func TestBrokenBodies(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	abyss := strings.Repeat("[", 1_000_000)
	long := strings.Repeat("x", 1000)
	cases := []struct {
		name   string
		format staging.Format
		body   string
		limits staging.Limits
		want   error
	}{
		{"nothing", staging.JSON, "", staging.Limits{}, staging.ErrTruncated},
		{"cut envelope", staging.JSON, `{"rows":[{"a":1}]`, staging.Limits{}, staging.ErrTruncated},
		{"cut list", staging.JSON, `{"rows":[{"a":1},`, staging.Limits{}, staging.ErrTruncated},
		{"cut list before a comma", staging.JSON, `{"rows":[{"a":1}`, staging.Limits{}, staging.ErrTruncated},
		{"cut row", staging.JSON, `{"rows":[{"a":`, staging.Limits{}, staging.ErrTruncated},
		{"cut member", staging.JSON, `{"rows":[],"on":["a`, staging.Limits{}, staging.ErrTruncated},
		{"cut line", staging.NDJSON, `{"a":1}` + "\n" + `{"a":`, staging.Limits{}, staging.ErrTruncated},
		{"cut quotes", staging.CSV, "a,b\n1,\"x", staging.Limits{}, staging.ErrTruncated},
		{"no rows", staging.JSON, `{"on":["a"]}`, staging.Limits{}, staging.ErrNoRows},
		{"rows that are no list", staging.JSON, `{"rows":{"a":1}}`, staging.Limits{}, staging.ErrNoRows},
		{"long body", staging.NDJSON, `{"a":1}`, staging.Limits{Bytes: 6}, staging.ErrTooLarge},
		{"long CSV", staging.CSV, "a\n1\n2\n3\n", staging.Limits{Bytes: 7}, staging.ErrTooLarge},
		{"many rows", staging.NDJSON, "{}{}{}", staging.Limits{Rows: 2}, staging.ErrTooLarge},
		{"long row", staging.NDJSON, `{"b":"` + long + `"}`, staging.Limits{RowBytes: 1000}, staging.ErrTooLarge},
		{"endless row", staging.JSON, `{"rows":["` + strings.Repeat(long, 1000), staging.Limits{RowBytes: 1000}, staging.ErrTooLarge},
		{"endless blanks", staging.JSON, `{"rows":[` + strings.Repeat(" ", 1_000_000) + "]}", staging.Limits{RowBytes: 1000},
			staging.ErrTooLarge},
		{"endless name", staging.JSON, `{"` + strings.Repeat(long, 3000), staging.Limits{}, staging.ErrTooLarge},
		{"endless member", staging.JSON, `{"on":"` + strings.Repeat(long, 3000), staging.Limits{}, staging.ErrTooLarge},
		{"many members", staging.JSON, manyMembers(), staging.Limits{}, staging.ErrTooLarge},
		{"long CSV record", staging.CSV, "a,b\n1," + strings.Repeat(long, 2000) + "\n", staging.Limits{RowBytes: 1 << 20}, staging.ErrTooLarge},
		{"endless quotes", staging.CSV, "a,b\n1,\"" + strings.Repeat(long, 2000), staging.Limits{RowBytes: 1 << 20}, staging.ErrTooLarge},
		{"large staged file", staging.NDJSON, strings.Repeat(`{"a":1}`, 1000), staging.Limits{StagedBytes: 100}, staging.ErrTooLarge},
		{"deep value", staging.NDJSON, `{"a":` + deep + "}", staging.Limits{}, staging.ErrTooDeep},
		{"deep member", staging.JSON, `{"on":` + deep + `,"rows":[]}`, staging.Limits{}, staging.ErrTooDeep},
		{"abyss", staging.NDJSON, abyss, staging.Limits{}, staging.ErrTooDeep},
		{"abyss in a member", staging.JSON, `{"on":` + abyss, staging.Limits{Bytes: 5 << 20}, staging.ErrTooDeep},
		{"deep CSV field", staging.CSV, "l\n\"" + deep + "\"\n", staging.Limits{}, staging.ErrTooDeep},
		{"bomb of empty structs", staging.NDJSON, `{"l":[` + strings.TrimSuffix(strings.Repeat("{},", 1_000_000), ",") + "]}",
			staging.Limits{}, staging.ErrTooLarge},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wide := columns("a", "INTEGER", "b", "VARCHAR", "l", "STRUCT(a INTEGER, b INTEGER, c INTEGER)[]")
			_, err := stage(t, c.body, ingest.Request{Format: c.format, Columns: wide, Limits: c.limits})
			require.ErrorIs(t, err, c.want)
			require.NotContains(t, err.Error(), "xxx")
		})
	}
}

func manyMembers() string {
	var b strings.Builder
	b.WriteString(`{"rows":[]`)
	for i := range 200_000 {
		b.WriteString(`,"` + strings.Repeat("m", 1+i%7) + string(rune(0x4e00+i%20000)) + `":null`)
	}
	return b.String() + "}"
}

func TestSyntaxErrors(t *testing.T) {
	cases := []struct {
		name         string
		format       staging.Format
		body         string
		line, offset int64
	}{
		{"no object", staging.JSON, "\n[1]", 2, 2},
		{"trailing text", staging.JSON, "{\"rows\":[]}\n\nx", 3, 13},
		{"trailing value", staging.JSON, `{"rows":[]} {}`, 1, 13},
		{"member twice", staging.JSON, `{"rows":[],"rows":[]}`, 1, 17},
		{"name twice in a member", staging.JSON, `{"rows":[],"on":{"a":1,"a":2}}`, 1, 29},
		{"no UTF-8 in a member", staging.JSON, "{\"on\":\"\xff\"}", 1, 9},
		{"trailing comma", staging.JSON, "\n{\"rows\":[{\"a\":1},\n]}", 2, 17},
		{"no comma", staging.JSON, `{"rows":[{} {}]}`, 1, 12},
		{"bare word", staging.NDJSON, "{\"a\":1}\n{\"a\":NaN}\n{}", 2, 13},
		{"after a byte order mark", staging.NDJSON, "\uFEFF{}\n}", 2, 6},
		{"CSV after a byte order mark", staging.CSV, "\uFEFFa\n\"1\"x\n", 2, 5},
		{"UTF-16", staging.NDJSON, "\xff\xfe{\x00}\x00", 1, 0},
		{"control character", staging.NDJSON, "{\"b\":\"a\nb\"}", 1, 7},
		{"quote in a field", staging.CSV, "a,b\n1,x\n2,x\"y\n", 3, 8},
		{"text after quotes", staging.CSV, "a,b\n1,\"x\"y\n", 2, 4},
		{"carriage return", staging.CSV, "a,b\r1,x\r", 1, 0},
		{"no header", staging.CSV, "", 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := stage(t, c.body, ingest.Request{Format: c.format, Columns: twoColumns})
			var syntax *staging.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Equal(t, c.format, syntax.Format)
			require.Equal(t, []int64{c.line, c.offset}, []int64{syntax.Line, syntax.Offset}, syntax.Error())
		})
	}
}

// TestCutsAreTold: where a body ends that is cut off.
func TestCutsAreTold(t *testing.T) {
	arrow := string(smallArrow(t))
	for _, c := range []struct {
		format staging.Format
		body   string
		want   staging.CutError
	}{
		{staging.JSON, "", staging.CutError{Line: 1}},
		{staging.JSON, "{\"rows\":\n[{\"a\":\n", staging.CutError{Line: 3, Offset: 16}},
		{staging.NDJSON, "\uFEFF{}\n{\"a\":\"x", staging.CutError{Line: 2, Offset: 13}},
		{staging.CSV, "\uFEFFa,b\n1,\"x", staging.CutError{Line: 2, RowLine: 2, Offset: 11}},
		{staging.CSV, "a,b\n1,\"x\ny\n", staging.CutError{Line: 4, RowLine: 2, Offset: 11}},
		{staging.Arrow, arrow[:100], staging.CutError{Offset: 100}},
	} {
		_, err := stage(t, c.body, ingest.Request{Format: c.format, Columns: twoColumns})
		var cut *staging.CutError
		require.ErrorAs(t, err, &cut)
		require.Equal(t, c.want, *cut, c.body)
	}
	_, err := parquetbody.Spool(t.Context(), strings.NewReader("PAR1\n"), t.TempDir(), staging.Limits{})
	var cut *staging.CutError
	require.ErrorAs(t, err, &cut)
	require.Equal(t, staging.CutError{Offset: 5}, *cut)
}

// TestCutAnywhere: no beginning of a body is taken for the whole, where a format
// lets that be told.
func TestCutAnywhere(t *testing.T) {
	bodies := map[staging.Format]string{
		staging.JSON:  `{"on":["a"],"rows":[{"a":1,"b":"x\u00e9"},[2,null]],"when_matched":"update"}`,
		staging.Arrow: string(smallArrow(t)),
	}
	for format, body := range bodies {
		req := ingest.Request{Format: format, Columns: twoColumns, Dir: t.TempDir()}
		for n := range len(body) {
			_, err := ingest.Stage(t.Context(), strings.NewReader(body[:n]), req)
			require.ErrorIs(t, err, staging.ErrTruncated, "%s cut at %d", format, n)
			requireEmpty(t, req.Dir)
		}
		_, err := ingest.Stage(t.Context(), strings.NewReader(body), req)
		require.NoError(t, err)
	}
}

// TestReaderErrors: what the body's reader says comes through.
func TestReaderErrors(t *testing.T) {
	mine := errors.New("connection reset")
	for _, format := range []staging.Format{staging.JSON, staging.NDJSON, staging.CSV, staging.Arrow} {
		req := ingest.Request{Format: format, Columns: twoColumns, Dir: t.TempDir()}
		_, err := ingest.Stage(t.Context(), iotest.ErrReader(mine), req)
		require.ErrorIs(t, err, mine, format)
		_, err = ingest.Stage(t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF), req)
		require.ErrorIs(t, err, staging.ErrTruncated, format)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = ingest.Stage(ctx, strings.NewReader("a"), req)
		require.ErrorIs(t, err, context.Canceled, format)
		requireEmpty(t, req.Dir)
	}
	for _, typ := range []string{"VARIANT", `"NULL"`, "STRUCT()", "MAP(INTEGER[], VARCHAR)", "INTERVAL", "UUID", "BIGINT[3]"} {
		_, err := stage(t, "{}", ingest.Request{Format: staging.NDJSON, Columns: columns("v", typ)})
		require.ErrorIs(t, err, staging.ErrUnsupportedType, typ)
	}
	_, err := ingest.Stage(t.Context(), strings.NewReader("{}"),
		ingest.Request{Format: staging.NDJSON, Columns: twoColumns, Dir: filepath.Join(t.TempDir(), "missing")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Fields cost more than the byte between them, and so does what is said of each.
func TestRecordsHaveABoundedNumberOfFields(t *testing.T) {
	for _, body := range []string{strings.Repeat(",", 1<<20), "a,b\n1" + strings.Repeat(",", 1<<20)} {
		_, err := stage(t, body, ingest.Request{Format: staging.CSV, Columns: columns("a", "INTEGER", "b", "INTEGER")})
		var unread *staging.SyntaxError
		require.ErrorAs(t, err, &unread)
		require.Contains(t, unread.Text, "20000 fields")
	}
}
