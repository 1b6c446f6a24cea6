package dml_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/domain"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// restricted is a table whose columns have domains: rows of id, kind, parent and child.
type restricted struct {
	t       *testing.T
	dir     string
	eng     engine.Engine
	columns []engine.Column
	domains []dml.Domain
	// edit, if not nil, changes the table of each write.
	edit func(*dml.Table)
}

var (
	kindColumn   = domain.Column{Name: "kind", Type: delta.String}
	parentColumn = domain.Column{Name: "parent", Type: delta.String}
	childColumn  = domain.Column{Name: "child", Type: delta.Long}
)

func newRestricted(t *testing.T, eng engine.Engine) *restricted {
	r := &restricted{t: t, dir: t.TempDir(), eng: eng}
	schema := delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}}}
	for _, c := range []domain.Column{kindColumn, parentColumn, childColumn} {
		schema.Fields = append(schema.Fields, delta.Field{Name: c.Name, Type: c.Type, Nullable: true})
	}
	bucket, err := file.New(r.dir)
	require.NoError(t, err)
	snap, err := delta.Create(t.Context(), bucket, delta.CreateOptions{Schema: schema})
	require.NoError(t, err)
	for _, f := range snap.Schema().Fields {
		r.columns = append(r.columns, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
	}
	return r
}

func (r *restricted) load() *delta.Snapshot {
	bucket, err := file.New(r.dir)
	require.NoError(r.t, err)
	snap, err := delta.Load(r.t.Context(), bucket, delta.Options{})
	require.NoError(r.t, err)
	require.NoError(r.t, pruning.Load(r.t.Context(), snap))
	return snap
}

// source is the newest version as a list of files.
func (r *restricted) source() engine.Source {
	snap := r.load()
	list, ok := pruning.List(snap, r.columns, engine.Condition{})
	require.True(r.t, ok)
	return engine.Source{Location: r.dir, Version: snap.Version(), Identity: snap.Identity(), Files: list}
}

// write runs one write in a session that can read the folders of its sources.
func (r *restricted) write(do func(dml.Table, dml.Options) error) error {
	snap, scratch := r.load(), r.t.TempDir()
	set, err := constraint.Of(snap)
	require.NoError(r.t, err)
	roots := []string{r.dir}
	for _, d := range r.domains {
		for _, s := range d.Sources {
			roots = append(roots, s.Location)
		}
	}
	session, err := r.eng.Open(r.t.Context(), engine.SessionOptions{Roots: roots, Scratch: scratch})
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, session.Close()) }()
	table := dml.Table{Snapshot: snap, Columns: r.columns, Rules: set, Domains: r.domains,
		Source: engine.Source{Location: r.dir, Version: snap.Version(), Identity: snap.Identity()}}
	if r.edit != nil {
		r.edit(&table)
	}
	return do(table, dml.Options{Session: session.(dml.Session), Lease: lease, Scratch: scratch})
}

func (r *restricted) stage(o dml.Options, rows string) dml.Rows {
	staged, err := ingest.Stage(r.t.Context(), strings.NewReader(`{"rows":[`+rows+`]}`),
		ingest.Request{Format: staging.JSON, Columns: r.columns, Dir: o.Scratch, ShapeColumn: "shape"})
	require.NoError(r.t, err)
	return dml.Rows{File: staged.File, Columns: r.columns, Count: staged.Rows, ShapeColumn: "shape", Shapes: staged.Shapes}
}

func (r *restricted) insert(rows string) error {
	return r.write(func(t dml.Table, o dml.Options) error {
		_, err := dml.Insert(r.t.Context(), t, o, r.stage(o, rows))
		return err
	})
}

// merge merges on id.
func (r *restricted) merge(rows string, insert bool) error {
	return r.write(func(t dml.Table, o dml.Options) error {
		_, err := dml.Merge(r.t.Context(), t, o, dml.MergeRows{Rows: r.stage(o, rows), On: []string{"id"}, Matched: dml.MatchedUpdate,
			Insert: insert})
		return err
	})
}

// update gives columns new values in all rows; set has SQL by column.
func (r *restricted) update(set map[string]string) error {
	return r.write(func(t dml.Table, o dml.Options) error {
		list, ok := pruning.List(t.Snapshot, r.columns, engine.Condition{})
		require.True(r.t, ok)
		c := dml.Changes{List: list.WithPositions(engine.PositionColumns{File: "at_f", Row: "at_r"})}
		source, items := t.Source, []string{"at_f AS f", "at_r AS r"}
		source.Files = c.List
		for _, column := range r.columns {
			if value, ok := set[column.Name]; ok {
				items = append(items, "("+value+")::"+column.Type.String()+" AS "+dml.ChangeValue(len(c.Set)))
				c.Set = append(c.Set, column)
			}
		}
		files, err := o.Session.Write(r.t.Context(), engine.WriteStatement{Statement: engine.Statement{
			SQL: "SELECT " + strings.Join(items, ", ") + " FROM " + source.Relation(), Sources: []engine.Source{source}, Lease: lease,
		}})
		require.NoError(r.t, err)
		for _, f := range files {
			c.File, c.Count = f.Name, c.Count+f.Rows
		}
		_, err = dml.Update(r.t.Context(), t, o, c)
		return err
	})
}

// texts returns the rows of the table as kind|parent|child.
func (r *restricted) texts() []string {
	source := r.source()
	return queryTexts(r.t, r.eng, r.dir,
		"SELECT concat_ws('|', coalesce(kind, '~'), coalesce(parent, '~'), coalesce(child::VARCHAR, '~')) FROM "+source.Relation(), source)
}

// refused checks the refusal of a write by a domain.
func refused(t require.TestingT, err error, fields ...string) {
	var rows *dml.RowsError
	require.ErrorAs(t, err, &rows)
	require.Equal(t, "rule_violation", rows.ProblemCode())
	var got []string
	for field, message := range rows.FieldProblems() {
		require.Equal(t, "lies outside the domain of the column", message)
		got = append(got, field)
	}
	require.Equal(t, fields, got)
}

// domainRules are the rules of the column child, each of which allows 1 below the parent x
// and does not allow 2.
func domainRules(t *testing.T, eng engine.Engine) map[string]dml.Domain {
	lookup := newRestricted(t, eng)
	require.NoError(t, lookup.insert(`{"id":1,"parent":"x","child":1},{"id":2,"parent":"y","child":3}`))
	require.NoError(t, lookup.insert(`{"id":3,"parent":null,"child":2},{"id":4}`))
	source := lookup.source()
	from := domain.Source{From: source.Relation(), Column: childColumn}
	keyed := from
	keyed.ParentKey = parentColumn
	return map[string]dml.Domain{
		"listed":   {Rule: domain.Listed(childColumn, []string{"1", "3"})},
		"paired":   {Rule: domain.Paired(childColumn, parentColumn, []domain.Pair{{Parent: "x", Child: "1"}, {Parent: "y", Child: "3"}})},
		"within":   {Rule: domain.Within(childColumn, domain.Bounds{Min: "0", Max: "1", Inclusive: true})},
		"lookedup": {Rule: domain.LookedUp(childColumn, parentColumn, keyed), Sources: []engine.Source{source}},
	}
}

// TestDomainsOfWrites checks one row that each kind of rule accepts and one that it
// refuses, in every kind of write.
func TestDomainsOfWrites(t *testing.T) {
	eng := newTestEngine(t)
	for name, d := range domainRules(t, eng) {
		t.Run(name, func(t *testing.T) {
			r := newRestricted(t, eng)
			r.domains = []dml.Domain{d}
			require.NoError(t, r.insert(`{"id":1,"parent":"x","child":1},{"id":2,"parent":"x","child":null},{"id":3}`))
			refused(t, r.insert(`{"id":4,"parent":"x","child":1},{"id":5,"parent":"x","child":2},{"id":6,"parent":"x","child":2}`),
				"rows[1].child", "rows[2].child")
			require.NoError(t, r.merge(`{"id":2,"child":1},{"id":7,"parent":"x","child":1}`, true))
			refused(t, r.merge(`{"id":2,"child":2},{"id":8,"parent":"x","child":1}`, true), "rows[0].child")
			refused(t, r.merge(`{"id":1,"kind":"a"},{"id":9,"parent":"x","child":2}`, true), "rows[1].child")
			require.NoError(t, r.update(map[string]string{"child": "CASE WHEN parent = 'x' THEN 1 END"}))
			refused(t, r.update(map[string]string{"child": "2"}), "set.child")
			want := []string{"~|x|1", "~|x|1", "~|x|1", "~|~|~"}
			require.Equal(t, want, r.texts())
			parents := len(d.Rule.Columns) > 1
			for _, change := range []func() error{
				func() error { return r.update(map[string]string{"parent": "'y'"}) },
				func() error { return r.merge(`{"id":1,"parent":"y"}`, false) },
				func() error { return r.update(map[string]string{"parent": "NULL"}) },
			} {
				if err := change(); parents {
					require.Error(t, err, "the parent changes")
					require.Equal(t, want, r.texts())
				} else {
					require.NoError(t, err)
				}
			}
		})
	}
}

// TestReference checks a reference to another table, which is read when the row is
// written.
func TestReference(t *testing.T) {
	eng := newTestEngine(t)
	airlines, flights := newRestricted(t, eng), newRestricted(t, eng)
	require.NoError(t, airlines.insert(`{"id":1,"kind":"AA"},{"id":2}`))
	current := func() {
		source := airlines.source()
		flights.domains = []dml.Domain{{Sources: []engine.Source{source},
			Rule: domain.Referenced(kindColumn, domain.Source{From: source.Relation(), Column: kindColumn})}}
	}
	current()
	require.NoError(t, flights.insert(`{"id":1,"kind":"AA"},{"id":2,"kind":null}`))
	refused(t, flights.insert(`{"id":3,"kind":"UA"}`), "rows[0].kind")
	require.NoError(t, airlines.insert(`{"id":3,"kind":"UA"}`))
	current()
	require.NoError(t, flights.insert(`{"id":3,"kind":"UA"}`))
}

// TestRowsOutsideAreOnlyCheckedWhereTheyChange checks that values which were outside
// before a domain was set stay, unless a write gives the columns new values.
func TestRowsOutsideAreOnlyCheckedWhereTheyChange(t *testing.T) {
	r := newRestricted(t, newTestEngine(t))
	require.NoError(t, r.insert(`{"id":1,"kind":"a","parent":"old","child":9}`))
	r.domains = []dml.Domain{{Rule: domain.Paired(childColumn, parentColumn, []domain.Pair{{Parent: "x", Child: "1"}})}}
	require.NoError(t, r.update(map[string]string{"kind": "'b'"}))
	require.NoError(t, r.merge(`{"id":1,"kind":"c"}`, false))
	require.NoError(t, r.merge(`{"id":1,"kind":"c"},{"id":2,"kind":"d"}`, true), "the added row has no child")
	refused(t, r.update(map[string]string{"parent": "'older'"}), "set.child")
	refused(t, r.merge(`{"id":1,"parent":"older"}`, true), "rows[0].child")
	require.Equal(t, []string{"c|old|9", "d|~|~"}, r.texts())
}

// TestDomainsOfHiddenColumns checks that messages name no domain of a column, or with a
// parent column, that the writer does not see.
func TestDomainsOfHiddenColumns(t *testing.T) {
	r := newRestricted(t, newTestEngine(t))
	r.domains = []dml.Domain{{Rule: domain.Paired(childColumn, parentColumn, []domain.Pair{{Parent: "x", Child: "1"}})}}
	for _, edit := range []func(*dml.Table){
		func(t *dml.Table) { t.Hidden = []string{"child"} }, func(t *dml.Table) { t.Masked = []string{"parent"} },
	} {
		r.edit = edit
		var rows *dml.RowsError
		require.ErrorAs(t, r.insert(`{"id":1,"parent":"x","child":2}`), &rows)
		require.Equal(t, []dml.Breach{{Row: 0, Message: "breaks a rule of the table"}}, rows.Breaches)
		require.False(t, rows.Quiet, "every value is the writer's")
	}
	r.edit = nil
	require.NoError(t, r.insert(`{"id":1,"parent":"x","child":1}`))
	r.edit = func(t *dml.Table) { t.Hidden = []string{"parent"} }
	var rows *dml.RowsError
	require.ErrorAs(t, r.update(map[string]string{"child": "2"}), &rows)
	require.True(t, rows.Quiet, "the outcome depends on hidden parents")
}

// TestDomainWithoutSource checks that rows with a value get the error of a domain whose
// values are unknown, and that other rows are written.
func TestDomainWithoutSource(t *testing.T) {
	gone := errors.New("gone")
	r := newRestricted(t, newTestEngine(t))
	r.domains = []dml.Domain{{Rule: domain.Nothing(childColumn, parentColumn), Err: gone}}
	require.NoError(t, r.insert(`{"id":1,"parent":"x"}`))
	require.NoError(t, r.update(map[string]string{"kind": "'a'"}))
	require.ErrorIs(t, r.insert(`{"id":2,"parent":"x","child":1}`), gone)
	require.ErrorIs(t, r.update(map[string]string{"child": "1"}), gone)
	require.NoError(t, r.update(map[string]string{"child": "NULL"}))
	r.edit = func(t *dml.Table) { t.Filter = "r.kind = 'a'" }
	require.ErrorIs(t, r.insert(`{"id":2,"kind":"b","child":1}`), gone, "a domain precedes the row filter")
}

// TestDomainsAgainstModel applies random writes to a table with domains. Each is refused
// exactly if a row that it adds or changes lies outside.
func TestDomainsAgainstModel(t *testing.T) {
	eng := newTestEngine(t)
	pairs := map[string][]string{"x": {"1", "2"}, "y": {"2", "3"}}
	var list []domain.Pair
	for _, parent := range slices.Sorted(maps.Keys(pairs)) {
		for _, child := range pairs[parent] {
			list = append(list, domain.Pair{Parent: parent, Child: child})
		}
	}
	domains := []dml.Domain{{Rule: domain.Listed(kindColumn, []string{"a", "b"})}, {Rule: domain.Paired(childColumn, parentColumn, list)}}
	value := rapid.SampledFrom([]string{"null", `"a"`, `"b"`, `"c"`})
	parent := rapid.SampledFrom([]string{"null", `"x"`, `"y"`, `"z"`})
	child := rapid.SampledFrom([]string{"null", "1", "2", "3"})
	draws := map[string]*rapid.Generator[string]{"kind": value, "parent": parent, "child": child}
	allowed := func(row map[string]string) bool {
		return row["kind"] != `"c"` && (row["child"] == "null" || slices.Contains(pairs[strings.Trim(row["parent"], `"`)], row["child"]))
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := newRestricted(t, eng)
		model := map[string]map[string]string{}
		r.domains = domains
		for range rapid.IntRange(1, 4).Draw(rt, "writes") {
			next, text, ok := maps.Clone(model), []string{}, true
			ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3", "4"}), 1, 3, rapid.ID[string]).Draw(rt, "ids")
			for _, id := range ids {
				row := map[string]string{"kind": "null", "parent": "null", "child": "null"}
				maps.Copy(row, model[id])
				items := []string{`"id":` + id}
				for _, column := range []string{"kind", "parent", "child"} {
					if rapid.Bool().Draw(rt, "names") {
						row[column] = draws[column].Draw(rt, column)
						items = append(items, `"`+column+`":`+row[column])
					}
				}
				next[id], text, ok = row, append(text, "{"+strings.Join(items, ",")+"}"), ok && allowed(row)
			}
			err := r.merge(strings.Join(text, ","), true)
			require.Equal(rt, ok, err == nil, "%v: %v", text, err)
			if ok {
				model = next
			}
		}
		want := []string{}
		for _, row := range model {
			cells := []string{row["kind"], row["parent"], row["child"]}
			want = append(want, strings.NewReplacer("null", "~", `"`, "").Replace(strings.Join(cells, "|")))
		}
		slices.Sort(want)
		require.Equal(rt, want, r.texts())
	})
}
