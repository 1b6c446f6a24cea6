package ingest_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// decimalText prints unscaled × 10^-scale in full.
func decimalText(unscaled *big.Int, scale int) string {
	digits := new(big.Int).Abs(unscaled).String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if unscaled.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}

// TestGoodValues: what is taken, and as what.
func TestGoodValues(t *testing.T) {
	cases := []struct {
		typ, json string
		want      any
	}{
		{"BOOLEAN", "true", true}, {"BOOLEAN", "false", false}, {"BOOLEAN", "null", nil},
		{"TINYINT", "-128", int64(-128)}, {"TINYINT", "127", int64(127)},
		{"SMALLINT", "-32768", int64(-32768)}, {"SMALLINT", `"32767"`, int64(32767)},
		{"INTEGER", "2147483647", int64(math.MaxInt32)}, {"INTEGER", "-2147483648", int64(math.MinInt32)},
		{"BIGINT", "9223372036854775807", int64(math.MaxInt64)}, {"BIGINT", `"-9223372036854775808"`, int64(math.MinInt64)},
		{"BIGINT", "1e3", int64(1000)}, {"BIGINT", "12.500e1", int64(125)}, {"BIGINT", "-0", int64(0)}, {"BIGINT", "0.0", int64(0)},
		{"BIGINT", `"007"`, int64(7)}, {"BIGINT", "9.223372036854775807e18", int64(math.MaxInt64)}, {"BIGINT", "0e999999999999999999", int64(0)},
		{"FLOAT", "0.1", float64(float32(0.1))}, {"FLOAT", "16777217", float64(16777216)}, {"FLOAT", `"-Infinity"`, math.Inf(-1)},
		{"DOUBLE", "0.1", 0.1}, {"DOUBLE", "1e-400", 0.0}, {"DOUBLE", `"Infinity"`, math.Inf(1)},
		{"DOUBLE", "1.7976931348623157e308", math.MaxFloat64},
		{"DECIMAL(5,2)", "123.45", "123.45"}, {"DECIMAL(5,2)", `"-999.99"`, "-999.99"}, {"DECIMAL(5,2)", "1.5000", "1.50"},
		{"DECIMAL(5,2)", "12e1", "120.00"},
		{"DECIMAL(5,2)", "0", "0.00"}, {"DECIMAL(5,2)", "1e-2", "0.01"},
		{"DECIMAL(38,0)", strings.Repeat("9", 38), strings.Repeat("9", 38)},
		{"DECIMAL(38,0)", "-" + strings.Repeat("9", 38), "-" + strings.Repeat("9", 38)},
		{"DECIMAL(38,38)", "0." + strings.Repeat("9", 38), "0." + strings.Repeat("9", 38)},
		{"DECIMAL(38,10)", "1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456789"},
		{"VARCHAR", `"a\u00e9\n\"\\ \ud83d\ude00"`, "aé\n\"\\ 😀"}, {"VARCHAR", `""`, ""}, {"VARCHAR", `"\u0000"`, "\x00"},
		{"BLOB", `"AAH/"`, []byte{0, 1, 255}}, {"BLOB", `""`, []byte{}},
		{"DATE", `"1970-01-01"`, int64(0)}, {"DATE", `"0001-01-01"`, int64(-719162)}, {"DATE", `"9999-12-31"`, int64(2932896)},
		{"DATE", `"2024-02-29"`, int64(19782)},
		{"TIMESTAMP WITH TIME ZONE", `"1970-01-01T00:00:00Z"`, int64(0)},
		{"TIMESTAMP WITH TIME ZONE", `"1970-01-01t02:00:00.000001+02:00"`, int64(1)},
		{"TIMESTAMP WITH TIME ZONE", `"1969-12-31 23:59:59.999999-00:30"`, int64(1799999999)},
		{"TIMESTAMP WITH TIME ZONE", `"2024-05-06T07:08:09.120000000Z"`, int64(1714979289120000)},
		{"TIMESTAMP", `"1970-01-02T00:00:00.5"`, int64(86400500000)},
		{"BIGINT[]", "[1,null,3]", []any{int64(1), nil, int64(3)}}, {"BIGINT[]", "[]", []any{}},
		{"BIGINT[][]", "[[1],[],null]", []any{[]any{int64(1)}, []any{}, nil}},
		{"STRUCT(a INTEGER, \"b c\" VARCHAR)", `{"b c":"x"}`, []any{nil, "x"}},
		{"STRUCT(a INTEGER, b VARCHAR)", `{"B":"x","\u0061":1}`, []any{int64(1), "x"}},
		{"MAP(VARCHAR, INTEGER)", `{"x":1,"y":null}`, []pair{{"x", int64(1)}, {"y", nil}}}, {"MAP(VARCHAR, INTEGER)", `{}`, []pair{}},
		{"MAP(INTEGER, VARCHAR)", `[{"key":1,"value":"x"},{"key":2}]`, []pair{{int64(1), "x"}, {int64(2), nil}}},
		{"MAP(DATE, BOOLEAN)", `{"1970-01-02":true}`, []pair{{int64(1), true}}}, {"MAP(DOUBLE, BOOLEAN)", `{"1.5":true}`, []pair{{1.5, true}}},
		{"STRUCT(a STRUCT(b INTEGER[]))[]", `[{"a":{"b":[7]}},{},null]`, []any{[]any{[]any{[]any{int64(7)}}}, []any{nil}, nil}},
	}
	for _, c := range cases {
		t.Run(c.typ+" "+c.json, func(t *testing.T) {
			req := ingest.Request{Columns: columns("v", c.typ)}
			req.Format = staging.NDJSON
			require.Equal(t, [][]any{{c.want}}, mustRead(t, `{"v": `+c.json+" }\n", req))
			require.Equal(t, [][]any{{c.want}}, mustRead(t, `[`+c.json+`]`, req))
			req.Format = staging.JSON
			require.Equal(t, [][]any{{c.want}, {c.want}}, mustRead(t, `{"rows" : [ {"v":`+c.json+`} , [ `+c.json+` ] ] }`, req))
			req.Format = staging.CSV
			require.Equal(t, [][]any{{c.want}}, mustRead(t, "v\r\n"+csvOf(t, c.json)+"\r\n", req))
		})
	}
	nan := mustRead(t, `{"v":"NaN"}`, ingest.Request{Format: staging.NDJSON, Columns: columns("v", "DOUBLE")})
	require.True(t, math.IsNaN(nan[0][0].(float64)))
}

// csvOf is a JSON value as a CSV field.
func csvOf(tb testing.TB, value string) string {
	if value == "null" {
		return ""
	}
	text := value
	if value[0] == '"' {
		require.NoError(tb, json.Unmarshal([]byte(value), &text))
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// TestBadValues: each is a problem that names its place, and nothing is staged.
func TestBadValues(t *testing.T) {
	cases := []struct{ typ, json, field, message string }{
		{"BIGINT", "1.5", "v", "whole number from -9223372036854775808"},
		{"BIGINT", "9223372036854775808", "v", "whole number"},
		{"BIGINT", "-9223372036854775809", "v", "whole number"},
		{"BIGINT", "1e19", "v", "whole number"},
		{"BIGINT", "1e-1", "v", "whole number"},
		{"BIGINT", "1e99999999999999999999", "v", "whole number"},
		{"BIGINT", `"0x10"`, "v", "whole number"},
		{"BIGINT", `" 1"`, "v", "whole number"},
		{"BIGINT", `""`, "v", "whole number"},
		{"BIGINT", "true", "v", "whole number"},
		{"BIGINT", "{}", "v", "whole number"},
		{"BIGINT", "[[1]]", "v", "whole number"},
		{"INTEGER", `"abc"`, "v", "whole number from -2147483648 to 2147483647"},
		{"INTEGER", "2147483648", "v", "whole number"},
		{"TINYINT", "128", "v", "-128 to 127"},
		{"SMALLINT", "-32769", "v", "whole number"},
		{"FLOAT", "1e39", "v", "FLOAT"},
		{"DOUBLE", "1e400", "v", "DOUBLE"},
		{"DOUBLE", `"1.5"`, "v", "DOUBLE"},
		{"DOUBLE", `"0x1p-2"`, "v", "DOUBLE"},
		{"DECIMAL(5,2)", "1.234", "v", "at most 3 digits before and 2 after"},
		{"DECIMAL(5,2)", "1000", "v", "digits"},
		{"DECIMAL(5,2)", `"NaN"`, "v", "digits"},
		{"DECIMAL(38,0)", "1" + strings.Repeat("0", 38), "v", "digits"},
		{"DECIMAL(38,38)", "0." + strings.Repeat("1", 39), "v", "digits"},
		{"BOOLEAN", `"yes"`, "v", "true or false"},
		{"BOOLEAN", "2", "v", "true or false"},
		{"VARCHAR", "1", "v", "string"},
		{"VARCHAR", "\"\xff\"", "v", "UTF-8"},
		{"VARCHAR", `"\ud800"`, "v", "UTF-8"},
		{"BLOB", `"AA"`, "v", "base64"},
		{"BLOB", `"A$=="`, "v", "base64"},
		{"BLOB", `"AB=="`, "v", "base64"},
		{"DATE", `"2023-02-29"`, "v", "YYYY-MM-DD"},
		{"DATE", `"2024-13-01"`, "v", "YYYY-MM-DD"},
		{"DATE", `"2024-1-01"`, "v", "YYYY-MM-DD"},
		{"DATE", `"2024-01-01T00:00:00Z"`, "v", "YYYY-MM-DD"},
		{"DATE", `"0000-01-01"`, "v", "YYYY-MM-DD"},
		{"DATE", "19000", "v", "YYYY-MM-DD"},
		{"TIMESTAMP WITH TIME ZONE", `"2024-05-06T07:08:09"`, "v", "with offset"},
		{"TIMESTAMP WITH TIME ZONE", `"2024-05-06T07:08:09.1234567Z"`, "v", "6 digits"},
		{"TIMESTAMP WITH TIME ZONE", `"2024-05-06T07:08:60Z"`, "v", "timestamp"},
		{"TIMESTAMP WITH TIME ZONE", `"2024-05-06T24:00:00Z"`, "v", "timestamp"},
		{"TIMESTAMP WITH TIME ZONE", `"2024-05-06T07:08:09.Z"`, "v", "timestamp"},
		{"TIMESTAMP WITH TIME ZONE", `"2024-05-06T07:08:09+24:00"`, "v", "timestamp"},
		{"TIMESTAMP WITH TIME ZONE", "1714979289", "v", "timestamp"},
		{"TIMESTAMP", `"2024-05-06T07:08:09Z"`, "v", "without offset"},
		{"BIGINT[]", "1", "v", "list"},
		{"BIGINT[]", `{"a":1}`, "v", "list"},
		{"BIGINT[]", `[1,"x"]`, "v[]", "whole number"},
		{"STRUCT(a INTEGER)", "[1]", "v", "object"},
		{"STRUCT(a INTEGER)", `{"a":"x"}`, "v.a", "whole number"},
		{"STRUCT(a INTEGER)", `{"b":1}`, "v.b", "unknown member"},
		{"STRUCT(a INTEGER)", `{"a":1,"A":1}`, "v.a", "twice"},
		{"MAP(VARCHAR, INTEGER)", `{"x":1,"x":2}`, "v.key", "twice"},
		{"MAP(VARCHAR, INTEGER)", `{"x":"y"}`, "v.value", "whole number"},
		{"MAP(INTEGER, INTEGER)", `{"x":1}`, "v.key", "whole number"},
		{"MAP(INTEGER, INTEGER)", `[{"value":1}]`, "v.key", "NULL"},
		{"MAP(INTEGER, INTEGER)", `[{"key":null,"value":1}]`, "v.key", "NULL"},
		{"MAP(INTEGER, INTEGER)", `[{"key":1,"value":1},{"key":1.0,"value":2}]`, "v.key", "twice"},
		{"MAP(INTEGER, INTEGER)", `[{"key":1,"value":1,"more":1}]`, "v", "key"},
		{"MAP(INTEGER, INTEGER)", `[7]`, "v", "key"},
	}
	for _, c := range cases {
		t.Run(c.typ+" "+c.json, func(t *testing.T) {
			req := ingest.Request{Format: staging.NDJSON, Columns: columns("k", "INTEGER", "v", c.typ)}
			_, err := stage(t, "{\"k\":1}\n{\"k\":2,\"v\":"+c.json+"}\n", req)
			got := problems(t, err)
			require.Len(t, got, 1)
			require.Contains(t, got[0], "rows[1]."+c.field+": ")
			require.Contains(t, got[0], c.message)
			req.Format = staging.JSON
			_, err = stage(t, `{"rows":[[1,null],[2,`+c.json+`]]}`, req)
			require.Equal(t, got, problems(t, err))
		})
	}
}

func TestBadRows(t *testing.T) {
	req := ingest.Request{Columns: columns("a", "INTEGER", "B", "VARCHAR")}
	cases := []struct {
		name   string
		format staging.Format
		body   string
		want   []string
	}{
		{"unknown column", staging.NDJSON, `{"a":1,"c":{"d":[1]}}`, []string{"rows[0].c: unknown column"}},
		{"column twice", staging.NDJSON, `{"a":1,"a":[2]}`, []string{"rows[0].a: is named twice"}},
		{"column twice in two cases", staging.NDJSON, `{"B":"x","b":"y"}`, []string{"rows[0].B: is named twice"}},
		{"no row", staging.NDJSON, "7\n\"x\"\nnull", []string{
			"rows[0]: expected an object, or a list of values", "rows[1]: expected an object, or a list of values",
			"rows[2]: expected an object, or a list of values"}},
		{"short list", staging.NDJSON, `[1]`, []string{"rows[0]: a list must have one value for each column of the table"}},
		{"long list", staging.NDJSON, `[1,"x",3]`, []string{"rows[0]: a list must have one value for each column of the table"}},
		{"name that is no UTF-8", staging.NDJSON, "{\"\xff\":1}", []string{"rows[0].\uFFFD: unknown column"}},
		{"long name", staging.NDJSON, `{"` + strings.Repeat("x", 200) + `":1}`,
			[]string{"rows[0]." + strings.Repeat("x", 128) + "…: unknown column"}},
		{"several", staging.JSON, `{"rows":[{"a":"x","B":1},{"B":2}]}`, []string{
			"rows[0].a: expected a whole number from -2147483648 to 2147483647", "rows[0].B: expected a string", "rows[1].B: expected a string"}},
		{"unknown CSV column", staging.CSV, "a,c\n1,2\n", []string{"rows.c: unknown column"}},
		{"CSV column twice", staging.CSV, "a,A\n1,2\n", []string{"rows.a: is named twice"}},
		{"CSV fields", staging.CSV, "a,B\n1\n2,x,y\n3,x", []string{
			"rows[0]: has another number of fields than the header", "rows[1]: has another number of fields than the header"}},
		{"CSV nested", staging.CSV, "a,B\n\"x\",\xff\n", []string{
			"rows[0].a: expected a whole number from -2147483648 to 2147483647", "rows[0].B: text is not UTF-8"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			req.Format = c.format
			_, err := stage(t, c.body, req)
			require.Equal(t, c.want, problems(t, err))
		})
	}
	t.Run("all are counted, the first hundred kept", func(t *testing.T) {
		req.Format = staging.NDJSON
		_, err := stage(t, strings.Repeat("{\"a\":\"x\"}\n{\"a\":1}\n", 50_000), req)
		var rows *staging.RowsError
		require.ErrorAs(t, err, &rows)
		require.EqualValues(t, 50_000, rows.Total)
		require.Len(t, rows.Problems, 100)
		require.Equal(t, staging.Problem{Row: 198, Column: "a", Message: rows.Problems[0].Message}, rows.Problems[99])
	})
}
