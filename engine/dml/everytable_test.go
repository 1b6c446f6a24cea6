package dml_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// changes returns the differences between two states of the model in the form of
// the change data feed.
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

// TestEveryTableIsWritten applies random writes to tables of every kind. The
// engine, by both ways of reading, and delta-rs return the model's rows, the change
// data feed holds exactly the differences, and delta-rs can continue to write.
func TestEveryTableIsWritten(t *testing.T) {
	eng, rs := newTestEngine(t), oracletest.StartProcess(t, deltaRSScript)
	base := t.TempDir()
	scratch := func() string {
		dir := base + "/" + uuid.NewString()
		require.NoError(t, os.Mkdir(dir, 0o750))
		return dir
	}
	for _, k := range []tableKind{
		{}, {vectors: true}, {feed: true, partitioned: true}, {mapping: "name", nested: true},
		{mapping: "name", partitioned: true, vectors: true, feed: true, nested: true, keyed: true},
		{mapping: "id", nested: true}, {mapping: "id", partitioned: true, vectors: true, feed: true, nested: true, keyed: true},
		{vectors: true, feed: true, nested: true, partitioned: true},
		{tracked: true, nested: true}, {tracked: true, vectors: true, feed: true, partitioned: true, keyed: true},
		{tracked: true, mapping: "name", partitioned: true, feed: true, nested: true},
		{tracked: true, mapping: "id", nested: true}, {tracked: true, mapping: "id", partitioned: true, vectors: true, keyed: true},
	} {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("%+v %d", k, seed), func(t *testing.T) {
			roll := drawFunc(rand.New(rand.NewPCG(seed, 0)).IntN) //nolint:gosec // the seed is in the name of the test
			o := newModelTable(t, eng, k, scratch)
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

// step runs one random write and checks the table.
func (o *modelTable) step(roll drawFunc, rs *oracletest.Process, next *int) {
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
		var gone []int64
		for id := int64(1); id <= 8; id++ {
			if _, named := some[id]; !named && roll(3) == 0 {
				gone = append(gone, id)
			}
		}
		require.NoError(o.t, o.merge(matched, gone, slices.Collect(maps.Values(some))...))
		for _, id := range gone {
			delete(o.rows, id)
		}
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
		_, failed := oracletest.Ask[int](o.t, rs, map[string]any{"do": "append", "path": o.dir, "id": i.ID, "v": "rs", "p": "a"})
		require.Empty(o.t, failed)
		o.rows[i.ID] = i
		require.Equal(o.t, o.wantRows(), o.read(true))
	}
}

// check compares what each reader returns with the model.
func (o *modelTable) check(t require.TestingT, rs *oracletest.Process, before map[int64]item, version int64) {
	want := o.wantRows()
	require.Equal(t, want, o.read(true), "by list")
	if o.mapping == "" || !o.partitioned {
		require.Equal(t, want, o.read(false), "through the log")
	}
	got, failed := oracletest.Ask[[]string](t, rs, map[string]any{"do": "rows", "path": o.dir})
	require.Empty(t, failed)
	require.Equal(t, want, got, "delta-rs")
	if o.tracked {
		o.checkIDs(t, rs, before)
	}
	if !o.feed || o.load().Version() == version {
		return
	}
	if o.mapping == "" {
		got, failed = oracletest.Ask[[]string](t, rs, map[string]any{"do": "feed", "path": o.dir, "version": version + 1})
		require.Empty(t, failed)
		require.Equal(t, changes(before, o.rows), got, "feed")
	} else if got, told := o.readFeed(version + 1); told { // delta-rs refuses
		require.Equal(t, changes(before, o.rows), got, "feed")
	}
}

// readFeed returns the rows of a version's change data files. It reports false for
// a version without any, which only adds files or only removes them.
func (o *modelTable) readFeed(version int64) ([]string, bool) {
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
		require.True(o.t, adds == 0 || removes == 0, "a commit that adds and removes files has change data files")
		return nil, false
	}
	columns := append(slices.Clone(o.columns), engine.Column{Name: "_change_type", Type: sqltype.Varchar})
	stored := slices.Clone(columns)
	for i, f := range snap.StoredFields() {
		stored[i] = engine.Column{Name: f.Name, Type: deltasql.Type(f.Type)}
	}
	source := o.source(snap)
	source.Files = engine.NewFileList(columns, false, groups).WithStored(stored)
	return queryTexts(o.t, o.eng, o.dir, "SELECT _change_type || ' ' || "+o.rowText()+" FROM "+source.Relation(), source), true
}
