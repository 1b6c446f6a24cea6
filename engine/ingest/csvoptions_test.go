package ingest_test

import (
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// utf16Of encodes text in the given byte order.
func utf16Of(text string, bigEndian bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		low, high := byte(unit), byte(unit>>8)
		if bigEndian {
			low, high = high, low
		}
		b.Write([]byte{low, high})
	}
	return b.String()
}

func TestCSVEncodings(t *testing.T) {
	text := columns("ä", "VARCHAR", "b", "VARCHAR")
	for _, c := range []struct {
		encoding csvbody.Encoding
		body     string
		want     [][]any
	}{
		{"", "\uFEFFä,b\nö,€\n", [][]any{{"ö", "€"}}},
		{csvbody.Latin1, "\xe4,b\n\xf6,\x80\n", [][]any{{"ö", "\u0080"}}},
		{csvbody.Windows1252, "\xe4,b\n\xf6,\x80\x9f\xff\n", [][]any{{"ö", "€Ÿÿ"}}},
		{csvbody.UTF16, utf16Of("\uFEFFä,b\nö,😀\n", false), [][]any{{"ö", "😀"}}},
		{csvbody.UTF16, utf16Of("\uFEFFä,b\nö,😀\n", true), [][]any{{"ö", "😀"}}},
		{csvbody.UTF16, utf16Of("ä,b\r\n\"ö\r\n\",\uFFFD", false), [][]any{{"ö\r\n", "\uFFFD"}}},
	} {
		req := ingest.Request{Format: staging.CSV, Columns: text, CSV: csvbody.Dialect{Encoding: c.encoding}}
		require.Equal(t, c.want, mustRead(t, c.body, req), "%s: %q", c.encoding, c.body)
		req.Dir = t.TempDir()
		_, err := ingest.Stage(t.Context(), iotest.OneByteReader(strings.NewReader(c.body)), req)
		require.NoError(t, err, "a character can arrive in parts")
	}
	long := "ä,b\n" + strings.Repeat("ö,😀\n", 50_000)
	require.Len(t, mustRead(t, utf16Of(long, false), ingest.Request{Format: staging.CSV, Columns: text,
		CSV: csvbody.Dialect{Encoding: csvbody.UTF16}}), 50_000)

	for _, c := range []struct {
		encoding   csvbody.Encoding
		body, want string
	}{
		{csvbody.Windows1252, "\xe4,b\n1,2\n\x81,\n", "body is no CSV: line 3 (byte 8): the text is not windows-1252"},
		{csvbody.UTF16, utf16Of("a,b\n", false) + "\x00\xdc", "body is no CSV: line 2 (byte 8): the text is not utf-16"},
		{csvbody.UTF16, utf16Of("a,b\n", false) + "\x3d\xd8a\x00", "body is no CSV: line 2 (byte 8): the text is not utf-16"},
		{csvbody.UTF16, utf16Of("a,b\n", false) + "\x3d\xd8", "body is no CSV: line 2 (byte 8): the text is not utf-16"},
		{csvbody.UTF16, utf16Of("ä,b\n1,2", false) + "a", "the body is cut off: line 2 (byte 15)"},
	} {
		_, err := stage(t, c.body, ingest.Request{Format: staging.CSV, Columns: text, CSV: csvbody.Dialect{Encoding: c.encoding}})
		require.EqualError(t, err, c.want)
	}
}

func TestCSVNumbersWithCommas(t *testing.T) {
	req := ingest.Request{Format: staging.CSV, CSV: csvbody.Dialect{Comma: ';', DecimalComma: true},
		Columns: columns("d", "DECIMAL(10,2)", "f", "DOUBLE", "i", "BIGINT", "t", "VARCHAR", "l", "DOUBLE[]")}
	require.Equal(t, [][]any{{"1234.50", 0.5, int64(7), "1,5", []any{1.5}}, {"-1.00", 1e5, int64(-7), "1.5", nil}},
		mustRead(t, "d;f;i;t;l\n1234,5;,5;7,0;1,5;[1.5]\n-1;1e5;-7;1.5;\n", req))
	_, err := stage(t, "d;f;i\n1.5;1,5,5;1\n;1.0;1.0\n", req)
	require.Equal(t, []string{
		"rows[0].d: expected a number with at most 8 digits before and 2 after the comma",
		"rows[0].f: expected a number in the range of DOUBLE, or NaN, Infinity, -Infinity as text",
		"rows[1].f: expected a number in the range of DOUBLE, or NaN, Infinity, -Infinity as text",
		"rows[1].i: expected a whole number from -9223372036854775808 to 9223372036854775807",
	}, problems(t, err))
	req.CSV = csvbody.Dialect{Comma: ';', DecimalComma: true, Thousands: "."}
	require.Equal(t, [][]any{{"1234567.50", -1234.0, int64(12345), "1.5", nil}},
		mustRead(t, "d;f;i;t;l\n1.234.567,5;-1.234;12.345;1.5;\n", req))
	req.CSV = csvbody.Dialect{Comma: ';', Thousands: "\u202f"}
	require.Equal(t, [][]any{{"1234.50", 1e6, int64(-999), "1\u202f234", nil}},
		mustRead(t, "d;f;i;t;l\n1\u202f234.5;1e6;-999;1\u202f234;\n", req))
	req.CSV.Thousands = ","
	for _, text := range []string{"1,23", "1,2345", ",123", "1,234,", "0,123", "1234,567", "1,,234",
		"1,234.5,6", "-,123", "1, 234", "12,34,567"} {
		_, err := stage(t, "f\n"+text+"\n", req)
		require.Len(t, problems(t, err), 1, text)
	}
}

var textFirst = columns("a", "VARCHAR", "b", "BIGINT")

// TestCSVDelimitersAreDeclared checks bodies whose first line declares the delimiter.
func TestCSVDelimitersAreDeclared(t *testing.T) {
	req := ingest.Request{Format: staging.CSV, Columns: textFirst}
	for _, body := range []string{"sep=;\na;b\nx,y;2\n", "SEP=;\r\na;b\r\nx,y;2\r\n", "\uFEFFsep=;\na;b\n\"x,y\";2"} {
		require.Equal(t, [][]any{{"x,y", int64(2)}}, mustRead(t, body, req), body)
	}
	require.Equal(t, [][]any{{"x", int64(2)}}, mustRead(t, utf16Of("\uFEFFsep=\t\na\tb\nx\t2\n", false),
		ingest.Request{Format: staging.CSV, Columns: textFirst, CSV: csvbody.Dialect{Encoding: csvbody.UTF16}}))
	req.CSV.Comma = ';'
	require.Equal(t, [][]any{{"x", int64(2)}}, mustRead(t, "sep=;\na;b\nx;2\n", req))
	req.CSV.Comma = ','
	_, err := stage(t, "sep=;\na;b\nx;2\n", req)
	require.EqualError(t, err, "csv_delimiter contradicts the first line of the body, which declares another delimiter")
	req.CSV = csvbody.Dialect{Comment: ';'}
	_, err = stage(t, "sep=;\na;b\nx;2\n", req)
	require.EqualError(t, err, "csv_comment must not be the delimiter")
	req.CSV = csvbody.Dialect{NoHeader: true, Skip: 1}
	require.Equal(t, [][]any{{"x", int64(2)}}, mustRead(t, "sep=|\nTitle\nx|2\n", req), "the line does not count")

	req = ingest.Request{Format: staging.CSV, Columns: columns("a", "VARCHAR"), CSV: csvbody.Dialect{NoHeader: true}}
	for _, body := range []string{
		"sep=\"\n", "sep=\n", "sep=;;\n", "sep =;\n", "sep=ä\n", "sep=x\n", "sep=1\nhello\n", "x\nsep=;\n", "\"sep=;\"\n",
	} {
		var lines [][]any
		for _, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
			lines = append(lines, []any{strings.Trim(line, `"`)})
		}
		if body == "sep=\"\n" {
			_, err := stage(t, body, req)
			require.EqualError(t, err, "body is no CSV: line 1 (byte 0): a quote in a field without quotes")
			continue
		}
		require.Equal(t, lines, mustRead(t, body, req), "is a row: %s", body)
	}
	require.Empty(t, mustRead(t, "sep=;\n", req))
	req.CSV.Comma = ','
	require.Equal(t, [][]any{{"sep=;"}, {"x"}}, mustRead(t, "sep=;\nx\n", req), "without a header, and with a delimiter, it is a row")
}

// TestCSVLinesThatAreNotRows checks that comments and lines before the header are skipped.
func TestCSVLinesThatAreNotRows(t *testing.T) {
	req := ingest.Request{Format: staging.CSV, Columns: textFirst, CSV: csvbody.Dialect{Skip: 3, Comment: '#'}}
	rows := [][]any{{"x", int64(2)}, {"#y\n# z", int64(3)}}
	body := "A \"title\n\r\n,,,\n# c\na,b\n#\n#,\"\nx,2\n\"#y\n# z\",3\n# the end"
	require.Equal(t, rows, mustRead(t, body, req))
	require.Equal(t, rows, mustRead(t, strings.ReplaceAll(body, "# c", "#"+strings.Repeat("c", 1<<20)), req))
	req.Dir = t.TempDir()
	_, err := ingest.Stage(t.Context(), iotest.OneByteReader(strings.NewReader(body)), req)
	require.NoError(t, err, "a line can arrive in parts")
	req.Dir = ""

	_, err = stage(t, "1\n2\n3\n# c\na,b\n\"x\"y,2\n", req)
	require.EqualError(t, err, "body is no CSV: line 6 (byte 14): text after the closing quote", "lines and bytes count all")
	_, err = stage(t, "1\n2\n", req)
	require.EqualError(t, err, "body is no CSV: line 3 (byte 4): has fewer lines than csv_skip")
	req.CSV.NoHeader = true
	_, err = stage(t, "1\n2\n3\n", req)
	require.EqualError(t, err, "body is no CSV: line 4 (byte 6): has no lines after those that csv_skip skips")
	req.Limits.RowBytes = 100
	for _, long := range []string{strings.Repeat("1", 1<<20) + "\n2\n3\nx,2\n", "1\n2\n3\n#" + strings.Repeat("1", 1<<20) + "\nx,2\n"} {
		_, err = stage(t, long, req)
		require.ErrorIs(t, err, staging.ErrTooLarge)
	}
	one := ingest.Request{Format: staging.CSV, Columns: columns("a", "VARCHAR"), CSV: csvbody.Dialect{Comment: '#'}}
	require.Equal(t, [][]any{{nil}, {"x"}}, mustRead(t, "a\n#\n\nx\n#", one))
}

// TestCSVNullsOfTypedColumns checks that columns of text keep the text for NULL.
func TestCSVNullsOfTypedColumns(t *testing.T) {
	req := ingest.Request{Format: staging.CSV, Columns: columns("a", "VARCHAR", "b", "BIGINT", "c", "DATE", "d", "BOOLEAN"),
		CSV: csvbody.Dialect{Null: "NA", NullTyped: true}}
	require.Equal(t, [][]any{{"NA", nil, nil, nil}, {nil, nil, nil, nil}, {"", nil, nil, nil}},
		mustRead(t, "a,b,c,d\nNA,NA,NA,NA\n,,,\n\"\",\"\",\"\",\"\"\n", req))
	_, err := stage(t, "b\n\"NA\"\n", req)
	require.Len(t, problems(t, err), 1, "not with quotes")
}

func TestCSVTimesInOtherForms(t *testing.T) {
	dates, err := csvbody.ParseTimeFormat("%d.%m.%Y")
	require.NoError(t, err)
	times, err := csvbody.ParseTimeFormat("%d.%m.%Y %H:%M")
	require.NoError(t, err)
	zoned, err := csvbody.ParseTimeFormat("%d.%m.%Y %H:%M %z")
	require.NoError(t, err)
	req := ingest.Request{Format: staging.CSV, Columns: columns("d", "DATE", "t", "TIMESTAMP", "z", "TIMESTAMP WITH TIME ZONE"),
		CSV: csvbody.Dialect{DateFormat: dates, TimestampFormat: times}}
	require.Equal(t, [][]any{{int64(1), int64(86_460_000_000), nil}}, mustRead(t, "d,t,z\n2.1.1970,2.1.1970 0:01,\n", req))
	_, err = stage(t, "d,t,z\n1970-01-02,1970-01-02T00:01:00,2.1.1970 0:01\n", req)
	require.Equal(t, []string{
		"rows[0].d: expected a date of the form %d.%m.%Y", "rows[0].t: expected a timestamp of the form %d.%m.%Y %H:%M",
		"rows[0].z: expected a timestamp with offset and at most 6 digits after the second: 2024-05-06T07:08:09.123456Z",
	}, problems(t, err))
	req.CSV = csvbody.Dialect{TimestampFormat: zoned}
	require.Equal(t, [][]any{{int64(1), nil, int64(86_400_000_000)}}, mustRead(t, "d,t,z\n1970-01-02,,2.1.1970 1:00 +01\n", req))
}

func TestCSVColumnsAreListed(t *testing.T) {
	req := ingest.Request{Format: staging.CSV, Columns: twoColumns, CSV: csvbody.Dialect{Columns: []string{"B", "", "a"}}}
	require.Equal(t, [][]any{{int64(3), "x"}, {nil, nil}}, mustRead(t, "p,p,\nx,2,3\n,y,\n", req))
	_, err := stage(t, "p,q\nx,2\n", req)
	require.Equal(t, []string{"rows: the header has another number of fields than csv_columns",
		"rows[0]: has another number of fields than csv_columns"}, problems(t, err))
	req.CSV.NoHeader = true
	require.Equal(t, [][]any{{int64(3), "x"}}, mustRead(t, "x,2,3\n", req))
	req.CSV.Columns = []string{"b", "c", "b"}
	_, err = stage(t, "x,2,3\n", req)
	require.Equal(t, []string{"rows.c: unknown column", "rows.b: is named twice"}, problems(t, err))
}
