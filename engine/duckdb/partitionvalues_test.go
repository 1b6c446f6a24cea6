package duckdb_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// partitionCases holds texts of partition values by type, each with SQL for the value that
// Spark reads. If kernel is true, delta-rs reads the same value.
var partitionCases = map[string][]struct {
	text, sql string
	kernel    bool
}{
	"double": {
		{"NaN", "'NaN'::DOUBLE", true}, {"Infinity", "'inf'::DOUBLE", true}, {"-Infinity", "'-inf'::DOUBLE", true},
		{"-0.0", "-0.0::DOUBLE", true}, {"0.0", "0::DOUBLE", true},
		{"1.0E10", "1e10::DOUBLE", true}, {"4.9E-324", "5e-324::DOUBLE", true},
		{"1.7976931348623157E308", "1.7976931348623157e308::DOUBLE", true}, {"0.1", "0.1::DOUBLE", true}, {" 2.5d", "2.5::DOUBLE", false},
	},
	"float": {{"NaN", "'NaN'::FLOAT", true}, {"0.1", "0.1::FLOAT", true}, {"16777217", "16777216::FLOAT", true},
		{"-Infinity", "'-inf'::FLOAT", true}, {"3.5E38", "'inf'::FLOAT", true}, {"1.0E-45", "1e-45::FLOAT", true}},
	"binary": {{"abc", "'abc'::BLOB", true}, {"\x00\x01b", `'\x00\x01b'::BLOB`, true}, {"ÿ", `'\xC3\xBF'::BLOB`, true},
		{`a\x41'`, `'a\x5Cx41\x27'::BLOB`, true}},
	"date": {
		{"2024-02-29", "make_date(2024, 2, 29)", true}, {"0001-01-01", "make_date(1, 1, 1)", true},
		{"9999-12-31", "make_date(9999, 12, 31)", true}, {"+12345-06-07", "make_date(12345, 6, 7)", true},
		{"12345-06-08", "make_date(12345, 6, 8)", false},
		{"-0043-03-15", "make_date(-43, 3, 15)", true}, {"2024-3-1", "make_date(2024, 3, 1)", true},
	},
	"timestamp": {
		{"2024-01-02 03:04:05.678901", "make_timestamptz(1704164645678901)", true},
		{"2024-01-03T03:04:05.500000Z", "make_timestamptz(1704251045500000)", true},
		{"2024-01-04T03:04:05+02:00", "make_timestamptz(1704330245000000)", true},
		{"0001-01-01 00:00:00", "make_timestamptz(-62135596800000000)", true},
		{"+12345-01-01 00:00:00.5", "make_timestamptz(327403382400500000)", true}, {"2024-01-05", "make_timestamptz(1704412800000000)", false},
		{"-0043-03-15 01:02:03.000001", "make_timestamptz(-63517820276999999)", true},
	},
	"timestamp_ntz": {
		{"2024-01-02 03:04:05.678901", "make_timestamp(1704164645678901)", true},
		{"2024-01-03T03:04:05.5", "make_timestamp(1704251045500000)", false},
		{"2024-01-04T03:04:05+02:00", "make_timestamp(1704337445000000)", false},
		{"0001-01-01 00:00:00", "make_timestamp(-62135596800000000)", true},
		{"+12345-01-01 00:00:00.5", "make_timestamp(327403382400500000)", true},
	},
	"decimal(10,2)": {{"5", "5.00::DECIMAL(10,2)", false}, {"-5.10", "-5.10::DECIMAL(10,2)", false},
		{"5.10", "5.10::DECIMAL(10,2)", true}, {"1E+2", "100::DECIMAL(10,2)", false}, {"1.255", "1.26::DECIMAL(10,2)", false}},
	"decimal(38,0)": {{strings.Repeat("9", 38), strings.Repeat("9", 38) + "::DECIMAL(38,0)", true}, {"0E-7", "0::DECIMAL(38,0)", false}},
	"boolean":       {{"true", "true", true}, {"F", "false", false}},
	"long":          {{"9223372036854775807", "9223372036854775807::BIGINT", true}, {"+5", "5::BIGINT", true}, {"6.9", "6::BIGINT", false}},
	"byte":          {{"-128", "(-128)::TINYINT", true}},
	"string":        {{"a'b\\", `'a''b\'`, true}, {" ", "' '", true}, {"NaN", "'NaN'", true}},
}

// partitionTable writes a table with the partition column p of type typ, with a file for
// each text and one for NULL. The id of a row is the number of its text.
func partitionTable(t *testing.T, dir, content, typ string, mapped bool, texts []string) *delta.Snapshot {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o755))
	field := func(name, typ string, id int) map[string]any {
		f := map[string]any{"name": name, "type": typ, "nullable": true, "metadata": map[string]any{}}
		if mapped {
			f["metadata"] = map[string]any{"delta.columnMapping.id": id, "delta.columnMapping.physicalName": "stored_" + name}
		}
		return f
	}
	text := func(v any) string {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return string(b)
	}
	var reader, properties []string
	configuration := map[string]any{}
	if typ == "timestamp_ntz" {
		reader = append(reader, "timestampNtz")
	}
	stored := "p"
	if mapped {
		reader, stored = append(reader, "columnMapping"), "stored_p"
		configuration = map[string]any{"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
	}
	protocol := map[string]any{"minReaderVersion": 1, "minWriterVersion": 2}
	if reader != nil {
		protocol = map[string]any{"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": reader,
			"writerFeatures": append(properties, reader...)}
	}
	lines := []string{
		text(map[string]any{"protocol": protocol}),
		text(map[string]any{"metaData": map[string]any{
			"id": "p-" + typ, "format": map[string]any{"provider": "parquet", "options": map[string]any{}},
			"partitionColumns": []string{"p"}, "configuration": configuration,
			"schemaString": text(map[string]any{"type": "struct", "fields": []any{field("id", "long", 1), field("p", typ, 2)}}),
		}}),
	}
	for i, value := range append(texts, "") {
		name := fmt.Sprintf("%d.parquet", i)
		body, err := os.ReadFile(filepath.Join(content, strconv.FormatBool(mapped), name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), body, 0o600))
		lines = append(lines, text(map[string]any{"add": map[string]any{
			"path": name, "partitionValues": map[string]any{stored: value}, "size": len(body), "modificationTime": 1,
			"dataChange": true, "stats": `{"numRecords":1}`,
		}}))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", 0)), []byte(strings.Join(lines, "\n")), 0o600))
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	return snap
}

// partitionContent writes files of one row each, whose id is the number of the file, with
// the column names of plain and of mapped tables.
func partitionContent(t *testing.T, session scratchSession) string {
	t.Helper()
	dir := t.TempDir()
	for mapped, name := range map[bool]string{false: "id", true: "stored_id"} {
		into := filepath.Join(dir, strconv.FormatBool(mapped))
		require.NoError(t, os.MkdirAll(into, 0o755))
		for i := range 16 {
			files, err := session.Session.(engine.Writer).Write(t.Context(),
				engine.WriteStatement{Statement: engine.Statement{SQL: fmt.Sprintf("SELECT %d::BIGINT AS %s", i, name)}})
			require.NoError(t, err)
			require.NoError(t, os.Rename(filepath.Join(session.dir, files[0].Name), filepath.Join(into, fmt.Sprintf("%d.parquet", i))))
		}
	}
	return dir
}

// kernelPartitions is a program that prints the partition values of tables as delta-rs
// reads them, row by row, in lossless forms.
const kernelPartitions = `
import json, os, struct, sys
from deltalake import DeltaTable, QueryBuilder
import pyarrow as pa
out = {}
for dir in sys.argv[1:]:
    rows = {}
    table = pa.table(QueryBuilder().register("t", DeltaTable(dir)).execute("SELECT id, p FROM t"))
    column = table.column("p")
    t = column.type
    if pa.types.is_dictionary(t): column, t = column.cast(t.value_type), t.value_type
    if pa.types.is_timestamp(t): column = column.cast(pa.timestamp("us")).cast(pa.int64())
    if pa.types.is_date(t): column = column.cast(pa.int32())
    for i, v in zip(table.column("id").to_pylist(), column.to_pylist()):
        if isinstance(v, float): v = "NaN" if v != v else v.hex()
        if isinstance(v, bytes): v = v.hex()
        rows[str(i)] = None if v is None else str(v)
    out[dir] = rows
print(json.dumps(out), flush=True)
os._exit(0)
`

// TestPartitionValuesAreThoseOfSpark reads tables with every form of partition values as
// lists: as a whole, under filters, and as delta-rs reads them.
func TestPartitionValuesAreThoseOfSpark(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	content := partitionContent(t, scratchSession{session, scratch})
	python := oracletest.Python(t)
	// The lossless forms, as the program prints them.
	form := func(typ string) string {
		switch typ {
		case "binary":
			return "lower(hex(p))"
		case "timestamp", "timestamp_ntz":
			return "epoch_us(p)::VARCHAR"
		case "date":
			return "(p - DATE '1970-01-01')::VARCHAR"
		case "boolean":
			return "CASE WHEN p THEN 'True' ELSE 'False' END"
		}
		return "p::VARCHAR"
	}
	n := 0
	var dirs []string
	var judges []func(t *testing.T, theirs map[string]*string)
	for typ, cases := range partitionCases {
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, mapped %v", typ, mapped), func(t *testing.T) {
				var texts []string
				for _, c := range cases {
					texts = append(texts, c.text)
				}
				n++
				dir := filepath.Join(root, strconv.Itoa(n))
				snap := partitionTable(t, dir, content, typ, mapped, texts)
				require.NoError(t, pruning.Check(snap))
				var columns []engine.Column
				for _, f := range snap.Schema().Fields {
					columns = append(columns, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
				}
				source := engine.Source{Location: dir, Identity: "p"}
				ask := func(t *testing.T, list *engine.FileList, sql string) []string {
					t.Helper()
					src := source
					src.Files = list
					return enginetest.Rows(t, session, engine.Statement{SQL: "WITH t AS (FROM " + src.Relation() + ") " + sql,
						Sources: []engine.Source{src}})
				}
				whole, ok := pruning.List(snap, columns, engine.Condition{})
				require.True(t, ok)
				same := "(p IS NOT DISTINCT FROM (%[1]s))"
				if typ == "double" || typ == "float" {
					same = "(p IS NOT DISTINCT FROM (%[1]s) AND signbit(p) = signbit(%[1]s))"
				}
				for i, c := range cases {
					require.Equal(t, []string{"true"}, ask(t, whole,
						fmt.Sprintf("SELECT "+same+"::VARCHAR FROM t WHERE id = %d", c.sql, i)), "%q as a value", c.text)
					require.Contains(t, ask(t, whole, "SELECT id FROM t WHERE p = ("+c.sql+")"), strconv.Itoa(i), "%q in a filter", c.text)
				}
				null := strconv.Itoa(len(cases))
				for op, want := range map[engine.ConditionOp]bool{engine.ConditionIsNull: true, engine.ConditionIsNotNull: false} {
					list, ok := pruning.List(snap, columns, engine.Condition{Op: op, Column: "p"})
					require.True(t, ok)
					ids := ask(t, list, "SELECT id FROM t")
					require.Equal(t, want, len(ids) == 1 && ids[0] == null, "%v", ids)
				}

				var read []int
				texts = nil
				for i, c := range cases {
					if c.kernel {
						read, texts = append(read, i), append(texts, c.text)
					}
				}
				if mapped || len(read) == 0 {
					return
				}
				dir = filepath.Join(root, "kernel "+typ)
				partitionTable(t, dir, content, typ, false, texts)
				dirs = append(dirs, dir)
				judges = append(judges, func(t *testing.T, theirs map[string]*string) {
					t.Helper()
					for at, i := range read {
						what := fmt.Sprintf("%s %q", typ, cases[i].text)
						value := theirs[strconv.Itoa(at)]
						require.NotNil(t, value, what)
						ours := ask(t, whole, fmt.Sprintf("SELECT %s FROM t WHERE id = %d", form(typ), i))
						if typ == "double" || typ == "float" {
							require.Equal(t, hexFloat(t, *value, 64), hexFloat(t, ours[0], map[string]int{"double": 64, "float": 32}[typ]), what)
							continue
						}
						require.Equal(t, []string{*value}, ours, what)
					}
				})
			})
		}
	}
	script := filepath.Join(t.TempDir(), "read.py")
	require.NoError(t, os.WriteFile(script, []byte(kernelPartitions), 0o600))
	cmd := exec.CommandContext(t.Context(), python, append([]string{script}, dirs...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var rows map[string]map[string]*string
	require.NoError(t, json.Unmarshal(out, &rows))
	for i, judge := range judges {
		judge(t, rows[dirs[i]])
	}
}

func hexFloat(t *testing.T, text string, bits int) string {
	t.Helper()
	f, err := strconv.ParseFloat(text, bits)
	require.NoError(t, err)
	return strconv.FormatFloat(f, 'x', -1, 64)
}
