package dml_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// tableKind says which features a table has.
type tableKind struct {
	mapping                                   string
	partitioned, vectors, feed, nested, keyed bool
	// tracked enables row tracking.
	tracked bool
}

// item is a row of a table of any kind. Missing values are nil.
type item struct {
	ID int64   `json:"id"`
	V  *string `json:"v"`
	P  *string `json:"p"`
	St *inner  `json:"st,omitempty"`
}

type inner struct {
	X *int64 `json:"x"`
	L []leaf `json:"l"`
}

type leaf struct {
	Z *int64 `json:"z"`
}

// text returns the row as the tests' queries print it.
func (i item) text() string {
	cells := []string{strconv.FormatInt(i.ID, 10), "~", "~", "~", "~"}
	if i.V != nil {
		cells[1] = *i.V
	}
	if i.P != nil {
		cells[2] = *i.P
	}
	if i.St != nil && i.St.X != nil {
		cells[3] = strconv.FormatInt(*i.St.X, 10)
	}
	if i.St != nil && i.St.L != nil {
		cells[4] = strconv.Itoa(len(i.St.L))
	}
	return strings.Join(cells, "|")
}

// modelTable is a table of a kind, with a model of its rows by id.
type modelTable struct {
	tableKind
	t       require.TestingT
	dir     string
	eng     engine.Engine
	bucket  objstore.Bucket
	columns []engine.Column
	rows    map[int64]item
	// lastIDs holds the ids and commit versions of the rows of a table with row
	// tracking, as last read.
	lastIDs trackedRows
	// scratch creates directories.
	scratch func() string
	// before, if not nil, runs between the load of a version and the write.
	before func()
}

func (k tableKind) schema() delta.Struct {
	s := delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true}, {Name: "v", Type: delta.String, Nullable: true},
		{Name: "p", Type: delta.String, Nullable: true},
	}}
	if k.nested {
		s.Fields = append(s.Fields, delta.Field{Name: "st", Nullable: true, Type: delta.Struct{Fields: []delta.Field{
			{Name: "x", Type: delta.Long, Nullable: true},
			{Name: "l", Type: delta.Array{
				ContainsNull: true, Element: delta.Struct{Fields: []delta.Field{{Name: "z", Type: delta.Long, Nullable: true}}},
			}, Nullable: true},
		}}})
	}
	return s
}

func newModelTable(t require.TestingT, eng engine.Engine, k tableKind, scratch func() string) *modelTable {
	o := &modelTable{tableKind: k, t: t, dir: scratch(), eng: eng, rows: map[int64]item{}, scratch: scratch, lastIDs: trackedRows{Mark: -1}}
	var err error
	o.bucket, err = file.New(o.dir)
	require.NoError(t, err)
	opts := delta.CreateOptions{Schema: k.schema(), Properties: map[string]string{}}
	if k.mapping != "" {
		opts.Properties["delta.columnMapping.mode"] = k.mapping
	}
	if k.vectors {
		opts.Properties["delta.enableDeletionVectors"] = "true"
	}
	if k.feed {
		opts.Properties["delta.enableChangeDataFeed"] = "true"
	}
	if k.tracked {
		opts.Properties["delta.enableRowTracking"] = "true"
	}
	if k.partitioned {
		opts.PartitionColumns = []string{"p"}
	}
	if k.keyed {
		opts.Schema, opts.Properties, err = constraint.Keys{Primary: []string{"id"}}.Write(opts.Schema, opts.Properties)
		require.NoError(t, err)
	}
	snap, err := delta.Create(context.Background(), o.bucket, opts)
	require.NoError(t, err)
	for _, f := range snap.Schema().Fields {
		o.columns = append(o.columns, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
	}
	return o
}

func (o *modelTable) load() *delta.Snapshot {
	snap, err := delta.Load(context.Background(), o.bucket, delta.Options{})
	require.NoError(o.t, err)
	return snap
}

// begin opens a service session for one write.
func (o *modelTable) begin() (dml.Table, dml.Options, func(), error) {
	quick := func(context.Context, int) error { return nil }
	snap, err := delta.Load(context.Background(), o.bucket, delta.Options{Attempts: 3, Pause: quick})
	if err != nil {
		return dml.Table{}, dml.Options{}, nil, err
	}
	if o.before != nil {
		o.before()
	}
	scratch := o.scratch()
	set, err := constraint.Of(snap)
	require.NoError(o.t, err)
	session, err := o.eng.Open(context.Background(), engine.SessionOptions{Roots: []string{o.dir}, Scratch: scratch})
	require.NoError(o.t, err)
	return dml.Table{Snapshot: snap, Source: o.source(snap), Columns: o.columns, Rules: set},
		dml.Options{Session: session.(dml.Session), Lease: lease, Scratch: scratch}, func() { require.NoError(o.t, session.Close()) }, nil
}

func (o *modelTable) source(snap *delta.Snapshot) engine.Source {
	return engine.Source{Location: o.dir, Version: snap.Version(), Identity: snap.Identity()}
}

func (o *modelTable) stage(opts dml.Options, items []item) dml.Rows {
	body, err := json.Marshal(map[string]any{"rows": items})
	require.NoError(o.t, err)
	staged, err := ingest.Stage(context.Background(), strings.NewReader(string(body)),
		ingest.Request{Format: staging.JSON, Columns: o.columns, Dir: opts.Scratch})
	require.NoError(o.t, err)
	return dml.Rows{File: staged.File, Columns: o.columns, Count: staged.Rows}
}

func (o *modelTable) insert(items ...item) error {
	table, opts, end, err := o.begin()
	if err != nil {
		return err
	}
	defer end()
	_, err = dml.Insert(context.Background(), table, opts, o.stage(opts, items))
	return err
}

// merge merges items, and deletes rows by their ids.
func (o *modelTable) merge(matched dml.Matched, gone []int64, items ...item) error {
	table, opts, end, err := o.begin()
	if err != nil {
		return err
	}
	defer end()
	_, err = dml.Merge(context.Background(), table, opts, dml.MergeRows{
		Rows: o.stage(opts, items), On: []string{"id"}, Matched: matched, Insert: matched != dml.MatchedDelete, Delete: o.stageKeys(opts, gone),
	})
	return err
}

// stageKeys stages ids of rows to delete.
func (o *modelTable) stageKeys(opts dml.Options, ids []int64) dml.Rows {
	keys := make([]map[string]int64, len(ids))
	for i, id := range ids {
		keys[i] = map[string]int64{"id": id}
	}
	body, err := json.Marshal(map[string]any{"rows": keys})
	require.NoError(o.t, err)
	columns := slices.DeleteFunc(slices.Clone(o.columns), func(c engine.Column) bool { return c.Name != "id" })
	staged, err := ingest.Stage(context.Background(), strings.NewReader(string(body)),
		ingest.Request{Format: staging.JSON, Columns: columns, Dir: opts.Scratch})
	require.NoError(o.t, err)
	return dml.Rows{File: staged.File, Columns: columns, Count: staged.Rows}
}

// point stages the positions of the rows that where selects, and their new values.
func (o *modelTable) point(table dml.Table, opts dml.Options, where, value string) (dml.Changes, error) {
	if err := pruning.Load(context.Background(), table.Snapshot); err != nil {
		return dml.Changes{}, err
	}
	list, ok := pruning.List(table.Snapshot, o.columns, engine.Condition{})
	require.True(o.t, ok)
	c := dml.Changes{List: list.WithPositions(engine.PositionColumns{File: "at_f", Row: "at_r"})}
	source := table.Source
	source.Files = c.List
	items := "at_f AS f, at_r AS r"
	if value != "" {
		items += ", " + value + " AS v0"
		c.Set = o.columns[1:2]
	}
	files, err := opts.Session.Write(context.Background(), engine.WriteStatement{Statement: engine.Statement{
		SQL: "SELECT " + items + " FROM " + source.Relation() + " WHERE " + where, Sources: []engine.Source{source}, Lease: lease,
	}})
	require.NoError(o.t, err)
	for _, f := range files {
		c.File, c.Count = f.Name, c.Count+f.Rows
	}
	return c, nil
}

func (o *modelTable) delete(where string) error {
	table, opts, end, err := o.begin()
	if err != nil {
		return err
	}
	defer end()
	changes, err := o.point(table, opts, where, "")
	if err == nil {
		_, err = dml.Delete(context.Background(), table, opts, changes)
	}
	return err
}

func (o *modelTable) update(where, value string) error {
	table, opts, end, err := o.begin()
	if err != nil {
		return err
	}
	defer end()
	changes, err := o.point(table, opts, where, value)
	if err == nil {
		_, err = dml.Update(context.Background(), table, opts, changes)
	}
	return err
}

// read returns the rows that the engine reads, from a list of files or through the
// log.
func (o *modelTable) read(listed bool) []string {
	snap := o.load()
	source := o.source(snap)
	if listed {
		require.NoError(o.t, pruning.Load(context.Background(), snap))
		list, ok := pruning.List(snap, o.columns, engine.Condition{})
		require.True(o.t, ok)
		source.Files = list
	}
	return queryTexts(o.t, o.eng, o.dir, "SELECT "+o.rowText()+" FROM "+source.Relation(), source)
}

// rowText returns SQL for the text of a row that [item.text] returns.
func (o *modelTable) rowText() string {
	st := "'~', '~'"
	if o.nested {
		st = "coalesce(st.x::VARCHAR, '~'), coalesce(len(st.l)::VARCHAR, '~')"
	}
	return "concat_ws('|', id, coalesce(v, '~'), coalesce(p, '~'), " + st + ")"
}

// queryTexts returns the sorted values of a query with one text column.
func queryTexts(t require.TestingT, eng engine.Engine, dir, sql string, source engine.Source) []string {
	session, err := eng.Open(context.Background(), engine.SessionOptions{Roots: []string{dir}})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	result, err := session.Query(context.Background(), engine.Statement{SQL: sql, Sources: []engine.Source{source}, Lease: lease})
	require.NoError(t, err)
	defer func() { require.NoError(t, result.Close()) }()
	out := []string{}
	for {
		batch, err := result.Next(context.Background())
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		require.NoError(t, err)
		for i := range int(batch.NumRows()) {
			out = append(out, strings.Clone(batch.Column(0).(*array.String).Value(i)))
		}
		batch.Release()
	}
}

func (o *modelTable) wantRows() []string {
	out := []string{}
	for _, i := range o.rows {
		out = append(out, i.text())
	}
	slices.Sort(out)
	return out
}

func newTestEngine(t *testing.T) engine.Engine {
	extensions := oracletest.Extensions(t)
	eng, err := duckdb.New(t.Context(), duckdb.Options{ExtensionDirs: []string{extensions}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	return eng
}

// drawFunc draws a number below n.
type drawFunc func(n int) int

// drawItem returns a random row with an id.
func (k tableKind) drawItem(roll drawFunc, id int64, next *int) item {
	*next++
	i := item{ID: id, V: ptr("v" + strconv.Itoa(*next))}
	if part := roll(4); part > 0 {
		i.P = ptr([]string{"a", "b/ =%é", "c"}[part-1])
	}
	if k.nested && roll(2) == 0 {
		i.St = &inner{X: ptr(int64(*next))}
		if roll(2) == 0 {
			i.St.L = []leaf{{Z: ptr(int64(1))}, {}}
		}
	}
	return i
}

func ptr[T any](v T) *T { return &v }
