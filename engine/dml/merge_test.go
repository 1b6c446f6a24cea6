package dml_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// mergeRow is a row by column, with JSON values. A missing key is a column that the
// request does not name; rows of the table have all columns.
type mergeRow map[string]string

var mergeColumns = []engine.Column{
	{Name: "a", Type: sqltype.BigInt, Nullable: true}, {Name: "n", Type: sqltype.BigInt, Nullable: true},
	{Name: "f", Type: sqltype.Double, Nullable: true}, {Name: "v", Type: sqltype.Varchar, Nullable: true},
}

// text ignores the sign of a zero: dictionaries of the engine's files hold one
// value for both zeros.
func (r mergeRow) text() string {
	items := make([]string, len(mergeColumns))
	for i, c := range mergeColumns {
		items[i] = strings.TrimPrefix(r[c.Name], "-")
	}
	return strings.Join(items, " ")
}

// matches reports whether two rows match: NULL equals NULL, and both zeros are
// equal.
func (r mergeRow) matches(other mergeRow, on []string) bool {
	return !slices.ContainsFunc(on, func(c string) bool { return strings.TrimPrefix(r[c], "-") != strings.TrimPrefix(other[c], "-") })
}

func drawRow(t *rapid.T, named []string) mergeRow {
	values := map[string][]string{
		"a": {"null", "0", "1", "2", "3", "4", "5"}, "n": {"null", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
		"f": {"null", "0.0", "-0.0", "1.5"}, "v": {"null", `"x"`, `"y"`},
	}
	row := mergeRow{}
	for _, c := range named {
		row[c] = rapid.SampledFrom(values[c]).Draw(t, c)
	}
	return row
}

// mergeModel returns the rows of a table after a merge, by the documentation of
// merges.
func mergeModel(table, request, gone []mergeRow, on []string, matched dml.Matched,
	insert bool) (out []mergeRow, inserted, updated, deleted int64) {
	met := make([]bool, len(request))
	for _, row := range table {
		if slices.ContainsFunc(gone, func(r mergeRow) bool { return row.matches(r, on) }) {
			deleted++
			continue
		}
		at := slices.IndexFunc(request, func(r mergeRow) bool { return row.matches(r, on) })
		if at < 0 {
			out = append(out, row)
			continue
		}
		met[at] = true
		switch matched {
		case dml.MatchedDelete:
			deleted++
			continue
		case dml.MatchedUpdate:
			updated++
			changed := mergeRow{}
			for _, c := range mergeColumns {
				changed[c.Name] = row[c.Name]
				if value, ok := request[at][c.Name]; ok && !slices.Contains(on, c.Name) {
					changed[c.Name] = value
				}
			}
			row = changed
		}
		out = append(out, row)
	}
	for i, r := range request {
		if met[i] || !insert {
			continue
		}
		inserted++
		row := mergeRow{}
		for _, c := range mergeColumns {
			row[c.Name] = "null"
			if value, ok := r[c.Name]; ok {
				row[c.Name] = value
			}
		}
		out = append(out, row)
	}
	return out, inserted, updated, deleted
}

func repeated(rows []mergeRow, on []string, nulls bool) bool {
	for i, r := range rows {
		if slices.ContainsFunc(rows[:i], func(o mergeRow) bool { return r.matches(o, on) }) && (nulls || r[on[0]] != "null") {
			return true
		}
	}
	return false
}

func rowTexts(rows []mergeRow) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.text()
	}
	slices.Sort(out)
	return out
}

// TestAMergeDoesWhatItSays runs random merges. The table then holds the rows of the
// model, or, if the merge would break a key, the rows from before.
func TestAMergeDoesWhatItSays(t *testing.T) {
	eng := newLake(t).eng
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		all := []string{"a", "n", "f", "v"}
		keyed := rapid.Bool().Draw(rt, "keyed")
		on := rapid.SampledFrom([][]string{{"a"}, {"n"}, {"a", "f"}, {"f"}, {"a", "v"}}).Draw(rt, "on")
		var table []mergeRow
		for _, r := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mergeRow { return drawRow(t, all) }), 1, 8).Draw(rt, "table") {
			if more := append(slices.Clone(table), r); !keyed || !repeated(more, []string{"a"}, true) && !repeated(more, []string{"n"}, false) {
				table = more
			}
		}
		whole := rapid.Bool().Draw(rt, "whole")
		request := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mergeRow {
			named := slices.Clone(on)
			for _, c := range all {
				if !slices.Contains(on, c) && (whole || rapid.Bool().Draw(t, "names "+c)) {
					named = append(named, c)
				}
			}
			return drawRow(t, named)
		}), 0, 6).Draw(rt, "request")
		gone := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mergeRow { return drawRow(t, on) }), 0, 3).Draw(rt, "delete")
		matched := rapid.SampledFrom([]dml.Matched{
			dml.MatchedUpdate, dml.MatchedUpdate, dml.MatchedIgnore, dml.MatchedDelete,
		}).Draw(rt, "matched")
		insert := matched == dml.MatchedIgnore || rapid.Bool().Draw(rt, "insert")

		l := &mergeTable{T: t, eng: eng, dir: fmt.Sprintf("%s/%d", dir, n)}
		l.create(keyed)
		half := len(table) / 2
		for _, part := range [][]mergeRow{table[:half], table[half:]} {
			_, err := l.write(part, nil, nil, func(t dml.Table, o dml.Options, rows, _ dml.Rows) (dml.Result, error) {
				return dml.Insert(l.Context(), t, o, rows)
			})
			require.NoError(rt, err)
		}
		require.Equal(rt, rowTexts(table), l.read())
		want, inserted, updated, deleted := mergeModel(table, request, gone, on, matched, insert)
		got, err := l.write(request, gone, on, func(t dml.Table, o dml.Options, rows, gone dml.Rows) (dml.Result, error) {
			return dml.Merge(l.Context(), t, o, dml.MergeRows{Rows: rows, On: on, Matched: matched, Insert: insert, Delete: gone})
		})
		refused := repeated(slices.Concat(request, gone), on, true)
		if refused || keyed && (repeated(want, []string{"a"}, true) || repeated(want, []string{"n"}, false)) {
			var broken *dml.RowsError
			require.True(rt, errors.As(err, &broken), "%v", err)
			require.Equal(rt, rowTexts(table), l.read())
			return
		}
		require.NoError(rt, err)
		require.Equal(rt, []int64{inserted, updated, deleted}, []int64{got.Inserted, got.Updated, got.Deleted})
		require.Equal(rt, rowTexts(want), l.read())
	})
}

// mergeTable is a table of mergeColumns in a directory.
type mergeTable struct {
	*testing.T
	eng engine.Engine
	dir string
}

func (l *mergeTable) create(keyed bool) {
	require.NoError(l, os.Mkdir(l.dir, 0o750))
	bucket, err := file.New(l.dir)
	require.NoError(l, err)
	types := []delta.DataType{delta.Long, delta.Long, delta.Double, delta.String}
	var schema delta.Struct
	for i, c := range mergeColumns {
		schema.Fields = append(schema.Fields, delta.Field{Name: c.Name, Type: types[i], Nullable: true})
	}
	var properties map[string]string
	if keyed {
		schema, properties, err = constraint.Keys{Primary: []string{"a"}, Unique: []string{"n"}}.Write(schema, nil)
		require.NoError(l, err)
	}
	_, err = delta.Create(l.Context(), bucket, delta.CreateOptions{Schema: schema, Properties: properties})
	require.NoError(l, err)
}

// write stages rows, and keys of rows to delete, and runs one write with them.
func (l *mergeTable) write(rows, gone []mergeRow, on []string,
	do func(t dml.Table, o dml.Options, rows, gone dml.Rows) (dml.Result, error)) (dml.Result, error) {
	bucket, err := file.New(l.dir)
	require.NoError(l, err)
	snap, err := delta.Load(l.Context(), bucket, delta.Options{})
	require.NoError(l, err)
	set, err := constraint.Of(snap)
	require.NoError(l, err)
	scratch := l.TempDir()
	session, err := l.eng.Open(l.Context(), engine.SessionOptions{Roots: []string{l.dir}, Scratch: scratch})
	require.NoError(l, err)
	defer func() { require.NoError(l, session.Close()) }()
	source := engine.Source{Location: l.dir, Version: snap.Version(), Identity: snap.Identity()}
	more := lease
	more.Threads = 2
	return do(dml.Table{Snapshot: snap, Source: source, Columns: mergeColumns, Rules: set},
		dml.Options{Session: session.(dml.Session), Lease: more, Scratch: scratch},
		l.stage(scratch, rows, mergeColumns), l.stage(scratch, gone, slices.DeleteFunc(slices.Clone(mergeColumns),
			func(c engine.Column) bool { return !slices.Contains(on, c.Name) })))
}

// stage stages rows with some of the columns.
func (l *mergeTable) stage(scratch string, rows []mergeRow, columns []engine.Column) dml.Rows {
	if len(columns) == 0 {
		return dml.Rows{}
	}
	body := make([]map[string]json.RawMessage, len(rows))
	for i, r := range rows {
		body[i] = map[string]json.RawMessage{}
		for name, value := range r {
			body[i][name] = json.RawMessage(value)
		}
	}
	text, err := json.Marshal(map[string]any{"rows": body})
	require.NoError(l, err)
	staged, err := ingest.Stage(l.Context(), strings.NewReader(string(text)),
		ingest.Request{Format: staging.JSON, Columns: columns, Dir: scratch, ShapeColumn: "shape"})
	require.NoError(l, err)
	return dml.Rows{File: staged.File, Columns: columns, Count: staged.Rows, ShapeColumn: "shape", Shapes: staged.Shapes}
}

// read returns the rows with JSON values.
func (l *mergeTable) read() []string {
	bucket, err := file.New(l.dir)
	require.NoError(l, err)
	snap, err := delta.Load(l.Context(), bucket, delta.Options{})
	require.NoError(l, err)
	session, err := l.eng.Open(l.Context(), engine.SessionOptions{Roots: []string{l.dir}})
	require.NoError(l, err)
	defer func() { require.NoError(l, session.Close()) }()
	source := engine.Source{Location: l.dir, Version: snap.Version(), Identity: snap.Identity()}
	result, err := session.Query(l.Context(), engine.Statement{
		SQL: `SELECT coalesce(a::VARCHAR, 'null') || ' ' || coalesce(n::VARCHAR, 'null') || ' ' ||
			coalesce(ltrim(f::VARCHAR, '-'), 'null') || ' ' || coalesce('"' || v || '"', 'null') AS row FROM ` + source.Relation(),
		Sources: []engine.Source{source}, Lease: lease,
	})
	require.NoError(l, err)
	defer func() { require.NoError(l, result.Close()) }()
	out := []string{}
	for {
		batch, err := result.Next(l.Context())
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		require.NoError(l, err)
		for i := range int(batch.NumRows()) {
			out = append(out, strings.Clone(batch.Column(0).(*array.String).Value(i)))
		}
		batch.Release()
	}
}
