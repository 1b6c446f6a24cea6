package worlds_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// worldTable is a Delta table that is written file by file, so that two worlds
// can differ in every physical property and agree on the visible rows.
type worldTable struct {
	name        string
	partitionBy []string
	columns     []column
	// commits holds the files of each version, as SELECTs.
	commits [][]worldFile
}

type worldFile struct {
	sql      string
	rowGroup int64
	// pad enlarges the file by that many bytes, which no reader needs.
	pad int64
	// gone reports that the next commit removes the file.
	gone bool
}

// worldColumns are the types that the lake knows. Each occurs as v_… (a sound
// value in visible rows) and as x_… (NULL in visible rows, so that any error of
// an expression over it can only come from a hidden row).
var worldColumns = []struct{ name, typ, sound, mild, wild string }{
	{"b", "boolean", "i % 2 = 0", "i % 3 = 0", "[true, false, NULL][1 + i % 3]"},
	{"i8", "byte", "i % 20", "i % 20", "[127, -128, 0, NULL][1 + i % 4]"},
	{"i16", "short", "i % 300", "i % 300", "[32767, -32768, 0, -1][1 + i % 4]"},
	{"i32", "integer", "i % 9", "i % 9", "[2147483647, -2147483648, 0, -1, 64, 1114112][1 + i % 6]"},
	{"i64", "long", "i", "i", "[9223372036854775807, -9223372036854775808, 0, -1, 4611686018427387904, 70][1 + i % 6]"},
	{"f32", "float", "i / 4", "i / 4", "['NaN'::FLOAT, 'inf', '-inf', 3.4e38, 0][1 + i % 5]"},
	{"f64", "double", "i / 8", "i / 8", "['NaN'::DOUBLE, 'inf', '-inf', 1.7e308, -1.7e308, 0, -1][1 + i % 7]"},
	{"dec", "decimal(18,4)", "(i / 16)::DECIMAL(18,4)", "(i / 16)::DECIMAL(18,4)",
		"(['99999999999999.9999', '-99999999999999.9999', '0', NULL]::DECIMAL(18,4)[])[1 + i % 4]"},
	{"d", "date", "DATE '2020-01-01' + (i % 99)::INT", "DATE '2020-01-01' + (i % 99)::INT",
		"[DATE '9999-12-31', DATE '0001-01-01', DATE '1970-01-01', NULL][1 + i % 4]"},
	{"ts", "timestamp", "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i % 999)", "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i % 999)",
		"[TIMESTAMPTZ '9999-12-31 23:59:59.999999+00', TIMESTAMPTZ '0001-01-01 00:00:00+00', NULL][1 + i % 3]"},
	{"s", "string", "['day', '1', 'a b c', '2020-01-01', '{\"a\": 1}', '{}', 'x,y', 'ä€'][1 + i % 8]",
		"['day', '1', 'hour', '2020-01-02', '{}'][1 + i % 5]",
		"['" + harness.Canary + "s' || i, '', '(', '[', '%', '\\', '99999999999999999999', '2020-13-45 99:99', '{bad', 'NaN', repeat('z', " +
			"3000), '" + harness.Canary + "', '-', 'nan%Y%', '=', 'a\U0001F600'][1 + i % 16]"},
	{"bin", "binary", "encode('b' || i % 7)", "encode('c' || i % 7)", "['\\xFF\\x00\\xC3'::BLOB, ''::BLOB, encode('" + harness.Canary +
		"'), NULL][1 + i % 4]"},
	{"ls", "array<string>", "['a' || i % 5, 'b', NULL]", "['c' || i % 5, 'b']", "[['" + harness.Canary +
		"l' || i, '(', NULL], [], [NULL], NULL, ['99999999999999999999', repeat('y', 300)]][1 + i % 5]"},
	{"li", "array<integer>", "[i % 5, 2, 1]", "[i % 5, 3, 1]", "[[2147483647, 2147483647, NULL], [], NULL, [-2147483648, 0], [NULL], [1, 2, " +
		"3, 4]][1 + i % 6]"},
	{"st", "struct<a:integer,b:string>", "{'a': i % 5, 'b': 'b' || i % 3}", "{'a': i % 5, 'b': 'c' || i % 3}", "[{'a': 2147483647, 'b': '" +
		harness.Canary + "t'}, {'a': NULL, 'b': '('}, NULL][1 + i % 3]"},
	{"mp", "map<string,integer>", "MAP {'a': i % 5, 'b': 2}", "MAP {'a': i % 5, 'c': 2}", "[MAP {'" + harness.Canary +
		"m': 2147483647}, MAP {}, NULL][1 + i % 3]"},
}

// worldSchema lists the columns of the generated tables.
func worldSchema() []column {
	out := []column{{"id", "long"}, {"tenant", "string"}, {"grp", "integer"}}
	for _, c := range worldColumns {
		out = append(out, column{"v_" + c.name, c.typ}, column{"x_" + c.name, c.typ})
	}
	return out
}

// visibleRows are rows from up to below to that the caller sees; hiddenRows are
// rows of other tenants, of mild or wild values.
func visibleRows(from, to int) string {
	items := "i::BIGINT AS id, 'a' AS tenant, (i % 7)::INT AS grp"
	for _, c := range worldColumns {
		items += fmt.Sprintf(", (%s) AS v_%s, NULL AS x_%s", c.sound, c.name, c.name)
	}
	return fmt.Sprintf("SELECT %s FROM range(%d, %d) r(i)", items, from, to)
}

func hiddenRows(from, to int, wild bool) string {
	tenant, id := "['b', 'c'][1 + i % 2]", "i"
	if wild {
		tenant, id = "['"+harness.Canary+"b', 'c', NULL, 'A', ''][1 + i % 5]", "[i, -i, 9223372036854775807, 0][1 + i % 4]"
	}
	items := id + "::BIGINT AS id, " + tenant + " AS tenant, (i % 7)::INT AS grp"
	for _, c := range worldColumns {
		value := c.mild
		if wild {
			value = c.wild
		}
		items += fmt.Sprintf(", (%s) AS v_%s, (%s) AS x_%s", value, c.name, value, c.name)
	}
	return fmt.Sprintf("SELECT %s FROM range(%d, %d) r(i)", items, from, to)
}

func union(parts ...string) string { return strings.Join(parts, " UNION ALL ") }

// worldTables are the tables of a world. The mild world holds hidden rows like
// the visible ones; the wild one holds others, more, elsewhere, and of every
// extreme.
func worldTables(wild bool) []worldTable {
	t := worldTable{name: "t", columns: worldSchema()}
	p := worldTable{name: "p", columns: worldSchema(), partitionBy: []string{"tenant"}}
	if wild {
		t.commits = [][]worldFile{
			{{sql: hiddenRows(5000, 5900, true)}, {sql: union(visibleRows(0, 150), hiddenRows(0, 700, true)), rowGroup: 2048},
				{sql: hiddenRows(9000, 9050, true), gone: true}},
			{{sql: union(hiddenRows(700, 1400, true), visibleRows(150, 300), hiddenRows(1400, 1500, true))}, {sql: hiddenRows(3000, 3001, true)}},
		}
		p.commits = [][]worldFile{
			{{sql: hiddenRows(0, 1500, true)}, {sql: visibleRows(0, 200)}},
			{{sql: hiddenRows(1500, 1600, true)}, {sql: visibleRows(200, 300)}},
		}
	} else {
		t.commits = [][]worldFile{
			{{sql: union(visibleRows(0, 150), hiddenRows(1000, 1020, false))}},
			{{sql: union(visibleRows(150, 300), hiddenRows(1020, 1040, false))}},
		}
		p.commits = [][]worldFile{
			{{sql: visibleRows(0, 200)}, {sql: hiddenRows(1000, 1030, false)}},
			{{sql: visibleRows(200, 300)}},
		}
	}
	m := t
	m.name = "m"
	dim := worldTable{name: "dim", columns: []column{{"g", "integer"}, {"name", "string"}},
		commits: [][]worldFile{{{sql: "SELECT i::INT AS g, 'g' || i AS name FROM range(7) r(i)"}}}}
	return []worldTable{t, p, m, dim}
}

// Write makes the table below root. Ids and times are the same in every world.
func (w worldTable) Write(t testing.TB, root string) {
	t.Helper()
	ctx := t.Context()
	dir := filepath.Join(root, w.name)
	bucket, err := file.Create(dir)
	require.NoError(t, err)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := 0
	opts := delta.Options{
		Clock: func() time.Time { return start },
		NewID: func() string { ids++; return uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%s %d", w.name, ids)).String() },
	}
	var schema delta.Struct
	types := map[string]delta.DataType{}
	for _, c := range w.columns {
		typ, err := deltasql.ParseType(c[1])
		require.NoError(t, err, c[1])
		schema.Fields = append(schema.Fields, delta.Field{Name: c[0], Type: typ, Nullable: true})
		types[c[0]] = typ
	}
	snap, err := delta.Create(ctx, bucket, delta.CreateOptions{Schema: schema, PartitionColumns: w.partitionBy, Options: opts})
	require.NoError(t, err)
	var leaving []string
	for version, files := range w.commits {
		txn := snap.Begin(delta.Operation{Name: "WRITE"})
		for f := range snap.Files() {
			for _, name := range leaving {
				if f.Name == name {
					require.NoError(t, txn.Remove(false, f))
				}
			}
		}
		leaving = nil
		for n, f := range files {
			for _, add := range w.data(t, snap, dir, fmt.Sprintf("%d-%d", version, n), f, types) {
				require.NoError(t, txn.Add(add))
				if f.gone {
					leaving = append(leaving, add.Name)
				}
			}
		}
		start = start.Add(time.Hour)
		snap, err = txn.Commit(ctx)
		require.NoError(t, err)
	}
	w.setTimes(t, dir)
}

// data writes the Parquet files of one SELECT. Rows come in the order of the names
// of their files, which in real tables are drawn by lot; here they follow the rows,
// so that the rows that both worlds have are in one order.
func (w worldTable) data(t testing.TB, snap *delta.Snapshot, dir, name string, f worldFile,
	types map[string]delta.DataType) []delta.AddFile {
	t.Helper()
	items := make([]string, len(w.columns))
	for i, c := range w.columns {
		items[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", c[0], deltasql.Type(types[c[0]]), c[0])
	}
	written := harness.WriteFiles(t, filepath.Join(dir, "data"), "SELECT "+strings.Join(items, ", ")+" FROM ("+f.sql+")",
		engine.FileLayout{PartitionBy: w.partitionBy, RowGroupRows: f.rowGroup})
	out := make([]delta.AddFile, len(written))
	for i, one := range written {
		var columns []delta.ColumnStats
		for _, c := range one.Columns {
			columns = append(columns, delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: c.NullCount, HasNaN: c.HasNaN})
		}
		stats, err := snap.EncodeStats(one.Rows, columns)
		require.NoError(t, err)
		values := map[string]*string{}
		for name, text := range one.Partition {
			values[name], err = delta.PartitionValue(types[name], text)
			require.NoError(t, err)
		}
		named := path.Join("data", path.Dir(one.Name), fmt.Sprintf("%s-%03d.parquet", name, i))
		require.NoError(t, os.Rename(filepath.Join(dir, "data", one.Name), filepath.Join(dir, named)))
		padFile(t, filepath.Join(dir, named), f.pad)
		out[i] = delta.AddFile{Name: named, PartitionValues: values, Size: one.Bytes + f.pad, ModTime: time.Unix(1_700_000_000, 0), Stats: stats}
	}
	return out
}

// padFile enlarges a Parquet file by n bytes between the row groups and the footer,
// which names its parts by their distance from the start of the file.
func padFile(t testing.TB, path string, n int64) {
	t.Helper()
	if n == 0 {
		return
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	// The file ends with the footer, its length in four bytes, and four bytes "PAR1".
	at := len(raw) - 8 - int(binary.LittleEndian.Uint32(raw[len(raw)-8:]))
	require.NoError(t, os.WriteFile(path, slices.Concat(raw[:at], make([]byte, n), raw[at:]), 0o600))
}

// setTimes gives the log's files times that depend on nothing but their version.
func (w worldTable) setTimes(t testing.TB, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*"))
	require.NoError(t, err)
	for i, name := range logs {
		at := time.Date(2026, 1, 2, 3+i, 4, 5, 0, time.UTC)
		require.NoError(t, os.Chtimes(name, at, at))
	}
}
