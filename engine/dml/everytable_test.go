package dml_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// kind is what a table asks of its writers.
type kind struct {
	mapping                                   string
	partitioned, vectors, feed, nested, keyed bool
	// tracked: rows have ids.
	tracked bool
}

// item is a row of a table of any kind. Absent values are nil.
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

// text is the row as every reader of the tests prints it.
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

// tableOf is a table of a kind with a model of its rows by id.
type tableOf struct {
	kind
	t       require.TestingT
	dir     string
	eng     engine.Engine
	bucket  objstore.Bucket
	columns []engine.Column
	rows    map[int64]item
	// known is what rows of a tracked table are known by since the last look.
	known identities
	// scratch makes directories.
	scratch func() string
	// before runs between the look at a version and the write; nil does nothing.
	before func()
}

func (k kind) schema() delta.Struct {
	s := delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true}, {Name: "v", Type: delta.String, Nullable: true}, {Name: "p", Type: delta.String, Nullable: true},
	}}
	if k.nested {
		s.Fields = append(s.Fields, delta.Field{Name: "st", Nullable: true, Type: delta.Struct{Fields: []delta.Field{
			{Name: "x", Type: delta.Long, Nullable: true},
			{Name: "l", Type: delta.Array{ContainsNull: true, Element: delta.Struct{Fields: []delta.Field{{Name: "z", Type: delta.Long, Nullable: true}}}}, Nullable: true},
		}}})
	}
	return s
}

func newTableOf(t require.TestingT, eng engine.Engine, k kind, scratch func() string) *tableOf {
	o := &tableOf{kind: k, t: t, dir: scratch(), eng: eng, rows: map[int64]item{}, scratch: scratch, known: identities{Mark: -1}}
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
		o.columns = append(o.columns, engine.Column{Name: f.Name, Type: delta.DuckDBType(f.Type), Nullable: true})
	}
	return o
}

func (o *tableOf) load() *delta.Snapshot {
	snap, err := delta.Load(context.Background(), o.bucket, delta.Options{})
	require.NoError(o.t, err)
	return snap
}

// begin opens a service session for one write.
func (o *tableOf) begin() (dml.Table, dml.Options, func(), error) {
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

func (o *tableOf) source(snap *delta.Snapshot) engine.Source {
	return engine.Source{Location: o.dir, Version: snap.Version(), Incarnation: snap.Incarnation()}
}

func (o *tableOf) stage(opts dml.Options, items []item) dml.Rows {
	body, err := json.Marshal(map[string]any{"rows": items})
	require.NoError(o.t, err)
	staged, err := ingest.Stage(context.Background(), strings.NewReader(string(body)), ingest.Request{Format: ingest.JSON, Columns: o.columns, Dir: opts.Scratch})
	require.NoError(o.t, err)
	return dml.Rows{File: staged.File, Columns: o.columns, Count: staged.Rows}
}

func (o *tableOf) insert(items ...item) error {
	table, opts, end, err := o.begin()
	if err != nil {
		return err
	}
	defer end()
	_, err = dml.Insert(context.Background(), table, opts, o.stage(opts, items))
	return err
}

func (o *tableOf) merge(matched dml.Matched, items ...item) error {
	table, opts, end, err := o.begin()
	if err != nil {
		return err
	}
	defer end()
	_, err = dml.Merge(context.Background(), table, opts, dml.MergeRows{
		Rows: o.stage(opts, items), On: []string{"id"}, Matched: matched, Insert: matched != dml.MatchedDelete,
	})
	return err
}

// point stages the positions of some rows, and the values that they get.
func (o *tableOf) point(table dml.Table, opts dml.Options, where, value string) (dml.Changes, error) {
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

func (o *tableOf) delete(where string) error {
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

func (o *tableOf) update(where, value string) error {
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

// read returns the rows that the engine sees, by a list of files or through the log.
func (o *tableOf) read(listed bool) []string {
	snap := o.load()
	source := o.source(snap)
	if listed {
		require.NoError(o.t, pruning.Load(context.Background(), snap))
		list, ok := pruning.List(snap, o.columns, engine.Condition{})
		require.True(o.t, ok)
		source.Files = list
	}
	return texts(o.t, o.eng, o.dir, "SELECT "+o.cells()+" FROM "+source.Relation(), source)
}

// cells are a row as [item.text] has it.
func (o *tableOf) cells() string {
	st := "'~', '~'"
	if o.nested {
		st = "coalesce(st.x::VARCHAR, '~'), coalesce(len(st.l)::VARCHAR, '~')"
	}
	return "concat_ws('|', id, coalesce(v, '~'), coalesce(p, '~'), " + st + ")"
}

// texts runs a query of one text column and sorts what it gives.
func texts(t require.TestingT, eng engine.Engine, dir, sql string, source engine.Source) []string {
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

func (o *tableOf) want() []string {
	out := []string{}
	for _, i := range o.rows {
		out = append(out, i.text())
	}
	slices.Sort(out)
	return out
}

// changes are what turned one model into the other, as the feed tells it.
func changes(before, after map[int64]item) []string {
	out := []string{}
	for id, was := range before {
		switch is, stays := after[id]; {
		case !stays:
			out = append(out, "delete "+was.text())
		case is.text() != was.text():
			out = append(out, "update_preimage "+was.text(), "update_postimage "+is.text())
		}
	}
	for id, is := range after {
		if _, was := before[id]; !was {
			out = append(out, "insert "+is.text())
		}
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

// dice draws a number below n.
type dice func(n int) int

// drawItem is a row with an id.
func (k kind) drawItem(roll dice, id int64, next *int) item {
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

// Whatever a table asks of its writers, and whatever is written to it one after the
// other: we, the extension and delta-rs read the rows of a plain model, the feed of
// changes has exactly the difference, and delta-rs can go on writing.
func TestEveryTableIsWritten(t *testing.T) {
	eng, rs := newTestEngine(t), startDeltaRS(t)
	base := t.TempDir()
	scratch := func() string {
		dir := base + "/" + uuid.NewString()
		require.NoError(t, os.Mkdir(dir, 0o750))
		return dir
	}
	for _, k := range []kind{
		{}, {vectors: true}, {feed: true, partitioned: true}, {mapping: "name", nested: true}, {mapping: "name", partitioned: true, vectors: true, feed: true, nested: true, keyed: true},
		{mapping: "id", nested: true}, {mapping: "id", partitioned: true, vectors: true, feed: true, nested: true, keyed: true}, {vectors: true, feed: true, nested: true, partitioned: true},
		{tracked: true, nested: true}, {tracked: true, vectors: true, feed: true, partitioned: true, keyed: true}, {tracked: true, mapping: "name", partitioned: true, feed: true, nested: true},
		{tracked: true, mapping: "id", nested: true}, {tracked: true, mapping: "id", partitioned: true, vectors: true, keyed: true},
	} {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("%+v %d", k, seed), func(t *testing.T) {
			roll := dice(rand.New(rand.NewPCG(seed, 0)).IntN) //nolint:gosec // the seed is in the name of the test
			o := newTableOf(t, eng, k, scratch)
			next := 0
			o.rows[1], o.rows[2], o.rows[3] = k.drawItem(roll, 1, &next), k.drawItem(roll, 2, &next), k.drawItem(roll, 3, &next)
			require.NoError(t, o.insert(o.rows[1], o.rows[2], o.rows[3]))
			if k.tracked {
				o.checkIDs(t, rs, nil)
			}
			for range 7 {
				o.step(roll, rs, &next)
			}
		})
	}
}

// step is one write, and what everybody reads then.
func (o *tableOf) step(roll dice, rs *deltaRS, next *int) {
	before, version := maps.Clone(o.rows), o.load().Version()
	ids := slices.Sorted(maps.Keys(o.rows))
	switch op := []string{"insert", "merge", "merge delete", "update", "update", "delete", "delete"}[roll(7)]; op {
	case "insert":
		var items []item
		for range 1 + roll(4) {
			*next++
			items = append(items, o.drawItem(roll, int64(100+*next), next))
		}
		require.NoError(o.t, o.insert(items...))
		for _, i := range items {
			o.rows[i.ID] = i
		}
	case "merge", "merge delete":
		some := map[int64]item{}
		for range 1 + roll(4) {
			id := int64(1 + roll(6))
			some[id] = o.drawItem(roll, id, next)
		}
		matched := dml.MatchedUpdate
		if op == "merge delete" {
			matched = dml.MatchedDelete
		}
		require.NoError(o.t, o.merge(matched, slices.Collect(maps.Values(some))...))
		for id, i := range some {
			if matched == dml.MatchedUpdate {
				o.rows[id] = i
			} else {
				delete(o.rows, id)
			}
		}
	default:
		some := slices.DeleteFunc(ids, func(int64) bool { return roll(2) == 0 })
		where := "id IN (0"
		for _, id := range some {
			where += ", " + strconv.FormatInt(id, 10)
		}
		if op == "delete" {
			require.NoError(o.t, o.delete(where+")"))
		} else {
			require.NoError(o.t, o.update(where+")", "v || '+'"))
		}
		for _, id := range some {
			if i := o.rows[id]; op == "delete" {
				delete(o.rows, id)
			} else {
				i.V = ptr(*i.V + "+")
				o.rows[id] = i
			}
		}
	}
	o.check(o.t, rs, before, version)
	if roll(6) == 0 && o.mapping == "" && !o.keyed && !o.nested && !o.tracked {
		*next++
		i := item{ID: int64(1000 + *next), V: ptr("rs"), P: ptr("a")}
		_, failed := ask[int](o.t, rs, map[string]any{"do": "append", "path": o.dir, "id": i.ID, "v": "rs", "p": "a"})
		require.Empty(o.t, failed)
		o.rows[i.ID] = i
		require.Equal(o.t, o.want(), o.read(true))
	}
}

// check reads the table as everybody does who can.
func (o *tableOf) check(t require.TestingT, rs *deltaRS, before map[int64]item, version int64) {
	want := o.want()
	require.Equal(t, want, o.read(true), "by list")
	if o.mapping == "" || !o.partitioned {
		require.Equal(t, want, o.read(false), "through the log")
	}
	got, failed := ask[[]string](t, rs, map[string]any{"do": "rows", "path": o.dir})
	require.Empty(t, failed)
	require.Equal(t, want, got, "delta-rs")
	if o.tracked {
		o.checkIDs(t, rs, before)
	}
	if !o.feed || o.load().Version() == version {
		return
	}
	if o.mapping == "" {
		got, failed = ask[[]string](t, rs, map[string]any{"do": "feed", "path": o.dir, "version": version + 1})
		require.Empty(t, failed)
		require.Equal(t, changes(before, o.rows), got, "feed")
	} else if got, told := o.ownFeed(version + 1); told { // delta-rs refuses
		require.Equal(t, changes(before, o.rows), got, "feed")
	}
}

// ownFeed reads the change files of a version by the names that they have in files.
// It is false for a version without any, which only adds files or only removes them.
func (o *tableOf) ownFeed(version int64) ([]string, bool) {
	text, err := os.ReadFile(fmt.Sprintf("%s/_delta_log/%020d.json", o.dir, version))
	require.NoError(o.t, err)
	type file struct {
		Path            string             `json:"path"`
		PartitionValues map[string]*string `json:"partitionValues"`
	}
	var groups []engine.FileGroup
	adds, removes := 0, 0
	snap := o.load()
	for line := range strings.Lines(string(text)) {
		var action struct{ Cdc, Add, Remove *file }
		require.NoError(o.t, json.Unmarshal([]byte(line), &action))
		if action.Add != nil {
			adds++
		}
		if action.Remove != nil {
			removes++
		}
		if action.Cdc == nil {
			continue
		}
		group := engine.FileGroup{Paths: []string{action.Cdc.Path}}
		for i, f := range snap.StoredFields() {
			if v, ok := action.Cdc.PartitionValues[f.Name]; ok {
				group.Partition = map[string]*string{o.columns[i].Name: v}
			}
		}
		groups = append(groups, group)
	}
	if len(groups) == 0 {
		require.True(o.t, adds == 0 || removes == 0, "files that replace others tell nothing")
		return nil, false
	}
	columns := append(slices.Clone(o.columns), engine.Column{Name: "_change_type", Type: "VARCHAR"})
	stored := slices.Clone(columns)
	for i, f := range snap.StoredFields() {
		stored[i] = engine.Column{Name: f.Name, Type: delta.DuckDBType(f.Type)}
	}
	source := o.source(snap)
	source.Files = engine.NewFileList(columns, false, groups).WithStored(stored)
	return texts(o.t, o.eng, o.dir, "SELECT _change_type || ' ' || "+o.cells()+" FROM "+source.Relation(), source), true
}
