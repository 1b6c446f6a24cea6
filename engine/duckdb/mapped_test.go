package duckdb_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// mappedWorld is a table whose columns are renamed, added and dropped between
// writes, with a model of its rows: values by the names that files have.
type mappedWorld struct {
	t       require.TestingT
	dir     string
	snap    *delta.Snapshot
	session scratchSession
	rows    []map[string]string
	next    int
}

type scratchSession struct {
	engine.Session
	dir string
}

const partition = "p"

func newMappedWorld(t require.TestingT, dir string, session scratchSession, partitioned bool, mode string) *mappedWorld {
	long := func(name string) delta.Field { return delta.Field{Name: name, Type: delta.Long, Nullable: true} }
	opts := delta.CreateOptions{
		Schema: delta.Struct{Fields: []delta.Field{
			long("id"), long("a"), long(partition),
			{Name: "st", Type: delta.Struct{Fields: []delta.Field{long("x"), long("y")}}, Nullable: true},
		}},
		Properties: map[string]string{"delta.columnMapping.mode": mode},
	}
	if partitioned {
		opts.PartitionColumns = []string{partition}
	}
	bucket, err := file.Create(dir)
	require.NoError(t, err)
	snap, err := delta.Create(context.Background(), bucket, opts)
	require.NoError(t, err)
	return &mappedWorld{t: t, dir: dir, snap: snap, session: session}
}

// leaves are the columns and members as paths, with the names in files.
func (w *mappedWorld) leaves() (paths [][]string, stored []string) {
	for i, f := range w.snap.StoredFields() {
		name := w.snap.Schema().Fields[i].Name
		if st, ok := f.Type.(delta.Struct); ok {
			for j, m := range st.Fields {
				paths = append(paths, []string{name, w.snap.Schema().Fields[i].Type.(delta.Struct).Fields[j].Name})
				stored = append(stored, f.Name+"."+m.Name)
			}
			continue
		}
		paths, stored = append(paths, []string{name}), append(stored, f.Name)
	}
	return paths, stored
}

// write adds a file with some rows.
func (w *mappedWorld) write(rt *rapid.T) {
	var selects []string
	part := rapid.IntRange(0, 2).Draw(rt, "part")
	for range rapid.IntRange(1, 3).Draw(rt, "rows") {
		row := map[string]string{}
		value := func(name string) string {
			w.next++
			row[name] = strconv.Itoa(w.next)
			return row[name]
		}
		var items []string
		for i, f := range w.snap.StoredFields() {
			switch st, nested := f.Type.(delta.Struct); {
			case nested:
				var members []string
				for _, m := range st.Fields {
					members = append(members, engine.QuoteString(m.Name)+": "+value(f.Name+"."+m.Name)+"::BIGINT")
				}
				items = append(items, "{"+strings.Join(members, ", ")+"} AS "+engine.QuoteIdent(f.Name))
			case slices.Contains(w.snap.PartitionColumns(), w.snap.Schema().Fields[i].Name):
				row[f.Name] = strconv.Itoa(part)
				items = append(items, row[f.Name]+"::BIGINT AS "+engine.QuoteIdent(f.Name))
			default:
				items = append(items, value(f.Name)+"::BIGINT AS "+engine.QuoteIdent(f.Name))
			}
		}
		selects = append(selects, "SELECT "+strings.Join(items, ", "))
		w.rows = append(w.rows, row)
	}
	layout := engine.FileLayout{FieldIDs: pruning.FieldIDs(w.snap.FileColumns())}
	for i, f := range w.snap.StoredFields() {
		if slices.Contains(w.snap.PartitionColumns(), w.snap.Schema().Fields[i].Name) {
			layout.PartitionBy = append(layout.PartitionBy, f.Name)
		}
	}
	files, err := w.session.Session.(engine.Writer).Write(context.Background(), engine.WriteStatement{
		Statement: engine.Statement{SQL: strings.Join(selects, " UNION ALL ")}, Layout: layout})
	require.NoError(w.t, err)
	txn := w.snap.Begin(delta.Operation{Name: "WRITE"})
	for _, f := range files {
		require.NoError(w.t, os.Rename(filepath.Join(w.session.dir, f.Name), filepath.Join(w.dir, f.Name)))
		var columns []delta.ColumnStats
		for _, c := range f.Columns {
			columns = append(columns, delta.ColumnStats{Path: c.Path, Min: c.Min, Max: c.Max, NullCount: c.NullCount})
		}
		stats, err := w.snap.EncodeStats(f.Rows, columns)
		require.NoError(w.t, err)
		add := delta.AddFile{Name: f.Name, Size: f.Bytes, ModTime: time.Unix(1, 0), Stats: stats, PartitionValues: map[string]*string{}}
		for i, name := range layout.PartitionBy {
			add.PartitionValues[w.snap.PartitionColumns()[i]] = f.Partition[name]
		}
		require.NoError(w.t, txn.Add(add))
	}
	w.commit(txn)
}

func (w *mappedWorld) commit(txn *delta.Txn) {
	snap, err := txn.Commit(context.Background())
	require.NoError(w.t, err)
	w.snap = snap
}

// alter renames, adds or drops a column or a member.
func (w *mappedWorld) alter(rt *rapid.T) {
	paths, _ := w.leaves()
	at := rapid.SampledFrom(paths).Draw(rt, "column")
	free := func(name string) bool {
		return !slices.ContainsFunc(paths, func(p []string) bool { return p[len(p)-1] == name })
	}
	names := slices.DeleteFunc([]string{"a", "b", "c d", "x", "y", "z"}, func(n string) bool { return !free(n) })
	if len(names) == 0 {
		return
	}
	name := rapid.SampledFrom(names).Draw(rt, "name")
	a := w.snap.Alter()
	switch rapid.IntRange(0, 2).Draw(rt, "change") {
	case 0:
		require.NoError(w.t, a.RenameColumn(at, name))
	case 1:
		require.NoError(w.t, a.AddColumn(at[:len(at)-1], delta.Field{Name: name, Type: delta.Long, Nullable: true}))
	case 2:
		siblings := len(at) // a struct may keep one member, the table keeps three columns
		for _, p := range paths {
			if len(p) == len(at) {
				siblings++
			}
		}
		if siblings < 4 || at[0] == "id" || slices.Contains(w.snap.PartitionColumns(), at[0]) {
			return
		}
		require.NoError(w.t, a.DropColumn(at))
	}
	change, err := a.Change()
	require.NoError(w.t, err)
	txn := w.snap.Begin(delta.Operation{Name: "ALTER"})
	txn.Alter(change)
	w.commit(txn)
}

// want are the rows that the model has, sorted.
func (w *mappedWorld) want() []string {
	_, stored := w.leaves()
	rows := make([]string, len(w.rows))
	for i, row := range w.rows {
		values := make([]string, len(stored))
		for j, name := range stored {
			if values[j] = row[name]; values[j] == "" {
				values[j] = "(null)"
			}
		}
		rows[i] = strings.Join(values, "|")
	}
	slices.Sort(rows)
	return rows
}

// items are the leaves in SQL.
func (w *mappedWorld) items() string {
	paths, _ := w.leaves()
	items := make([]string, len(paths))
	for i, p := range paths {
		items[i] = engine.QuoteIdent(p[0])
		if len(p) == 2 {
			items[i] = "struct_extract(" + items[i] + ", " + engine.QuoteString(p[1]) + ")"
		}
	}
	return strings.Join(items, ", ")
}

func (w *mappedWorld) columns() []engine.Column {
	var out []engine.Column
	for _, f := range w.snap.Schema().Fields {
		out = append(out, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
	}
	return out
}

func (w *mappedWorld) source() engine.Source {
	return engine.Source{Location: w.dir, Version: w.snap.Version(), Identity: w.dir}
}

// read is what the session makes of a source, sorted.
func (w *mappedWorld) read(t testing.TB, src engine.Source, where string) []string {
	rows := enginetest.Rows(t, w.session, engine.Statement{SQL: "SELECT " + w.items() + " FROM " + src.Relation() + where,
		Sources: []engine.Source{src}})
	slices.Sort(rows)
	return rows
}

func TestMappedTablesAreReadByTheirFiles(t *testing.T) {
	root := t.TempDir()
	scratch := t.TempDir()
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		partitioned := rapid.Bool().Draw(rt, "partitioned")
		mode := rapid.SampledFrom([]string{"name", "id"}).Draw(rt, "mode")
		w := newMappedWorld(rt, filepath.Join(root, strconv.Itoa(n)), scratchSession{session, scratch}, partitioned, mode)
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			w.write(rt)
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				w.alter(rt)
			}
		}
		require.NoError(rt, pruning.Check(w.snap))
		src, want := w.source(), w.want()
		list, ok := pruning.List(w.snap, w.columns(), engine.Condition{})
		require.True(rt, ok)
		src.Files = list
		require.Equal(rt, want, w.read(t, src, ""))
		if !partitioned && mode == "name" {
			require.Equal(rt, want, w.read(t, w.source(), ""))
		}
		// A condition on a column leaves files out and loses no row.
		value := strconv.Itoa(rapid.IntRange(0, w.next).Draw(rt, "value"))
		column := rapid.SampledFrom(w.columns()).Draw(rt, "column").Name
		if column == "st" {
			return
		}
		if list, ok = pruning.List(w.snap, w.columns(),
			engine.Condition{Op: engine.ConditionLess, Column: column, Values: []engine.ConditionValue{engine.ConditionValue(value)}}); ok {
			src.Files = list
			at := slices.IndexFunc(w.columns(), func(c engine.Column) bool { return c.Name == column })
			stored := w.snap.StoredFields()[at].Name
			var below []string
			all := w.rows
			for _, row := range all {
				v, err := strconv.Atoi(row[stored])
				limit, _ := strconv.Atoi(value)
				if err == nil && v < limit {
					w.rows = []map[string]string{row}
					below = append(below, w.want()...)
				}
			}
			w.rows = all
			slices.Sort(below)
			require.Equal(rt, below, w.read(t, src, " WHERE "+engine.QuoteIdent(column)+" < "+value))
		}
	})
}

// TestMappedTablesAgreeWithDeltaRS: another reader has the same rows.
func TestMappedTablesAgreeWithDeltaRS(t *testing.T) {
	python := oracletest.Python(t)
	root, scratch := t.TempDir(), t.TempDir()
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	for seed := range 8 {
		dir := filepath.Join(root, strconv.Itoa(seed))
		w := rapid.Custom(func(rt *rapid.T) *mappedWorld {
			_ = os.RemoveAll(dir)
			w := newMappedWorld(rt, dir, scratchSession{session, scratch}, true, "name")
			for range 4 {
				w.write(rt)
				w.alter(rt)
				w.alter(rt)
			}
			return w
		}).Example(seed)
		const script = `
import json, os, sys
from deltalake import DeltaTable, QueryBuilder
import pyarrow as pa
rows = pa.table(QueryBuilder().register("t", DeltaTable(sys.argv[1])).execute("select * from t").read_all()).to_pylist()
flat = lambda v: list(v.values()) if isinstance(v, dict) else [v]
print(json.dumps([[x for v in r.values() for x in flat(v)] for r in rows]), flush=True)
os._exit(0)
`
		cmd := exec.CommandContext(t.Context(), python, "-c", script, dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		var values [][]*int64
		require.NoError(t, json.Unmarshal(out, &values))
		var want []string
		for _, row := range values {
			texts := make([]string, len(row))
			for i, v := range row {
				if texts[i] = "(null)"; v != nil {
					texts[i] = fmt.Sprint(*v)
				}
			}
			want = append(want, strings.Join(texts, "|"))
		}
		slices.Sort(want)
		list, ok := pruning.List(w.snap, w.columns(), engine.Condition{})
		require.True(t, ok)
		src := w.source()
		src.Files = list
		require.Equal(t, want, w.read(t, src, ""))
		require.Equal(t, want, w.want())
	}
}
