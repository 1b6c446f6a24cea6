package duckdb_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// encodedColumn is a column whose values a filter has to find in every encoding.
type encodedColumn struct {
	name, typ string
	values    []string
	// absent are constants that no row has.
	absent []string
}

var encodedColumns = []encodedColumn{
	{"bo", "BOOLEAN", []string{"true", "false"}, nil},
	{"b", "TINYINT", []string{"-128", "0", "127"}, []string{"1"}},
	{"sh", "SMALLINT", []string{"-32768", "0", "32767"}, []string{"255"}},
	{"n", "INTEGER", []string{"-2147483648", "0", "2147483647"}, []string{"-1"}},
	{"l", "BIGINT", []string{"-9223372036854775808", "0", "9223372036854775807", "9007199254740993"}, []string{"9007199254740992"}},
	{"f", "FLOAT", []string{"0.0", "-0.0", "1.5", "'NaN'", "1.5"}, []string{"'Infinity'", "'-Infinity'", "1.25"}},
	{"d", "DOUBLE", []string{"0.5", "1.0", "'NaN'", "-0.0", "0.1"}, []string{"'Infinity'", "2.0", "0.0"}},
	{"dz", "DOUBLE", []string{"-0.0", "-0.0", "'NaN'"}, []string{"0.0"}},
	{"di", "DOUBLE", []string{"'-Infinity'", "'Infinity'", "'NaN'"}, []string{"0.0"}},
	{"d5", "DECIMAL(5,2)", []string{"-999.99", "0.00", "999.99"}, []string{"0.01"}},
	{"d18", "DECIMAL(18,2)", []string{"-9999999999999999.99", "0.01", "9999999999999999.99"}, []string{"0.02"}},
	{"d38", "DECIMAL(38,10)", []string{"-9999999999999999999999999999.9999999999", "0.0000000001", "18446744073709551616"},
		[]string{"18446744073709551617"}},
	{"s", "VARCHAR", []string{"''", "'a'", "'\u00e9'", "repeat('z', 300)", "repeat('\U0010ffff', 100)", "'a' || chr(0)"},
		[]string{"repeat('z', 32)", "'\u00ea'", "chr(0)"}},
	{"k", "BLOB", []string{"''::BLOB", "from_hex('ff')", "from_hex('00')", "from_hex('80')", "'abc'::BLOB", "from_hex('ffff')",
		"from_hex('5c784646')"}, []string{"from_hex('fe')", "from_hex('5c')"}},
	{"dt", "DATE", []string{"'0001-01-01'", "'1970-01-01'", "'9999-12-31'"}, []string{"'1969-12-31'"}},
	{"ts", "TIMESTAMPTZ", []string{"'0001-01-01 00:00:00+00'", "'2000-01-01 00:00:00.000001+00'", "'9999-12-31 23:59:59.999999+00'"},
		[]string{"'2000-01-01 00:00:00+00'"}},
	{"tn", "TIMESTAMP", []string{"'0001-01-01 00:00:00'", "'1969-12-31 23:59:59.999999'", "'9999-12-31 23:59:59.999999'"},
		[]string{"'1970-01-01 00:00:00'"}},
}

// encodedRows returns a query for rows with the number i of which each column has all of its
// values and one NULL; dz has no NULL. Three columns hold values inside others.
func encodedRows() string {
	rows := 0
	for _, c := range encodedColumns {
		rows = max(rows, len(c.values)+1)
	}
	selects := make([]string, rows)
	for i := range selects {
		items := []string{fmt.Sprintf("%d::BIGINT AS i", i)}
		for _, c := range encodedColumns {
			value := "NULL"
			if i < len(c.values) || c.name == "dz" {
				value = c.values[i%len(c.values)]
			}
			items = append(items, "CAST("+value+" AS "+c.typ+") AS "+c.name)
		}
		selects[i] = "SELECT " + strings.Join(items, ", ")
	}
	return "SELECT *, {'k': k, 'd': d} AS st, [k] AS lk, [d] AS ld FROM (" + strings.Join(selects, " UNION ALL ") + ")"
}

// writeEncodings writes the rows of a query as tables in many encodings, each into a folder of
// its own, by delta-rs and by pyarrow.
const writeEncodings = `
import json, os, sys
import duckdb, pyarrow as pa, pyarrow.parquet as pq
from deltalake import write_deltalake, WriterProperties, BloomFilterProperties, ColumnProperties, DeltaTable
from deltalake.transaction import AddAction, create_table_with_add_actions
root, sql = sys.argv[1], sys.stdin.read()
con = duckdb.connect()
con.execute("SET TimeZone = 'UTC'")
rows = con.sql(sql).to_arrow_table()
many = con.sql("SELECT t.* FROM (" + sql + ") AS t, range(100)").to_arrow_table()
flat = [n for n in rows.column_names if n not in ("st", "lk", "ld")]

bloom = ColumnProperties(bloom_filter_properties=BloomFilterProperties(True))
for name, table, properties in [
    ("rs", rows, WriterProperties()),
    ("rs-many", many, WriterProperties(statistics_truncate_length=4)),
    ("rs-groups", rows, WriterProperties(max_row_group_size=2, data_page_row_count_limit=1)),
    ("rs-bloom", many, WriterProperties(default_column_properties=bloom)),
    ("rs-plain", many, WriterProperties(default_column_properties=ColumnProperties(dictionary_enabled=False))),
]:
    write_deltalake(os.path.join(root, name), table, writer_properties=properties)
for i in range(rows.num_rows):
    write_deltalake(os.path.join(root, "rs-files"), rows.slice(i, 1), mode="append")

dt = DeltaTable(os.path.join(root, "rs"))
deltas = {"DELTA_BINARY_PACKED": ["b", "sh", "n", "l", "dt", "ts", "tn"], "DELTA_BYTE_ARRAY": ["s", "k"],
    "DELTA_LENGTH_BYTE_ARRAY": ["s", "k"],
    "BYTE_STREAM_SPLIT": ["f", "d", "dz", "di"], "RLE": ["bo"]}
for name, table, options in [
    ("pa", rows, {}),
    ("pa-v1", rows, {"version": "1.0"}),
    ("pa-plain", rows, {"use_dictionary": False}),
    ("pa-unknown", rows, {"write_statistics": False}),
    ("pa-pages", many, {"data_page_size": 1, "write_page_index": True, "data_page_version": "2.0", "write_batch_size": 8}),
    ("pa-group", rows, {"row_group_size": 1}),
    ("pa-groups", rows, {"row_group_size": 2, "use_dictionary": flat}),
    ("pa-int96", rows, {"use_deprecated_int96_timestamps": True}),
    ("pa-decimal", rows, {"store_decimal_as_integer": True}),
    ("pa-bloom", many, {"bloom_filter_options": {c: {} for c in flat if c != "bo"}}),
    *[("pa-" + e, rows, {"use_dictionary": False, "column_encoding": {c: e for c in columns}}) for e, columns in deltas.items()],
]:
    dir = os.path.join(root, name)
    os.mkdir(dir)
    path = os.path.join(dir, "data.parquet")
    pq.write_table(table, path, **options)
    add = AddAction("data.parquet", os.path.getsize(path), {}, 1, True, json.dumps({"numRecords": table.num_rows}))
    create_table_with_add_actions(dir, dt.schema(), [add])
os._exit(0)  # the extension's threads may abort an orderly exit
`

// encodedConditions returns conditions about a column, of every operator and with constants
// that rows have and have not.
func encodedConditions(c encodedColumn, place string) []string {
	var out []string
	constants := slices.Concat(c.values, c.absent)
	for n, v := range constants {
		v = "CAST(" + v + " AS " + c.typ + ")"
		other := "CAST(" + constants[(n+1)%len(constants)] + " AS " + c.typ + ")"
		for _, op := range []string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"} {
			out = append(out, place+" "+op+" "+v)
		}
		out = append(out, place+" IN ("+v+", "+other+")", place+" NOT IN ("+v+", "+other+")", place+" BETWEEN "+v+" AND "+other,
			"NOT "+place+" = "+v, place+" = "+v+" OR i = 1", place+" IN (SELECT "+v+")",
			"EXISTS (SELECT 1 FROM (SELECT "+v+" AS v) WHERE v = "+place+")")
	}
	return append(out, place+" IS NULL", place+" IS NOT NULL",
		place+" = (SELECT max("+place+") FROM t )", place+" = (SELECT min("+place+") FROM t )",
		"i IN (SELECT i FROM t ORDER BY "+place+" DESC NULLS LAST, i LIMIT 1)", "i IN (SELECT i FROM t ORDER BY "+place+" NULLS LAST, i LIMIT 1)")
}

// A filter finds the rows that it finds among the values themselves, whatever statistics,
// dictionaries and Bloom filters a file has, and however the table is read.
func TestFiltersFindTheirRowsInEveryEncoding(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	script := filepath.Join(t.TempDir(), "write.py")
	require.NoError(t, os.WriteFile(script, []byte(writeEncodings), 0o600))
	cmd := exec.CommandContext(t.Context(), oracletest.Python(t), script, root)
	cmd.Stdin, cmd.Stderr = strings.NewReader(encodedRows()), os.Stderr
	require.NoError(t, cmd.Run())
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	own := scratchSession{session, scratch}
	writeOwnEncoding(t, root, "own", own, encodedRows(), engine.FileLayout{})
	writeOwnEncoding(t, root, "own-many", own, "SELECT t.* FROM ("+encodedRows()+") AS t, range(100)", engine.FileLayout{Ordered: true})

	// A common table expression that occurs often would be computed first, without the conditions.
	ask := func(from string, conditions []string, sources ...engine.Source) []string {
		selects := make([]string, len(conditions))
		for n, condition := range conditions {
			selects[n] = fmt.Sprintf("SELECT %d AS n, list(DISTINCT i ORDER BY i)::VARCHAR AS rows FROM t WHERE %s", n, condition)
		}
		sql := strings.ReplaceAll(strings.Join(selects, " UNION ALL ")+" ORDER BY n", "FROM t ", "FROM "+from+" AS t ")
		return enginetest.Rows(t, session, engine.Statement{SQL: sql, Sources: sources})
	}
	var sources []engine.Source
	tables, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, table := range tables {
		bucket, err := file.New(filepath.Join(root, table.Name()))
		require.NoError(t, err)
		snap, err := delta.Load(t.Context(), bucket, delta.Options{})
		require.NoError(t, err)
		var columns []engine.Column
		for _, f := range snap.Schema().Fields {
			columns = append(columns, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
		}
		src := engine.Source{Location: filepath.Join(root, table.Name()), Version: snap.Version(), Identity: table.Name()}
		if slices.Contains([]string{"rs", "rs-many", "rs-files", "rs-bloom", "pa-group"}, table.Name()) {
			sources = append(sources, src) // through its log
		}
		files, ok := pruning.List(snap, columns, engine.Condition{})
		require.True(t, ok)
		src.Files = files
		sources = append(sources, src)
	}
	places := map[string]string{}
	columns := slices.Clone(encodedColumns)
	for _, c := range encodedColumns {
		places[c.name] = c.name
		for _, inside := range map[string][]string{"k": {"st.k", "lk[1]"}, "d": {"st.d", "ld[1]"}}[c.name] {
			nested := c
			nested.name, nested.absent = inside, nil
			places[inside] = inside
			columns = append(columns, nested)
		}
	}
	share := 1
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		share = 16 // tables divide the conditions among them
	}
	for _, c := range columns {
		all := encodedConditions(c, places[c.name])
		want := ask("("+encodedRows()+")", all)
		require.Len(t, want, len(all))
		for of, src := range sources {
			var conditions, expected []string
			for n, condition := range all {
				if n%share == of%share {
					conditions = append(conditions, condition)
					_, rows, _ := strings.Cut(want[n], "|")
					expected = append(expected, rows)
				}
			}
			for n, got := range ask(src.Relation(), conditions, src) {
				_, got, _ = strings.Cut(got, "|")
				require.Equal(t, expected[n], got, "%s, as a list: %v: %s", src.Identity, src.Files != nil, conditions[n])
			}
		}
	}
}

// writeOwnEncoding writes the rows of a query as the server does, with the log of another writer.
func writeOwnEncoding(t *testing.T, root, name string, session scratchSession, rows string, layout engine.FileLayout) {
	t.Helper()
	files, err := session.Session.(engine.Writer).Write(t.Context(),
		engine.WriteStatement{Statement: engine.Statement{SQL: rows}, Layout: layout})
	require.NoError(t, err)
	log := filepath.Join(root, name, "_delta_log")
	require.NoError(t, os.MkdirAll(log, 0o755))
	text, err := os.ReadFile(filepath.Join(root, "pa", "_delta_log", fmt.Sprintf("%020d.json", 0)))
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `{"add"`) {
			lines = append(lines, line)
		}
	}
	for _, f := range files {
		require.NoError(t, os.Rename(filepath.Join(session.dir, f.Name), filepath.Join(root, name, f.Name)))
		add, err := json.Marshal(map[string]any{"add": map[string]any{"path": f.Name, "partitionValues": map[string]string{}, "size": f.Bytes,
			"modificationTime": 1, "dataChange": true, "stats": fmt.Sprintf(`{"numRecords":%d}`, f.Rows)}})
		require.NoError(t, err)
		lines = append(lines, string(add)+"\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(log, fmt.Sprintf("%020d.json", 0)), []byte(strings.Join(lines, "")), 0o600))
}
