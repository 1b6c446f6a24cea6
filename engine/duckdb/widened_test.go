package duckdb_test

import (
	"encoding/json"
	"fmt"
	"os"
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
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// widenings are the changes of a column's type that the protocol has, with values
// before and after.
var widenings = []struct {
	from, to      string
	before, after []string
}{
	{"byte", "short", []string{"-128", "127", "NULL"}, []string{"-32768", "0", "32767"}},
	{"short", "integer", []string{"-32768", "1", "32767"}, []string{"-2147483648", "NULL", "2147483647"}},
	{"integer", "long", []string{"-2147483648", "NULL", "5"}, []string{"-9223372036854775808", "9223372036854775807", "0"}},
	{"byte", "long", []string{"1", "2", "3"}, []string{"128", "4", "NULL"}},
	{"float", "double", []string{"1.5", "-0.25", "NULL"}, []string{"1e300", "0.1", "2.5"}},
	{"integer", "double", []string{"-2147483648", "7", "2147483647"}, []string{"0.5", "NULL", "7"}},
	{"short", "double", []string{"1", "2", "NULL"}, []string{"1.25", "2", "3"}},
	{"date", "timestamp_ntz", []string{"'2024-02-29'", "'1969-12-31'", "NULL"},
		[]string{"'2024-02-29 00:00:00.000001'", "'1970-01-01 12:00:00'", "NULL"}},
	{"decimal(5,2)", "decimal(10,2)", []string{"-999.99", "1.10", "NULL"}, []string{"99999999.99", "1.10", "0"}},
	{"decimal(5,2)", "decimal(12,4)", []string{"999.99", "1.10", "NULL"}, []string{"1.1001", "1.1", "-0.0001"}},
	{"integer", "decimal(12,2)", []string{"2147483647", "1", "NULL"}, []string{"1.01", "1", "-1.5"}},
	{"long", "decimal(22,2)", []string{"9223372036854775807", "1", "NULL"}, []string{"1.01", "1", "-1.5"}},
}

// TestWidenedTablesAreReadByTheirFiles: a list of files gives what the log gives.
func TestWidenedTablesAreReadByTheirFiles(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	log := &widenedLog{t: t, dir: filepath.Join(root, "t"), session: scratchSession{session, scratch}}
	log.write(func(i int) (string, []string) { return widenings[i].from, widenings[i].before }, false)
	log.write(func(i int) (string, []string) { return widenings[i].to, widenings[i].after }, true)

	bucket, err := file.New(log.dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	var columns []engine.Column
	for _, f := range snap.Schema().Fields {
		columns = append(columns, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
	}
	plain := engine.Source{Location: log.dir, Version: snap.Version(), Identity: "widened"}
	ask := func(src engine.Source, sql string) []string {
		return enginetest.Rows(t, session, engine.Statement{SQL: "WITH t AS (FROM " + src.Relation() + ") " + sql, Sources: []engine.Source{src}})
	}
	for _, list := range []func(*delta.Snapshot, []engine.Column, engine.Condition) (*engine.FileList, bool){pruning.List,
		pruning.ListRestricted} {
		files, ok := list(snap, columns, engine.Condition{})
		require.True(t, ok)
		listed := plain
		listed.Files = files
		require.Len(t, ask(listed, "SELECT * FROM t"), 6)
		// The log's reader misreads filters on such columns, but not whole rows.
		require.Equal(t, ask(plain, "SELECT * FROM t ORDER BY ALL"), ask(listed, "SELECT * FROM t ORDER BY ALL"))
		for i, c := range columns {
			for _, v := range append(widenings[i].before, widenings[i].after...) {
				value := engine.ConditionValue(strings.Trim(v, "'"))
				narrowed, ok := list(snap, columns, engine.Condition{Op: engine.ConditionEqual, Column: c.Name, Values: []engine.ConditionValue{value}})
				require.True(t, ok)
				sql := "SELECT count(*) FROM t WHERE " + c.Name + " = CAST(" + v + " AS " + c.Type.String() + ")"
				listed.Files = files
				whole := ask(listed, sql)
				listed.Files = narrowed
				require.Equal(t, whole, ask(listed, sql), sql)
			}
		}
	}
}

// between are constants that the type before a change cannot say, by the type after.
var between = map[string][]string{
	"double":        {"1.6", "2.4", "2.5", "6.5", "-0.1", "1e300", "'NaN'", "2147483647.5"},
	"timestamp_ntz": {"'2024-02-29 12:00:00'", "'1969-12-31 00:00:00.000001'", "'2024-02-28 23:59:59.999999'"},
	"decimal(10,2)": {"999999.99", "1.11"},
	"decimal(12,4)": {"1.1049", "1.1051", "999.9949", "999.99001"},
	"decimal(12,2)": {"1.49", "0.50", "2147483646.99"},
	"decimal(22,2)": {"1.49", "0.50", "9223372036854775806.99"},
	"short":         {"300"}, "integer": {"70000"}, "long": {"5000000000"},
}

// TestComparisonsOfWidenedColumnsAreOfTheWiderType compares what a filter finds with
// the same filter over the values themselves: a constant is never cast to the type that
// older files have.
func TestComparisonsOfWidenedColumnsAreOfTheWiderType(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	log := &widenedLog{t: t, dir: filepath.Join(root, "t"), session: scratchSession{session, scratch}, nested: true}
	log.write(func(i int) (string, []string) { return widenings[i].from, widenings[i].before }, false)
	log.write(func(i int) (string, []string) { return widenings[i].to, widenings[i].after }, true)
	bucket, err := file.New(log.dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	var columns []engine.Column
	for _, f := range snap.Schema().Fields {
		columns = append(columns, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
	}
	files, ok := pruning.List(snap, columns, engine.Condition{})
	require.True(t, ok)
	listed := engine.Source{Location: log.dir, Version: snap.Version(), Identity: "widened", Files: files}
	ask := func(from string, sql string) []string {
		return enginetest.Rows(t, session, engine.Statement{SQL: "WITH t AS (" + from + ") " + sql, Sources: []engine.Source{listed}})
	}
	for i, w := range widenings {
		c := columns[slices.IndexFunc(columns, func(c engine.Column) bool { return c.Name == fmt.Sprintf("c%d", i) })]
		old, err := deltasql.ParseType(w.from)
		require.NoError(t, err)
		var values []string
		for _, v := range w.before {
			values = append(values, "SELECT CAST(CAST("+v+" AS "+deltasql.Type(old).String()+") AS "+c.Type.String()+") AS "+c.Name)
		}
		for _, v := range w.after {
			values = append(values, "SELECT CAST("+v+" AS "+c.Type.String()+")")
		}
		constants := slices.Concat(w.before, w.after, between[w.to])
		tails := []string{"ORDER BY " + c.Name + " DESC NULLS LAST LIMIT 2", "ORDER BY " + c.Name + " NULLS LAST LIMIT 2"}
		for _, v := range constants {
			v = "CAST(" + v + " AS " + c.Type.String() + ")"
			for _, op := range []string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"} {
				tails = append(tails, "WHERE "+c.Name+" "+op+" "+v+" ORDER BY ALL")
			}
			tails = append(tails, "WHERE "+c.Name+" IN ("+v+", CAST("+constants[0]+" AS "+c.Type.String()+")) ORDER BY ALL",
				"WHERE "+c.Name+" IN (SELECT "+v+") ORDER BY ALL")
		}
		for n, tail := range tails {
			sql := "SELECT " + c.Name + "::VARCHAR FROM t " + tail
			want := ask(strings.Join(values, " UNION ALL "), sql)
			inside := []string{"s%d.a", "l%d[1]", "m%d['k']"}
			for _, place := range []string{"c%d", inside[n%len(inside)]} {
				place = fmt.Sprintf(place, i)
				found := strings.ReplaceAll(sql, c.Name, place)
				require.Equal(t, want, ask("FROM "+listed.Relation(), found), "%s to %s: %s", w.from, w.to, found)
			}
		}
	}
}

// widenedLog writes a log as another writer would.
type widenedLog struct {
	t       *testing.T
	dir     string
	session scratchSession
	version int
	// nested says that each column is there in a struct, a list and a map too.
	nested bool
}

// write commits a schema and a file of three rows under it.
func (l *widenedLog) write(column func(i int) (typ string, values []string), changed bool) {
	rows := make([][]string, 3)
	var fields []string
	mins, maxs := map[string]any{}, map[string]any{}
	for i, w := range widenings {
		typ, values := column(i)
		metadata := `{}`
		if changed {
			metadata = fmt.Sprintf(`{"delta.typeChanges":[{"fromType":%q,"toType":%q}]}`, w.from, w.to)
		}
		fields = append(fields, fmt.Sprintf(`{"name":"c%d","type":%q,"nullable":true,"metadata":%s}`, i, typ, metadata))
		parsed, err := deltasql.ParseType(typ)
		require.NoError(l.t, err)
		for r, v := range values {
			rows[r] = append(rows[r], fmt.Sprintf("CAST(%s AS %s) AS c%d", v, deltasql.Type(parsed), i))
		}
		if !l.nested {
			continue
		}
		inside := func(path string) string {
			return strings.Replace(metadata, `"fromType"`, `"fieldPath":"`+path+`","fromType"`, 1)
		}
		fields = append(fields,
			fmt.Sprintf(`{"name":"s%d","type":{"type":"struct","fields":[{"name":"a","type":%q,"nullable":true,"metadata":%s}]},`+
				`"nullable":true,"metadata":{}}`, i, typ, metadata),
			fmt.Sprintf(`{"name":"l%d","type":{"type":"array","elementType":%q,"containsNull":true},"nullable":true,"metadata":%s}`,
				i, typ, inside("element")),
			fmt.Sprintf(`{"name":"m%d","type":{"type":"map","keyType":"string","valueType":%q,"valueContainsNull":true},"nullable":true,`+
				`"metadata":%s}`, i, typ, inside("value")))
		for r, v := range values {
			v = fmt.Sprintf("CAST(%s AS %s)", v, deltasql.Type(parsed))
			rows[r] = append(rows[r], fmt.Sprintf("{'a': %s} AS s%d, [%s] AS l%d, MAP {'k': %s} AS m%d", v, i, v, i, v, i))
		}
	}
	var selects []string
	for _, items := range rows {
		selects = append(selects, "SELECT "+strings.Join(items, ", "))
	}
	files, err := l.session.Session.(engine.Writer).Write(l.t.Context(),
		engine.WriteStatement{Statement: engine.Statement{SQL: strings.Join(selects, " UNION ALL ")}})
	require.NoError(l.t, err)
	require.NoError(l.t, os.MkdirAll(filepath.Join(l.dir, "_delta_log"), 0o755))
	require.NoError(l.t, os.Rename(filepath.Join(l.session.dir, files[0].Name), filepath.Join(l.dir, files[0].Name)))
	for _, c := range files[0].Columns {
		if len(c.Path) > 1 || c.Min == nil {
			continue
		}
		if _, err := json.Number(*c.Min).Float64(); err == nil {
			mins[c.Path[0]], maxs[c.Path[0]] = json.Number(*c.Min), json.Number(*c.Max)
		} else {
			mins[c.Path[0]], maxs[c.Path[0]] = *c.Min, *c.Max
		}
	}
	stats, err := json.Marshal(map[string]any{"numRecords": 3, "minValues": mins, "maxValues": maxs})
	require.NoError(l.t, err)
	text := func(v any) string {
		b, err := json.Marshal(v)
		require.NoError(l.t, err)
		return string(b)
	}
	lines := []string{
		`{"metaData":{"id":"w","format":{"provider":"parquet","options":{}},"partitionColumns":[],` +
			`"configuration":{"delta.enableTypeWidening":"true"},"schemaString":` +
			text(`{"type":"struct","fields":[`+strings.Join(fields, ",")+`]}`) + `}}`,
		`{"add":{"path":` + text(files[0].Name) + `,"partitionValues":{},"size":` + text(files[0].Bytes) +
			`,"modificationTime":1,"dataChange":true,"stats":` + text(string(stats)) + `}}`,
	}
	if l.version == 0 {
		features := `["timestampNtz","typeWidening"]`
		lines = append([]string{`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":` + features +
			`,"writerFeatures":` + features + `}}`}, lines...)
	}
	name := filepath.Join(l.dir, "_delta_log", fmt.Sprintf("%020d.json", l.version))
	require.NoError(l.t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	l.version++
}
