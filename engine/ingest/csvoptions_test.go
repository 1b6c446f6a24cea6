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
