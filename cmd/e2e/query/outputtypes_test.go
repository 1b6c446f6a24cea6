package query_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// outputTypes are values of every type of DuckDB that a statement can make, at the ends of its
// range.
var outputTypes = []struct {
	sql string
	// json is the value in JSON and NDJSON. csv is the field of CSV if it is not the same without
	// quotes. arrow is the text of the value that DuckDB reads from Arrow and Parquet, if it is not
	// the field of CSV.
	json, csv, arrow string
}{
	{"true", `true`, "", ""},
	{"(-128)::TINYINT", `-128`, "", ""},
	{"(-32768)::SMALLINT", `-32768`, "", ""},
	{"(-2147483648)::INTEGER", `-2147483648`, "", ""},
	{"(-9223372036854775808)::BIGINT", `-9223372036854775808`, "", ""},
	{"255::UTINYINT", `255`, "", ""},
	{"65535::USMALLINT", `65535`, "", ""},
	{"4294967295::UINTEGER", `4294967295`, "", ""},
	{"18446744073709551615::UBIGINT", `"18446744073709551615"`, "", ""},
	{"'-99999999999999999999999999999999999999'::HUGEINT", `"-99999999999999999999999999999999999999"`, "", ""},
	{"'340282366920938463463374607431768211455'::UHUGEINT", `"340282366920938463463374607431768211455"`, "", ""},
	{"md5_number('d')", `"230713871354714643831115714448100194178"`, "", ""},
	{"0.1::FLOAT", `0.1`, "", ""},
	{"'-Infinity'::DOUBLE", `"-Infinity"`, "", "-inf"},
	{"'NaN'::DOUBLE", `"NaN"`, "", "nan"},
	{"1e300::DOUBLE", `1e+300`, "", ""},
	{"(-1.50)::DECIMAL(38,10)", `"-1.5000000000"`, "", ""},
	{"'a' || chr(0) || '\u00e9'", `"a\u0000é"`, "a\x00é", ""},
	{"from_hex('00ff')", `"AP8="`, "", `\x00\xFF`},
	{"'0101'::BIT", `"0101"`, "", ""},
	{"'7f5e4a3b-0000-4000-8000-0000000000ff'::UUID", `"7f5e4a3b-0000-4000-8000-0000000000ff"`, "", ""},
	{"DATE '9999-12-31'", `"9999-12-31"`, "", ""},
	{"TIME '23:59:59.999999'", `"23:59:59.999999"`, "", ""},
	{"'12:00:00.123456789'::TIME_NS", `"12:00:00.123456789"`, "", ""},
	{"'12:00:00.5+02:30'::TIMETZ", `"12:00:00.5+02:30"`, "", ""},
	{"TIMESTAMP '2024-01-01 00:00:00.5'", `"2024-01-01T00:00:00.5"`, "", "2024-01-01 00:00:00.5"},
	{"'2024-01-01 00:00:01'::TIMESTAMP_S", `"2024-01-01T00:00:01"`, "", "2024-01-01 00:00:01"},
	{"'2024-01-01 00:00:00.001'::TIMESTAMP_MS", `"2024-01-01T00:00:00.001"`, "", "2024-01-01 00:00:00.001"},
	{"'2024-01-01 00:00:00.123456789'::TIMESTAMP_NS", `"2024-01-01T00:00:00.123456789"`, "", "2024-01-01 00:00:00.123456789"},
	{"TIMESTAMPTZ '2024-01-01 00:00:00.5+02'", `"2023-12-31T22:00:00.5Z"`, "", "2023-12-31 22:00:00.5+00"},
	{"to_microseconds(9223372036854775807)", `"2562047788:00:54.775807"`, "", ""},
	{"INTERVAL '-5 months 3 days 1 microsecond'", `"-5 months 3 days 00:00:00.000001"`, "", ""},
	{`'{"a": [1,  2]}'::JSON`, `"{\"a\": [1,  2]}"`, "", ""},
	{"[1, NULL]", `[1,null]`, "", "[1, NULL]"},
	{"[1, 2]::INTEGER[2]", `[1,2]`, "", "[1, 2]"},
	{"MAP {'k': TIMETZ '12:00:00+02'}", `[{"key":"k","value":"12:00:00+02"}]`, "", "{k='12:00:00+02'}"},
	{"{'a': '101'::BIT, 'b': [1::UHUGEINT]}", `{"a":"101","b":["1"]}`, "", "{'a': 101, 'b': [1]}"},
	{"NULL::UHUGEINT", `null`, "", ""},
	{"NULL", `null`, "", ""},
}

// refusedOutputs are values that Arrow and Parquet have no form for.
var refusedOutputs = []struct{ sql, json, column string }{
	{"TIMESTAMP 'infinity'", `"infinity"`, "infinity"},
	{"TIMESTAMPTZ '-infinity'", `"-infinity"`, "infinity"},
	{"'infinity'::TIMESTAMP_S", `"infinity"`, "infinity"},
	{"'infinity'::TIMESTAMP_NS", `"infinity"`, "infinity"},
	{"DATE '-infinity'", `"-infinity"`, "infinity"},
	{"[DATE 'infinity']", `["infinity"]`, "infinity"},
	{"TIME '24:00:00'", `"24:00:00"`, "the time 24:00:00"},
	{"170141183460469231731687303715884105727::HUGEINT", `"170141183460469231731687303715884105727"`, "a number of 39 digits"},
}

// readByDuckDB prints the values of a file as DuckDB reads them.
const readByDuckDB = `
import sys, json, duckdb, pyarrow as pa, pyarrow.parquet as pq
con = duckdb.connect()
con.execute("SET TimeZone = 'UTC'")
if sys.argv[1].endswith("parquet"):
    t = pq.read_table(sys.argv[1])
else:
    t = pa.ipc.open_stream(sys.argv[1]).read_all()
row = con.execute("SELECT " + ", ".join('CAST("%s" AS VARCHAR)' % n for n in t.column_names) + " FROM t").fetchone()
print(json.dumps(row))
`

func TestValuesOfEveryTypeAreExactInEveryFormat(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	var items, want, fields, texts []string
	for i, v := range outputTypes {
		items = append(items, v.sql+" AS c"+string(rune('A'+i/26))+string(rune('a'+i%26)))
		want = append(want, v.json)
		field := v.csv
		if field == "" && v.json != "null" {
			if field = v.json; v.json[0] == '"' {
				require.NoError(t, json.Unmarshal([]byte(v.json), &field))
			}
		}
		fields = append(fields, field)
		if v.arrow != "" {
			field = v.arrow
		}
		texts = append(texts, field)
	}
	sql := "SELECT " + strings.Join(items, ", ")
	fetch := func(sql, format string) string {
		r := s.Admin.Call("POST", "/v1/query", object{"sql": sql}, "Accept", format)
		require.Equal(t, 200, r.Status, "%s", r.Body)
		return string(r.Body)
	}
	require.Contains(t, fetch(sql, "application/json"), `"rows":[[`+strings.Join(want, ",")+`]]`)
	var line strings.Builder
	for i, w := range want {
		_, name, _ := strings.Cut(items[i], " AS c")
		for strings.Contains(name, " AS c") {
			_, name, _ = strings.Cut(name, " AS c")
		}
		line.WriteString(`,"c` + name + `":` + w)
	}
	require.Equal(t, "{"+line.String()[1:]+"}\n", fetch(sql, "application/x-ndjson"))
	records, err := csv.NewReader(strings.NewReader(fetch(sql, "text/csv"))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, fields, records[1])
	for format, file := range map[string]string{harness.ParquetType: "p.parquet", "application/vnd.apache.arrow.stream": "a.arrow"} {
		path := filepath.Join(t.TempDir(), file)
		require.NoError(t, os.WriteFile(path, []byte(fetch(sql, format)), 0o600))
		out, err := exec.CommandContext(t.Context(), oracletest.Python(t), "-c", readByDuckDB, path).Output()
		require.NoError(t, err, file)
		var got []*string
		require.NoError(t, json.Unmarshal(out, &got))
		for i, v := range outputTypes {
			if v.json == "null" {
				require.Nil(t, got[i])
				continue
			}
			require.NotNil(t, got[i], v.sql)
			require.Equal(t, texts[i], *got[i], "%s in %s", v.sql, file)
		}
	}
	// The order of rows and the types of columns stay.
	require.Contains(t, fetch("SELECT i::UHUGEINT AS i, 1 AS i FROM range(5000) t(i) ORDER BY t.i % 10 DESC, t.i DESC", "application/json"),
		`{"columns":[{"name":"i","type":"UHUGEINT"},{"name":"i","type":"INTEGER"}],"rows":[["4999",1],["4989",1],["4979",1]`)
	for _, v := range refusedOutputs {
		require.Contains(t, fetch("SELECT "+v.sql+" AS x", "application/json"), `"rows":[[`+v.json+`]]`, v.sql)
		for _, format := range []string{harness.ParquetType, "application/vnd.apache.arrow.stream"} {
			r := s.Admin.Call("POST", "/v1/query", object{"sql": "SELECT " + v.sql + " AS x"}, "Accept", format)
			code, _ := r.Problem(t, 422)
			require.Equal(t, "value_error", code, v.sql)
			require.Equal(t, `column "x" has `+v.column+`, which has no form in `+format+`: cast it to VARCHAR, or leave it out`,
				r.Details(t)["sql"])
		}
	}
	years := "SELECT union_value(k := 1::UTINYINT) AS x, DATE '10000-01-01' AS y, DATE '0044-03-15 (BC)' AS z"
	require.Contains(t, fetch(years, "application/json"), `"rows":[[{"k":1},"10000-01-01","-0043-03-15"]]`)
}
