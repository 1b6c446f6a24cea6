package ingest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/parquetbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// python runs a program with plain DuckDB at hand, and returns what it prints as
// JSON.
func python(tb testing.TB, into any, program string, args ...string) {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), oracletest.Python(tb), append([]string{"-c", program}, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.NoError(tb, err, string(exit.Stderr))
	}
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(out, into))
}

// TestOthersReadTheStagedFile: DuckDB finds the table's types and the rows in
// their order.
func TestOthersReadTheStagedFile(t *testing.T) {
	dir := t.TempDir()
	table := columns("b", "BOOLEAN", "i1", "TINYINT", "i2", "SMALLINT", "i4", "INTEGER", "i8", "BIGINT", "f4", "FLOAT", "f8", "DOUBLE",
		"d", "DECIMAL(38,3)", "d2", "DECIMAL(7,2)", "s", "VARCHAR", "x", "BLOB", "day", "DATE", "at", "TIMESTAMP WITH TIME ZONE",
		"local", "TIMESTAMP",
		"l", "INTEGER[]", "m", "MAP(VARCHAR, BIGINT)", "st", "STRUCT(a INTEGER, \"b c\" VARCHAR[])")
	row := `{"b":true,"i1":-1,"i2":2,"i4":3,"i8":4,"f4":0.5,"f8":0.25,"d":"12345678901234567890123456789012345.678","d2":-1.5,` +
		`"s":"é","x":"AP8=",` +
		`"day":"2024-05-06","at":"2024-05-06T07:08:09.5+02:00","local":"2024-05-06T07:08:09.000001","l":[1,null],"m":{"k":1},` +
		`"st":{"a":1,"b c":["x",null]}}`
	staged, err := ingest.Stage(t.Context(), strings.NewReader(strings.Repeat(row+"\n{}\n", 25_000)),
		ingest.Request{Format: staging.NDJSON, Columns: table, Dir: dir, ShapeColumn: "shape of row"})
	require.NoError(t, err)
	var got struct {
		Types [][]string
		Rows  [][]string
		Odd   int64
	}
	python(t, &got, `
import duckdb, json, sys
c = duckdb.connect()
c.execute("SET TimeZone = 'UTC'")
t = c.from_parquet(sys.argv[1])
print(json.dumps({
  "types": [[n, str(x)] for n, x in zip(t.columns, t.types)],
  "rows": c.execute("SELECT " + ", ".join('CAST("%s" AS VARCHAR)' % n for n in t.columns) + " FROM t LIMIT 2").fetchall(),
  "odd": c.execute("SELECT count(*) FROM read_parquet(?, file_row_number = true) WHERE (file_row_number % 2 = 1) = (b IS NULL)",
    [sys.argv[1]]).fetchone()[0],
}))`, filepath.Join(dir, staged.File))
	for i, c := range table {
		require.Equal(t, []string{c.Name, c.Type.String()}, got.Types[i])
	}
	require.Equal(t, []string{"shape of row", "INTEGER"}, got.Types[len(table)])
	require.Equal(t, []string{"true", "-1", "2", "3", "4", "0.5", "0.25", "12345678901234567890123456789012345.678", "-1.50", "é", `\x00\xFF`,
		"2024-05-06", "2024-05-06 05:08:09.5+00", "2024-05-06 07:08:09.000001", "[1, NULL]", "{k=1}",
		"{'a': 1, 'b c': [x, NULL]}", "0"}, got.Rows[0])
	require.Equal(t, append(make([]string, len(table)), "1"), got.Rows[1])
	require.EqualValues(t, 50_000, got.Odd)
}

func TestSpool(t *testing.T) {
	good := append([]byte("PAR1"), bytes.Repeat([]byte{7}, 40)...)
	good = append(good, 40, 0, 0, 0)
	good = append(good, "PAR1"...)
	dir := t.TempDir()
	staged, err := parquetbody.Spool(t.Context(), iotest.HalfReader(bytes.NewReader(good)), dir, staging.Limits{Bytes: int64(len(good))})
	require.NoError(t, err)
	require.EqualValues(t, len(good), staged.Bytes)
	kept, err := os.ReadFile(filepath.Join(dir, staged.File))
	require.NoError(t, err)
	require.Equal(t, good, kept)

	dir = t.TempDir()
	for n := range len(good) {
		_, err := parquetbody.Spool(t.Context(), bytes.NewReader(good[:n]), dir, staging.Limits{})
		require.ErrorIs(t, err, staging.ErrTruncated, n)
		requireEmpty(t, dir)
	}
	_, err = parquetbody.Spool(t.Context(), bytes.NewReader(good), dir, staging.Limits{Bytes: int64(len(good)) - 1})
	require.ErrorIs(t, err, staging.ErrTooLarge)
	for _, bad := range []string{"PARE" + string(good[4:]), "{\"rows\":[]}", "PAR1\x29\x00\x00\x00PAR1",
		"PAR1\xff\xff\xff\xffPAR1", "PAR1\x00\x00\x00\x00PAR1"} {
		_, err = parquetbody.Spool(t.Context(), strings.NewReader(bad), dir, staging.Limits{})
		var syntax *staging.SyntaxError
		require.ErrorAs(t, err, &syntax, bad)
	}
	_, err = parquetbody.Spool(t.Context(), iotest.ErrReader(os.ErrDeadlineExceeded), dir, staging.Limits{})
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	requireEmpty(t, dir)
}

// parquetCase is a column of a file, as SQL, that becomes one of a table.
type parquetCase struct {
	From, Values, To string
	// Want are the values as text, Bad the rows that do not fit.
	Want []string
	Bad  []int64
	// Message is that of the bad rows if it is not about loss; "too long" is that of long rows.
	Message string
}

var parquetCases = []parquetCase{
	{"BIGINT", "(127), (NULL), (128)", "TINYINT", nil, []int64{2}, ""},
	{"BIGINT", "(127), (NULL), (-128)", "TINYINT", []string{"127", "", "-128"}, nil, ""},
	{"UBIGINT", "(18446744073709551615), (1)", "BIGINT", nil, []int64{0}, ""},
	{"HUGEINT", "(12), (1000)", "DECIMAL(5,2)", nil, []int64{1}, ""},
	{"BIGINT", "(9007199254740992), (9007199254740993), (9223372036854775807)", "DOUBLE", nil, []int64{1, 2}, ""},
	{"DOUBLE", "('0.5'), ('0.1'), ('nan'), ('infinity'), ('1e300')", "FLOAT", nil, []int64{1, 4}, ""},
	{"FLOAT", "('0.5'), ('nan')", "DOUBLE", []string{"0.5", "nan"}, nil, ""},
	{"DECIMAL(20,4)", "(1.23), (1.2345), (123456)", "DECIMAL(6,2)", nil, []int64{1, 2}, ""},
	{"DECIMAL(4,1)", "(1.5), (-99.9)", "DECIMAL(38,20)", []string{"1.50000000000000000000", "-99.90000000000000000000"}, nil, ""},
	{"TIMESTAMP_NS", "('2024-01-01 00:00:00.000001'), ('2024-01-01 00:00:00.000000001')", "TIMESTAMP", nil, []int64{1}, ""},
	{"TIMESTAMP_S", "('2024-01-01 00:00:01')", "TIMESTAMP", []string{"2024-01-01 00:00:01"}, nil, ""},
	{"ENUM('a', 'b''c')", "('a'), ('b''c'), (NULL)", "VARCHAR", []string{"a", "b'c", ""}, nil, ""},
	{"JSON", `('{"a": [1,  2]}'), (NULL)`, "VARCHAR", []string{`{"a": [1,  2]}`, ""}, nil, ""},
	{"BIGINT[]", "([1, 127]), ([]), ([300]), (NULL)", "TINYINT[]", nil, []int64{2}, ""},
	{"MAP(VARCHAR, DECIMAL(4,2))", "(MAP {'k': 1.50}), (MAP {'k': 1.55})", "MAP(VARCHAR, DECIMAL(4,1))", nil, []int64{1}, ""},
	{"STRUCT(B BIGINT, a VARCHAR)", "({'B': 1, 'a': 'x'}), (NULL)", "STRUCT(a VARCHAR, b INTEGER, c DATE)",
		[]string{"{'a': x, 'b': 1, 'c': NULL}", ""}, nil, ""},
	{"STRUCT(B BIGINT, a VARCHAR)", "({'B': 1, 'a': 'x'}), ({'B': 5000000000, 'a': 'x'})",
		"STRUCT(a VARCHAR, b INTEGER, c DATE)", nil, []int64{1}, ""},
	{"TIMESTAMP", "('9999-12-31 23:59:59.999999'), ('0001-01-01')", "TIMESTAMP",
		[]string{"9999-12-31 23:59:59.999999", "0001-01-01 00:00:00"}, nil, ""},
	{"TIMESTAMP", "('infinity'), (NULL), ('-infinity'), ('10000-01-01'), ('0001-01-01 (BC)')", "TIMESTAMP", nil, []int64{0, 2, 3, 4},
		staging.OutsideCalendar},
	{"TIMESTAMPTZ", "('9999-12-31 23:59:59.999999+00'), ('infinity')", "TIMESTAMP WITH TIME ZONE", nil, []int64{1},
		staging.OutsideCalendar},
	{"TIMESTAMP_S", "('10000-01-01 00:00:00')", "TIMESTAMP", nil, []int64{0}, staging.OutsideCalendar},
	{"DATE", "('0001-01-01'), ('9999-12-31'), ('10000-01-01'), ('infinity')", "DATE", nil, []int64{2, 3}, staging.OutsideCalendar},
	{"STRUCT(a DATE[])", "({'a': ['2024-01-01', NULL]}), ({'a': [NULL, 'infinity']})", "STRUCT(a DATE[])", nil, []int64{1},
		staging.OutsideCalendar},
	{"MAP(VARCHAR, DATE)", "(MAP {'k': DATE '2024-01-01'}), (MAP {'k': DATE 'infinity'})", "MAP(VARCHAR, DATE)", nil, []int64{1},
		staging.OutsideCalendar},
	{"VARCHAR", "(repeat('é', 24)), (repeat('é', 25)), (NULL)", "VARCHAR", nil, []int64{1}, "too long"},
	{"VARCHAR[]", "([repeat('é', 12), repeat('é', 12)]), ([repeat('é', 12), repeat('é', 13)]), (NULL)", "VARCHAR[]", nil, []int64{1},
		"too long"},
	{"MAP(VARCHAR, BIGINT)", "(MAP {'k': 1}), (map([i::VARCHAR for i in range(6)], range(6)))", "MAP(VARCHAR, BIGINT)", nil, []int64{1},
		"too long"},
	{"STRUCT(a BLOB, b BIGINT[])", "({'a': 'abcdefgh', 'b': [1, 2, 3, 4]}), ({'a': 'abcdefghi', 'b': [1, 2, 3, 4]})",
		"STRUCT(a BLOB, b BIGINT[])", nil, []int64{1}, "too long"},
}

// TestParquetSelect: plain DuckDB runs the SQL over files that it wrote.
func TestParquetSelect(t *testing.T) {
	type job struct{ From, Values, Check, Select string }
	var jobs []job
	var queries []*parquetbody.Query
	for _, c := range parquetCases {
		q, err := parquetbody.Select("r", "pos", columns("V", c.From), nil, columns("v", c.To, "w", "INTEGER[]"), 64)
		require.NoError(t, err, c.From)
		require.Equal(t, []string{"v"}, q.Named)
		queries = append(queries, q)
		jobs = append(jobs, job{c.From, c.Values, q.Check, q.Select})
	}
	input, err := json.Marshal(jobs)
	require.NoError(t, err)
	var got []struct {
		Bad   [][]int64
		Types []string
		Rows  []string
	}
	python(t, &got, `
import duckdb, json, sys
out = []
for i, j in enumerate(json.loads(sys.argv[1])):
    c = duckdb.connect()
    f = sys.argv[2] + "/%d.parquet" % i
    c.execute("CREATE TABLE src AS SELECT v::%s AS \"V\" FROM (VALUES %s) AS s(v)" % (j["From"], j["Values"]))
    c.execute("COPY src TO '%s' (FORMAT parquet)" % f)
    c.execute("CREATE VIEW r AS SELECT \"V\"::%s AS \"V\", file_row_number AS pos FROM read_parquet('%s', file_row_number = true)"
        % (j["From"], f))
    bad = c.execute(j["Check"]).fetchall() if j["Check"] else []
    rel = c.sql(j["Select"])
    rows = [] if bad else ["" if v[0] is None else v[0] for v in c.execute("SELECT v::VARCHAR FROM (" + j["Select"] + ")").fetchall()]
    out.append({"bad": bad, "types": [str(x) for x in rel.types], "rows": rows})
print(json.dumps(out))`, string(input), t.TempDir())
	for i, c := range parquetCases {
		message := c.Message
		if message == "" {
			message = "the value does not become " + c.To + " without loss"
		}
		var rows []int64
		for _, line := range got[i].Bad {
			require.EqualValues(t, len(c.Bad), line[3], c.From)
			problem, err := queries[i].Problem(line[0], line[1], line[2])
			if message == "too long" {
				require.ErrorIs(t, err, staging.ErrTooLarge, c.From)
				require.ErrorContains(t, err, "64 row bytes")
			} else {
				require.Equal(t, staging.Problem{Row: line[0], Column: "v", Message: message}, problem, c.From)
			}
			rows = append(rows, line[0])
		}
		require.Equal(t, c.Bad, rows, c.From+" to "+c.To)
		require.Equal(t, []string{c.To, "INTEGER[]"}, got[i].Types)
		if c.Bad == nil {
			require.Equal(t, c.Want, got[i].Rows, c.From+" to "+c.To)
		}
	}
}

func TestParquetColumns(t *testing.T) {
	want := columns("a", "INTEGER", "B", "VARCHAR", "c", "TIMESTAMP WITH TIME ZONE")
	cases := []struct {
		name string
		have []engine.Column
		want []string
	}{
		{"unknown", columns("a", "INTEGER", "x", "INTEGER"), []string{"rows.x: unknown column"}},
		{"two cases of one name", columns("a", "INTEGER", "A", "INTEGER"), []string{"rows.a: is named twice"}},
		{"text for a number", columns("a", "VARCHAR"), []string{"rows.a: the type does not become INTEGER without loss"}},
		{"number for a text", columns("b", "INTEGER"), []string{"rows.B: the type does not become VARCHAR without loss"}},
		{"no zone", columns("c", "TIMESTAMP"), []string{"rows.c: the type does not become TIMESTAMP WITH TIME ZONE without loss"}},
		{"type that is not known", columns("a", "INTERVAL"), []string{"rows.a: the type does not become INTEGER without loss"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := parquetbody.Select("r", "pos", c.have, nil, want, 0)
			require.Equal(t, c.want, problems(t, err))
		})
	}
	_, err := parquetbody.Select("r", "pos", columns("x", "INTEGER", "C", "TIMESTAMP WITH TIME ZONE", "a", "INTEGER"),
		[]parquetbody.Altered{{Column: 1}}, want, 0)
	require.Equal(t, []string{"rows.x: unknown column", "rows.c: has nanoseconds; write it with microseconds"}, problems(t, err))

	q, err := parquetbody.Select("r", "pos", columns("b", "VARCHAR", "A", "INTEGER"), nil, want, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "B"}, q.Named)
	require.Equal(t, `SELECT f."A" AS "a", f."b" AS "B", NULL::TIMESTAMP WITH TIME ZONE AS "c" FROM r AS f`, q.Select)

	_, err = parquetbody.Select("r", "pos", columns("v", "INTEGER"), nil, columns("v", "VARIANT"), 0)
	require.ErrorIs(t, err, staging.ErrUnsupportedType)
	problem, err := q.Problem(7, 0, 0)
	require.NoError(t, err)
	require.Equal(t, "rows[7].a", problem.Field())
}

// Keys that occur twice in a map come from files of other writers only: DuckDB makes no such map.
func TestKeysOfParquetMapsOccurOnce(t *testing.T) {
	for of, c := range map[string]struct{ key, good, twice string }{
		"VARCHAR": {"pa.string()", `[("a", 1), ("b", 2)]`, `[("a", 1), ("a", 1)]`},
		"BIGINT":  {"pa.int64()", `[(1, 1), (2, 1)]`, `[(1, 1), (2, 1), (1, 1)]`},
		"DOUBLE":  {"pa.float64()", `[(0.0, 1), (float("nan"), 1)]`, `[(0.0, 1), (-0.0, 1)]`},
		"FLOAT":   {"pa.float32()", `[(1.5, 1)]`, `[(float("nan"), 1), (float("nan"), 1)]`},
		"BLOB":    {"pa.binary()", `[(b"a", 1)]`, `[(b"\xff", 1), (b"\xff", 2)]`},
	} {
		path := filepath.Join(t.TempDir(), "map.parquet")
		q, err := parquetbody.Select("read_parquet("+engine.QuoteString(path)+", file_row_number = true)", "file_row_number",
			columns("m", "MAP("+of+", BIGINT)"), nil, columns("m", "MAP("+of+", BIGINT)"), 1<<20)
		require.NoError(t, err)
		var got [][]int64
		python(t, &got, `
import duckdb, json, sys, pyarrow as pa, pyarrow.parquet as pq
of = pa.map_(`+c.key+`, pa.int64())
pq.write_table(pa.table({"m": pa.array([`+c.good+`, None, `+c.twice+`, []], of)}), sys.argv[1])
print(json.dumps(duckdb.sql(sys.argv[2]).fetchall()))`, path, q.Check)
		require.Len(t, got, 1, of)
		problem, err := q.Problem(got[0][0], got[0][1], got[0][2])
		require.NoError(t, err)
		require.Equal(t, staging.Problem{Row: 2, Column: "m", Message: staging.SameKey}, problem, of)
	}
}

// The columns of a schema with every kind of nesting are told by their numbers.
func TestParquetAlteredColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's.parquet")
	var got [][]int64
	python(t, &got, `
import duckdb, json, sys, pyarrow as pa, pyarrow.parquet as pq
ns, us, t = pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC"), 1704067200123456789
pair = lambda of: pa.struct([("a", pa.struct([("b", of)])), ("c", pa.list_(pa.int32()))])
value = lambda of: {"a": {"b": t if of is ns else t // 1000}, "c": [1, 2]}
table = {}
for of in (us, ns):
    at = t if of is ns else t // 1000
    table["plain" + str(of)] = pa.array([at], of)
    table["lists" + str(of)] = pa.array([[[at]]], pa.list_(pa.list_(of)))
    table["struct" + str(of)] = pa.array([value(of)], pair(of))
    table["map" + str(of)] = pa.array([[("k", value(of))]], pa.map_(pa.string(), pair(of)))
table["naive"] = pa.array([t], pa.timestamp("ns"))
table["time"] = pa.array([1], pa.time64("ns"))
table["end"] = pa.array([value(ns)], pair(ns))
table["wide"] = pa.array([[1]], pa.list_(pa.decimal256(39, 0)))
table["narrow"] = pa.array([1], pa.decimal256(38, 0))
pq.write_table(pa.table(table), sys.argv[1])
print(json.dumps(duckdb.connect().execute(sys.argv[2]).fetchall()))`, path, parquetbody.AlteredColumns(path)+` ORDER BY "column"`)
	require.Equal(t, [][]int64{{4, 0}, {5, 0}, {6, 0}, {7, 0}, {10, 0}, {11, 1}}, got)
}

// TestParquetReadInStretches: a file that is read several times at once gives each
// row once and in its place, also where the footer is wrong about how many there are,
// and where a column has the name of the engine's own for a file.
func TestParquetReadInStretches(t *testing.T) {
	dir := t.TempDir()
	plain, odd, many := filepath.Join(dir, "it's.parquet"), filepath.Join(dir, "odd.parquet"), filepath.Join(dir, "many.parquet")
	have := columns("id", "BIGINT", "s", "VARCHAR")
	named := columns("File_Index", "BIGINT")
	type read struct {
		Path, SQL string
		Serial    bool
	}
	var reads []read
	times := map[int]int{}
	relation := func(b parquetbody.Body, l engine.Lease) string {
		sql, serial := b.Relation(l)
		reads = append(reads, read{b.Path, sql, serial})
		return sql
	}
	body := func(path string, columns []engine.Column, rows, groups int64) parquetbody.Body {
		return parquetbody.Body{Path: path, Bytes: 1 << 20, Columns: columns, Rows: rows, Groups: groups}
	}
	lease := func(threads int) engine.Lease { return engine.Lease{Threads: threads, Memory: 1 << 30} }
	for _, rows := range []int64{250_000, 100_000, math.MaxInt64, -1, 0} {
		for _, threads := range []int{1, 2, 4, 64} {
			times[strings.Count(relation(body(plain, have, rows, 1), lease(threads)), "it''s.parquet'")]++
		}
	}
	// Of few rows, for few threads and beside many row groups, it is read once.
	require.Equal(t, map[int]int{1: 2*4 + 3*2, 3: 3 * 2}, times)
	require.NotContains(t, relation(body(many, have, 250_000, 9), lease(4)), "CASE")
	require.NotContains(t, relation(body(odd, named, 250_000, 1), lease(4)), "CASE")
	require.NotContains(t, relation(body(plain, have, 250_000, 1), engine.Lease{Threads: 4, Memory: 16 << 20}), "CASE",
		"of memory there is enough for one")
	require.False(t, reads[len(reads)-3].Serial, "of many row groups several threads read some")
	request, err := json.Marshal(reads)
	require.NoError(t, err)
	var got struct {
		Description [][]int64
		Types       []string
		Wrong       []int
	}
	python(t, &got, `
import duckdb, json, sys
c = duckdb.connect()
c.execute("SET threads = 4")
plain, odd, many, reads, description = sys.argv[1:]
c.sql("SELECT range AS id, 'row ' || range AS s FROM range(250000)").write_parquet(plain, row_group_size=1000000)
c.sql("SELECT range AS id, 'row ' || range AS s FROM range(250000)").write_parquet(many, row_group_size=28000)
c.sql("SELECT range AS File_Index FROM range(250000)").write_parquet(odd, row_group_size=1000000)
wrong = []
for r in json.loads(reads):
    c.execute("SET preserve_insertion_order = " + str(not r["Serial"]))
    c.execute("COPY (SELECT * EXCLUDE (file_row_number) FROM " + r["SQL"]
        + ") TO '" + sys.argv[2] + "-copy' (FORMAT parquet, ROW_GROUP_SIZE 32768)")
    copied = "read_parquet('" + odd + "-copy', file_row_number = true)"
    first = c.sql("SELECT * FROM " + copied + " LIMIT 0").columns[0]
    wrong.append(c.execute('SELECT abs(count(*) - 250000) + count(*) FILTER ("' + first + '" <> file_row_number) FROM '
        + copied).fetchone()[0])
d = c.execute(description)
print(json.dumps({"description": [r[:2] for r in d.fetchall()], "types": [str(x[1]) for x in d.description], "wrong": wrong}))`,
		plain, odd, many, string(request), parquetbody.Description(plain))
	require.Equal(t, make([]int, len(reads)), got.Wrong)
	require.Equal(t, [][]int64{{250_000, 1}}, got.Description)
	require.Len(t, got.Types, 2+len(have))
}
