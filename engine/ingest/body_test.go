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
)

var twoColumns = columns("a", "INTEGER", "b", "VARCHAR")

func TestEnvelope(t *testing.T) {
	req := ingest.Request{Format: ingest.JSON, Columns: twoColumns, Dir: t.TempDir()}
	body := "\uFEFF" + ` {"on":["a"], "rows": [{"a":1},[2,"x"]] , "when_matched":"update","deep":{"x":[1, 2]}} `
	staged, err := ingest.Stage(t.Context(), iotest.OneByteReader(strings.NewReader(body)), req)
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{
		"on": []byte(`["a"]`), "when_matched": []byte(`"update"`), "deep": []byte(`{"x":[1, 2]}`)}, staged.Members)
	require.EqualValues(t, 2, staged.Rows)
	require.EqualValues(t, len(body), staged.Bytes)
	require.Equal(t, [][]any{{int64(1), nil}, {int64(2), "x"}}, readFile(t, filepath.Join(req.Dir, staged.File)))

	staged, err = stage(t, `{"rows":[]}`, ingest.Request{Format: ingest.JSON, Columns: twoColumns})
	require.NoError(t, err)
	require.Zero(t, staged.Rows)
	require.Empty(t, staged.Shapes)
}

// TestShapes: which columns a row names can be told from the staged file.
func TestShapes(t *testing.T) {
	req := ingest.Request{Format: ingest.NDJSON, Columns: twoColumns, ShapeColumn: "shape", Dir: t.TempDir()}
	staged, err := stage(t, `{"b":null,"a":1}{"a":2} {"a":3,"b":"x"}{}`, req)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a", "b"}, {"a"}, {}}, staged.Shapes)
	require.Equal(t, []int64{0, 1, 3}, staged.FirstRows)
	require.Equal(t, [][]any{
		{int64(1), nil, int64(0)}, {int64(2), nil, int64(1)}, {int64(3), "x", int64(0)}, {nil, nil, int64(2)},
	}, readFile(t, filepath.Join(req.Dir, staged.File)))

	req.Format = ingest.CSV
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
	_, err = stage(t, body.String(), ingest.Request{Format: ingest.NDJSON, Columns: columns(many...)})
	require.ErrorIs(t, err, ingest.ErrTooLarge)
}

func TestCSVDialects(t *testing.T) {
	cases := []struct {
		name, body string
		dialect    ingest.Dialect
		want       [][]any
	}{
		{"quoted empty is no NULL", "a,b\n1,\"\"\n2,\n,\n", ingest.Dialect{}, [][]any{{int64(1), ""}, {int64(2), nil}, {nil, nil}}},
		{"quotes, line feeds and separators in quotes", "b\r\n\"a,\"\"b\"\"\r\nc\"\r\n", ingest.Dialect{}, [][]any{{nil, "a,\"b\"\r\nc"}}},
		{"no line end", "a,b\n1,x", ingest.Dialect{}, [][]any{{int64(1), "x"}}},
		{"no line end after a quote", "a,b\n1,\"x\"", ingest.Dialect{}, [][]any{{int64(1), "x"}}},
		{"last field empty", "b,a\nx,", ingest.Dialect{}, [][]any{{nil, "x"}}},
		{"empty lines", "a,b\n\n1,x\n\r\n\n", ingest.Dialect{}, [][]any{{int64(1), "x"}}},
		{"empty line is a row of one column", "b\n\nx\n", ingest.Dialect{}, [][]any{{nil, nil}, {nil, "x"}}},
		{"byte order mark, other order and case", "\uFEFFB,A\nx,1\n", ingest.Dialect{}, [][]any{{int64(1), "x"}}},
		{"blanks are data", "a,b\n1, x \n", ingest.Dialect{}, [][]any{{int64(1), " x "}}},
		{"semicolons", "a;b\n1;\"x;y\"\n", ingest.Dialect{Comma: ';'}, [][]any{{int64(1), "x;y"}}},
		{"tabs and single quotes", "a\tb\n1\t'it''s \"x\"'\n", ingest.Dialect{Comma: '\t', Quote: '\''}, [][]any{{int64(1), `it's "x"`}}},
		{"text for NULL", "a,b\nNA,NA\n1,\"NA\"\n2,\n", ingest.Dialect{Null: "NA"}, [][]any{{nil, nil}, {int64(1), "NA"}, {int64(2), nil}}},
		{"no header", "1,x\n2,y\n", ingest.Dialect{NoHeader: true}, [][]any{{int64(1), "x"}, {int64(2), "y"}}},
		{"header only", "a,b\n", ingest.Dialect{}, [][]any{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req := ingest.Request{Format: ingest.CSV, CSV: c.dialect, Columns: twoColumns}
			require.Equal(t, c.want, mustRead(t, c.body, req))
			req.Dir = t.TempDir()
			staged, err := ingest.Stage(t.Context(), iotest.OneByteReader(strings.NewReader(c.body)), req)
			require.NoError(t, err)
			require.Equal(t, c.want, readFile(t, filepath.Join(req.Dir, staged.File)))
		})
	}
	for _, d := range []ingest.Dialect{{Comma: '"'}, {Quote: '\n'}, {Comma: 0xe9}, {Comma: 'x', Quote: 'x'}} {
		_, err := stage(t, "a\n", ingest.Request{Format: ingest.CSV, CSV: d, Columns: twoColumns})
		require.ErrorIs(t, err, ingest.ErrDialect)
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
		format ingest.Format
		body   string
		limits ingest.Limits
		want   error
	}{
		{"nothing", ingest.JSON, "", ingest.Limits{}, ingest.ErrTruncated},
		{"cut envelope", ingest.JSON, `{"rows":[{"a":1}]`, ingest.Limits{}, ingest.ErrTruncated},
		{"cut list", ingest.JSON, `{"rows":[{"a":1},`, ingest.Limits{}, ingest.ErrTruncated},
		{"cut list before a comma", ingest.JSON, `{"rows":[{"a":1}`, ingest.Limits{}, ingest.ErrTruncated},
		{"cut row", ingest.JSON, `{"rows":[{"a":`, ingest.Limits{}, ingest.ErrTruncated},
		{"cut member", ingest.JSON, `{"rows":[],"on":["a`, ingest.Limits{}, ingest.ErrTruncated},
		{"cut line", ingest.NDJSON, `{"a":1}` + "\n" + `{"a":`, ingest.Limits{}, ingest.ErrTruncated},
		{"cut quotes", ingest.CSV, "a,b\n1,\"x", ingest.Limits{}, ingest.ErrTruncated},
		{"no rows", ingest.JSON, `{"on":["a"]}`, ingest.Limits{}, ingest.ErrNoRows},
		{"rows that are no list", ingest.JSON, `{"rows":{"a":1}}`, ingest.Limits{}, ingest.ErrNoRows},
		{"long body", ingest.NDJSON, `{"a":1}`, ingest.Limits{Bytes: 6}, ingest.ErrTooLarge},
		{"long CSV", ingest.CSV, "a\n1\n2\n3\n", ingest.Limits{Bytes: 7}, ingest.ErrTooLarge},
		{"many rows", ingest.NDJSON, "{}{}{}", ingest.Limits{Rows: 2}, ingest.ErrTooLarge},
		{"long row", ingest.NDJSON, `{"b":"` + long + `"}`, ingest.Limits{RowBytes: 1000}, ingest.ErrTooLarge},
		{"endless row", ingest.JSON, `{"rows":["` + strings.Repeat(long, 1000), ingest.Limits{RowBytes: 1000}, ingest.ErrTooLarge},
		{"endless blanks", ingest.JSON, `{"rows":[` + strings.Repeat(" ", 1_000_000) + "]}", ingest.Limits{RowBytes: 1000}, ingest.ErrTooLarge},
		{"endless name", ingest.JSON, `{"` + strings.Repeat(long, 3000), ingest.Limits{}, ingest.ErrTooLarge},
		{"endless member", ingest.JSON, `{"on":"` + strings.Repeat(long, 3000), ingest.Limits{}, ingest.ErrTooLarge},
		{"many members", ingest.JSON, manyMembers(), ingest.Limits{}, ingest.ErrTooLarge},
		{"long CSV record", ingest.CSV, "a,b\n1," + strings.Repeat(long, 2000) + "\n", ingest.Limits{RowBytes: 1 << 20}, ingest.ErrTooLarge},
		{"endless quotes", ingest.CSV, "a,b\n1,\"" + strings.Repeat(long, 2000), ingest.Limits{RowBytes: 1 << 20}, ingest.ErrTooLarge},
		{"large staged file", ingest.NDJSON, strings.Repeat(`{"a":1}`, 1000), ingest.Limits{StagedBytes: 100}, ingest.ErrTooLarge},
		{"deep value", ingest.NDJSON, `{"a":` + deep + "}", ingest.Limits{}, ingest.ErrTooDeep},
		{"deep member", ingest.JSON, `{"on":` + deep + `,"rows":[]}`, ingest.Limits{}, ingest.ErrTooDeep},
		{"abyss", ingest.NDJSON, abyss, ingest.Limits{}, ingest.ErrTooDeep},
		{"abyss in a member", ingest.JSON, `{"on":` + abyss, ingest.Limits{Bytes: 5 << 20}, ingest.ErrTooDeep},
		{"deep CSV field", ingest.CSV, "l\n\"" + deep + "\"\n", ingest.Limits{}, ingest.ErrTooDeep},
		{"bomb of empty structs", ingest.NDJSON, `{"l":[` + strings.TrimSuffix(strings.Repeat("{},", 1_000_000), ",") + "]}", ingest.Limits{}, ingest.ErrTooLarge},
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
		format       ingest.Format
		body         string
		line, offset int64
	}{
		{"no object", ingest.JSON, "\n[1]", 2, 2},
		{"trailing text", ingest.JSON, "{\"rows\":[]}\n\nx", 3, 13},
		{"trailing value", ingest.JSON, `{"rows":[]} {}`, 1, 13},
		{"member twice", ingest.JSON, `{"rows":[],"rows":[]}`, 1, 17},
		{"name twice in a member", ingest.JSON, `{"rows":[],"on":{"a":1,"a":2}}`, 1, 29},
		{"no UTF-8 in a member", ingest.JSON, "{\"on\":\"\xff\"}", 1, 9},
		{"trailing comma", ingest.JSON, "\n{\"rows\":[{\"a\":1},\n]}", 2, 17},
		{"no comma", ingest.JSON, `{"rows":[{} {}]}`, 1, 12},
		{"bare word", ingest.NDJSON, "{\"a\":1}\n{\"a\":NaN}\n{}", 2, 13},
		{"after a byte order mark", ingest.NDJSON, "\uFEFF{}\n}", 2, 6},
		{"CSV after a byte order mark", ingest.CSV, "\uFEFFa\n\"1\"x\n", 2, 5},
		{"UTF-16", ingest.NDJSON, "\xff\xfe{\x00}\x00", 1, 0},
		{"control character", ingest.NDJSON, "{\"b\":\"a\nb\"}", 1, 7},
		{"quote in a field", ingest.CSV, "a,b\n1,x\n2,x\"y\n", 3, 8},
		{"text after quotes", ingest.CSV, "a,b\n1,\"x\"y\n", 2, 4},
		{"carriage return", ingest.CSV, "a,b\r1,x\r", 1, 0},
		{"no header", ingest.CSV, "", 1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := stage(t, c.body, ingest.Request{Format: c.format, Columns: twoColumns})
			var syntax *ingest.SyntaxError
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
		format ingest.Format
		body   string
		want   ingest.CutError
	}{
		{ingest.JSON, "", ingest.CutError{Line: 1}},
		{ingest.JSON, "{\"rows\":\n[{\"a\":\n", ingest.CutError{Line: 3, Offset: 16}},
		{ingest.NDJSON, "\uFEFF{}\n{\"a\":\"x", ingest.CutError{Line: 2, Offset: 13}},
		{ingest.CSV, "\uFEFFa,b\n1,\"x", ingest.CutError{Line: 2, RowLine: 2, Offset: 11}},
		{ingest.CSV, "a,b\n1,\"x\ny\n", ingest.CutError{Line: 4, RowLine: 2, Offset: 11}},
		{ingest.Arrow, arrow[:100], ingest.CutError{Offset: 100}},
	} {
		_, err := stage(t, c.body, ingest.Request{Format: c.format, Columns: twoColumns})
		var cut *ingest.CutError
		require.ErrorAs(t, err, &cut)
		require.Equal(t, c.want, *cut, c.body)
	}
	_, err := ingest.Spool(t.Context(), strings.NewReader("PAR1\n"), t.TempDir(), ingest.Limits{})
	var cut *ingest.CutError
	require.ErrorAs(t, err, &cut)
	require.Equal(t, ingest.CutError{Offset: 5}, *cut)
}

// TestCutAnywhere: no beginning of a body is taken for the whole, where a format
// lets that be told.
func TestCutAnywhere(t *testing.T) {
	bodies := map[ingest.Format]string{
		ingest.JSON:  `{"on":["a"],"rows":[{"a":1,"b":"x\u00e9"},[2,null]],"when_matched":"update"}`,
		ingest.Arrow: string(smallArrow(t)),
	}
	for format, body := range bodies {
		req := ingest.Request{Format: format, Columns: twoColumns, Dir: t.TempDir()}
		for n := range len(body) {
			_, err := ingest.Stage(t.Context(), strings.NewReader(body[:n]), req)
			require.ErrorIs(t, err, ingest.ErrTruncated, "%s cut at %d", format, n)
			requireEmpty(t, req.Dir)
		}
		_, err := ingest.Stage(t.Context(), strings.NewReader(body), req)
		require.NoError(t, err)
	}
}

// TestReaderErrors: what the body's reader says comes through.
func TestReaderErrors(t *testing.T) {
	mine := errors.New("connection reset")
	for _, format := range []ingest.Format{ingest.JSON, ingest.NDJSON, ingest.CSV, ingest.Arrow} {
		req := ingest.Request{Format: format, Columns: twoColumns, Dir: t.TempDir()}
		_, err := ingest.Stage(t.Context(), iotest.ErrReader(mine), req)
		require.ErrorIs(t, err, mine, format)
		_, err = ingest.Stage(t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF), req)
		require.ErrorIs(t, err, ingest.ErrTruncated, format)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = ingest.Stage(ctx, strings.NewReader("a"), req)
		require.ErrorIs(t, err, context.Canceled, format)
		requireEmpty(t, req.Dir)
	}
	for _, typ := range []string{"VARIANT", `"NULL"`, "STRUCT()", "MAP(INTEGER[], VARCHAR)", "DECIMAL(39,1)", "INTERVAL", "", "BIGINT[", "STRUCT(a)"} {
		_, err := stage(t, "{}", ingest.Request{Format: ingest.NDJSON, Columns: columns("v", typ)})
		require.ErrorIs(t, err, ingest.ErrUnsupportedType, typ)
	}
	_, err := ingest.Stage(t.Context(), strings.NewReader("{}"), ingest.Request{Format: ingest.NDJSON, Columns: twoColumns, Dir: filepath.Join(t.TempDir(), "missing")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Fields cost more than the byte between them, and so does what is said of each.
func TestRecordsHaveABoundedNumberOfFields(t *testing.T) {
	for _, body := range []string{strings.Repeat(",", 1<<20), "a,b\n1" + strings.Repeat(",", 1<<20)} {
		_, err := stage(t, body, ingest.Request{Format: ingest.CSV, Columns: columns("a", "INTEGER", "b", "INTEGER")})
		var unread *ingest.SyntaxError
		require.ErrorAs(t, err, &unread)
		require.Contains(t, unread.Text, "20000 fields")
	}
}
