package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

func (s suite) barrier(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 1000)
	src := table.Latest()
	barrier := func(sql string) engine.Barrier {
		return engine.Barrier{Name: engine.BarrierName(src, sql), SQL: sql, Source: src}
	}
	read := func(b engine.Barrier) engine.Statement {
		return engine.Statement{SQL: "SELECT * FROM " + b.Relation(), Barriers: []engine.Barrier{b}}
	}
	t.Run("HoldsWhatItSelects", func(t *testing.T) {
		session := s.open(t, root)
		b := barrier("SELECT id, NULL AS name FROM " + src.Relation() + " WHERE id BETWEEN 3 AND 4")
		require.Equal(t, []string{"3|(null)", "4|(null)"}, Rows(t, session, read(b)))
	})
	t.Run("TakesParameters", func(t *testing.T) {
		session := s.open(t, root)
		b := barrier("SELECT id, $key || 's' AS name FROM " + src.Relation() + " WHERE id = 3")
		_, err := TryRows(context.Background(), session, read(b))
		require.NotNil(t, failure(t, err), "a parameter without its value")
		b.Args.Named = map[string]any{"key": "hush"}
		require.Equal(t, []string{"3|hushs"}, Rows(t, session, read(b)))
		require.Equal(t, []string{"3|hushs"}, Rows(t, session, read(b)))
		two := b
		two.Name, two.SQL = "flt_two", b.SQL+"); SELECT (1"
		_, err = TryRows(context.Background(), session, read(two))
		require.Equal(t, engine.KindNotSelect, failure(t, err).Kind)
		require.Equal(t, []string{"3|hushs"}, Rows(t, session, read(b)), "the session goes on")
	})
	t.Run("Indexed", func(t *testing.T) {
		session := s.open(t, root)
		// Each number has two rows that are far apart. One text is frequent, one
		// number is in quotes, and some rows have NULL.
		b := barrier(`SELECT id, id % 500 AS "n ""o"" 'q'", CASE WHEN id < 900 THEN 'many' ELSE name END AS name FROM ` + src.Relation() +
			" ORDER BY hash(id)")
		asked := func(column, where string) engine.Statement {
			by := b
			by.Index = column
			return engine.Statement{SQL: "SELECT id FROM " + b.Relation() + " WHERE " + where, Barriers: []engine.Barrier{by}}
		}
		wheres := []string{`"n ""o"" 'q'" = 7`, `"n ""o"" 'q'" = 499`, `"n ""o"" 'q'" = 5000`, `"n ""o"" 'q'" IS NULL`, "name = 'many'",
			"name = 'n950'", "name = ''"}
		var plain [][]string
		for _, where := range wheres {
			plain = append(plain, Rows(t, session, asked("", where)))
		}
		require.Len(t, plain[0], 2)
		for _, column := range []string{`n "o" 'q'`, "name", "of no index", `n "o" 'q'`, ""} {
			for i, where := range wheres {
				require.Equal(t, plain[i], Rows(t, session, asked(column, where)), "%s by %s", where, column)
			}
		}
		require.NoError(t, session.Idle(context.Background(), 0))
		require.Equal(t, plain[0], Rows(t, session, asked("name", wheres[0])), "created again, with its index")
	})
	t.Run("OneAmongSources", func(t *testing.T) {
		session := s.open(t, root)
		b := barrier("SELECT id FROM " + src.Relation() + " WHERE id < 5")
		require.Equal(t, []string{"5|1000"}, Rows(t, session, engine.Statement{
			SQL:     "SELECT (SELECT count(*) FROM " + b.Relation() + "), count(*) FROM " + src.Relation(),
			Sources: []engine.Source{src}, Barriers: []engine.Barrier{b, b},
		}))
	})
	t.Run("KeptUntilIdleDropsIt", func(t *testing.T) {
		session := s.open(t, root)
		// Its content differs each time it is created.
		b := barrier("SELECT id, random() AS r FROM " + src.Relation())
		first := Rows(t, session, read(b))
		require.Equal(t, first, Rows(t, session, read(b)), "the copy is reused")
		require.NoError(t, session.Idle(context.Background(), 1<<30))
		require.Equal(t, first, Rows(t, session, read(b)), "the copy fits and is kept")
		require.NoError(t, session.Idle(context.Background(), 0))
		require.NotEqual(t, first, Rows(t, session, read(b)), "the copy is dropped")
	})
	t.Run("GoneWhenNotAskedFor", func(t *testing.T) {
		session := s.open(t, root)
		b := barrier("SELECT id FROM " + src.Relation())
		Rows(t, session, read(b))
		require.NoError(t, session.Idle(context.Background(), 0))
		_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM " + b.Relation()})
		require.Equal(t, "table_not_found", failure(t, err).Class)
	})
	t.Run("LeastRecentlyUsedGoesFirst", func(t *testing.T) {
		session := s.open(t, root)
		big := func(i int) engine.Barrier {
			return barrier("SELECT " + strconv.Itoa(i) + " AS n, random() AS r, x.range AS id FROM range(400000) x, (SELECT 1 FROM " +
				src.Relation() + " LIMIT 1)")
		}
		sum := func(b engine.Barrier) []string {
			return Rows(t, session, engine.Statement{SQL: "SELECT max(r) FROM " + b.Relation(), Barriers: []engine.Barrier{b}})
		}
		one, two := sum(big(1)), sum(big(2))
		require.Equal(t, one, sum(big(1)))
		// About 12 MB each: there is room for only one.
		require.NoError(t, session.Idle(context.Background(), 16<<20))
		require.Equal(t, one, sum(big(1)))
		require.NotEqual(t, two, sum(big(2)))
	})
	t.Run("FailureLeavesNothing", func(t *testing.T) {
		session := s.open(t, root)
		b := barrier("SELECT name::INTEGER AS n FROM " + src.Relation())
		_, err := TryRows(context.Background(), session, read(b))
		e := failure(t, err)
		require.Equal(t, "conversion", e.Class)
		require.Equal(t, -1, e.Position, "positions refer to the user's SQL only")
		_, err = TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM " + b.Relation()})
		require.Equal(t, "table_not_found", failure(t, err).Class)
	})
	t.Run("OnlyAQuery", func(t *testing.T) {
		session := s.open(t, root)
		for _, sql := range []string{"SELECT 1); SELECT (2", "SELECT 1; DROP TABLE x", ""} {
			_, err := TryRows(context.Background(), session, read(barrier(sql)))
			require.Error(t, err, sql)
		}
		alive(t, session)
	})
}

func (s suite) version(t *testing.T) {
	t.Run("FixedWhileCommitsLand", func(t *testing.T) {
		root := t.TempDir()
		table := NewTable(t, root, "t")
		session := s.open(t, root)
		total := func(v int64) string {
			src := table.At(v)
			return Rows(t, session, engine.Statement{SQL: "SELECT count(*), sum(id)::BIGINT FROM " + src.Relation(),
				Sources: []engine.Source{src}})[0]
		}
		want := []string{"0|(null)"}
		for v := int64(1); v <= 5; v++ {
			table.Append(t, (v-1)*10, v*10)
			n := v * 10
			want = append(want, strconv.FormatInt(n, 10)+"|"+strconv.FormatInt(n*(n-1)/2, 10))
			require.Equal(t, want[v], total(v))
			require.Equal(t, want[v-1], total(v-1), "an older version changed")
			require.Equal(t, want[0], total(0), "the first version changed")
		}
	})
	t.Run("TwoVersionsInOneStatement", func(t *testing.T) {
		root := t.TempDir()
		table := NewTable(t, root, "t")
		table.Append(t, 0, 10)
		table.Append(t, 10, 25)
		session := s.open(t, root)
		old, now := table.At(1), table.At(2)
		require.Equal(t, []string{"15"}, Rows(t, session, engine.Statement{
			SQL:     "SELECT count(*) FROM (SELECT id FROM " + now.Relation() + " EXCEPT SELECT id FROM " + old.Relation() + ")",
			Sources: []engine.Source{old, now},
		}))
	})
	t.Run("MoreTablesThanStayAttached", func(t *testing.T) {
		root := t.TempDir()
		session := s.open(t, root)
		var tables []*Table
		for i := range 40 {
			table := NewTable(t, root, "t"+strconv.Itoa(i))
			table.Append(t, 0, int64(i+1))
			tables = append(tables, table)
		}
		for range 2 {
			for i, table := range tables {
				src := table.Latest()
				require.Equal(t, []string{strconv.Itoa(i + 1)}, Rows(t, session, engine.Statement{
					SQL: "SELECT count(*) FROM " + src.Relation(), Sources: []engine.Source{src}}))
			}
		}
		var all engine.Statement
		for _, table := range tables {
			src := table.Latest()
			if all.SQL != "" {
				all.SQL += " UNION ALL "
			}
			all.SQL += "SELECT id FROM " + src.Relation()
			all.Sources = append(all.Sources, src)
		}
		all.SQL = "SELECT count(*) FROM (" + all.SQL + ")"
		require.Equal(t, []string{"820"}, Rows(t, session, all))
	})
	t.Run("OddNames", func(t *testing.T) {
		root := t.TempDir()
		session := s.open(t, root)
		// Some become equal to another name when trimmed or cut. All tables have
		// files of the same names. A remote engine may refuse some of them.
		refusable := []string{`té`, `été`, `销售`, `a?b#c`}
		for i, name := range []string{`t`, `té`, `t `, `été`, `销售`, `a b`, `it's "q"`, `a?b#c`} {
			table := NewTable(t, root, name)
			table.Append(t, int64(i), int64(i+1))
			src := table.Latest()
			got, err := TryRows(context.Background(), session, engine.Statement{
				SQL: "SELECT id FROM " + src.Relation(), Sources: []engine.Source{src}})
			if err != nil && s.serve != nil && slices.Contains(refusable, name) {
				require.Equal(t, "location", failure(t, err).Class, name)
				continue
			}
			require.NoError(t, withText(err), name)
			require.Equal(t, []string{strconv.Itoa(i)}, got, name)
		}
	})
	t.Run("MissingVersion", func(t *testing.T) {
		root := t.TempDir()
		table := NewTable(t, root, "t")
		session := s.open(t, root)
		src := table.At(7)
		st := engine.Statement{SQL: "SELECT count(*) FROM " + src.Relation(), Sources: []engine.Source{src}}
		_, err := TryRows(context.Background(), session, st)
		require.Equal(t, engine.KindIO, failure(t, err).Kind)
		for range 7 {
			table.Append(t, 0, 1)
		}
		require.Equal(t, []string{"7"}, Rows(t, session, st), "a failed load of the log is not cached")
	})
	t.Run("VanishedFile", func(t *testing.T) {
		root := t.TempDir()
		table := NewTable(t, root, "t")
		table.Append(t, 0, 10)
		session := s.open(t, root)
		src := table.Latest()
		st := engine.Statement{SQL: "SELECT sum(id)::BIGINT FROM " + src.Relation(), Sources: []engine.Source{src}}
		file := filepath.Join(table.Dir, "part-00001.parquet")
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.Remove(file))
		_, err = TryRows(context.Background(), session, st)
		e := failure(t, err)
		require.Equal(t, engine.KindIO, e.Kind, "%+v", e)
		require.Equal(t, "file_not_found", e.Class, "%+v", e)
		require.False(t, session.Broken())
		require.NoError(t, os.WriteFile(file, content, 0o644))
		require.Equal(t, []string{"45"}, Rows(t, session, st))
	})
	t.Run("BrokenLog", func(t *testing.T) {
		root := t.TempDir()
		table := NewTable(t, root, "t")
		require.NoError(t, os.WriteFile(filepath.Join(table.Dir, "_delta_log", "00000000000000000001.json"), []byte(`{"add":`), 0o644))
		session := s.open(t, root)
		src := table.At(1)
		_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM " + src.Relation(), Sources: []engine.Source{src}})
		require.Equal(t, engine.KindIO, failure(t, err).Kind, "%v", withText(err))
		alive(t, session)
	})
}

func (s suite) lease(t *testing.T) {
	session := s.open(t)
	sorted := engine.Statement{SQL: "SELECT * FROM (" +
		"SELECT hash(range) AS h, range::VARCHAR || 'padding padding padding' AS p FROM range(3000000)) ORDER BY h DESC"}
	t.Run("TooSmall", func(t *testing.T) {
		st := sorted
		st.Lease = engine.Lease{Memory: 32 << 20, Threads: 2, TempBytes: 1 << 20}
		r, err := session.Query(context.Background(), st)
		if err == nil {
			_, err = count(context.Background(), r)
			require.NoError(t, r.Close())
		}
		require.ErrorIs(t, err, engine.ErrOutOfMemory, "%v", withText(err))
		alive(t, session)
	})
	t.Run("SpillsWithinTheCap", func(t *testing.T) {
		st := sorted
		st.Lease = engine.Lease{Memory: 64 << 20, Threads: 2, TempBytes: 1 << 30}
		r, err := session.Query(context.Background(), st)
		require.NoError(t, withText(err))
		n, err := count(context.Background(), r)
		require.NoError(t, r.Close())
		require.EqualValues(t, 3000000, n, "%v", withText(err))
	})
	t.Run("LargerAfterIdle", func(t *testing.T) {
		require.NoError(t, session.Idle(context.Background(), 0))
		st := sorted
		st.Lease = engine.Lease{Memory: 512 << 20, Threads: 1, TempBytes: 1 << 30}
		r, err := session.Query(context.Background(), st)
		require.NoError(t, withText(err))
		n, err := count(context.Background(), r)
		require.NoError(t, r.Close())
		require.EqualValues(t, 3000000, n, "%v", withText(err))
	})
}

func (s suite) isolation(t *testing.T) {
	mine, theirs := t.TempDir(), t.TempDir()
	own := NewTable(t, mine, "own")
	own.Append(t, 0, 3)
	foreign := NewTable(t, theirs, "foreign")
	foreign.Append(t, 0, 3)
	session := s.open(t, mine)
	src := own.Latest()
	good := engine.Statement{SQL: "SELECT count(*) FROM " + src.Relation(), Sources: []engine.Source{src}}
	refused := func(t *testing.T, src engine.Source) {
		t.Helper()
		_, err := TryRows(context.Background(), session,
			engine.Statement{SQL: "SELECT count(*) FROM " + src.Relation(), Sources: []engine.Source{src}})
		require.Error(t, err)
		require.Equal(t, []string{"3"}, Rows(t, session, good))
	}
	t.Run("TableOutside", func(t *testing.T) { refused(t, foreign.Latest()) })
	t.Run("DotsOutside", func(t *testing.T) {
		refused(t, engine.Source{Location: own.Dir + "/../../" + filepath.Base(theirs) + "/foreign", Version: 1})
	})
	t.Run("LinkOutside", func(t *testing.T) {
		require.NoError(t, os.Symlink(foreign.Dir, filepath.Join(mine, "link")))
		refused(t, engine.Source{Location: filepath.Join(mine, "link"), Version: 1})
	})
	t.Run("SiblingWithTheSamePrefix", func(t *testing.T) {
		sibling := NewTable(t, mine+"-more", "t")
		t.Cleanup(func() { os.RemoveAll(mine + "-more") })
		sibling.Append(t, 0, 3)
		refused(t, sibling.Latest())
	})
	t.Run("PercentSign", func(t *testing.T) {
		// A reader that decodes the name ends up in another directory.
		for _, name := range []string{"50%", "own%20", "x%2F..%2Fown", "%2E%2E"} {
			table := NewTable(t, mine, name)
			table.Append(t, 0, 5)
			src := table.Latest()
			got, err := TryRows(context.Background(), session, engine.Statement{
				SQL: "SELECT count(*) FROM " + src.Relation(), Sources: []engine.Source{src}})
			if err == nil {
				require.Equal(t, []string{"5"}, got, "another table's rows")
			}
		}
	})
	t.Run("RelativeLocation", func(t *testing.T) { refused(t, engine.Source{Location: "own", Version: 1}) })
	t.Run("FileOfTheLogOutside", func(t *testing.T) {
		escape := NewTable(t, mine, "escape")
		escape.Commit(t, map[string]any{"add": map[string]any{
			"path": filepath.Join(foreign.Dir, "part-00001.parquet"), "partitionValues": map[string]any{},
			"size": 1, "modificationTime": 1, "dataChange": true}})
		refused(t, escape.Latest())
		dots := NewTable(t, mine, "dots")
		dots.Commit(t, map[string]any{"add": map[string]any{
			"path": "../../" + filepath.Base(theirs) + "/foreign/part-00001.parquet", "partitionValues": map[string]any{},
			"size": 1, "modificationTime": 1, "dataChange": true}})
		refused(t, dots.Latest())
	})
	t.Run("NoCopySharedBetweenSessions", func(t *testing.T) {
		e := s.newEngine(t)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		a, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{mine}})
		require.NoError(t, err)
		b, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{mine}})
		require.NoError(t, err)
		flt := engine.Barrier{Name: "flt_mine", SQL: "SELECT id FROM " + src.Relation(), Source: src}
		Rows(t, a, engine.Statement{SQL: "SELECT * FROM " + flt.Relation(), Barriers: []engine.Barrier{flt}})
		_, err = TryRows(context.Background(), b, engine.Statement{SQL: "SELECT * FROM " + flt.Relation()})
		require.Equal(t, "table_not_found", failure(t, err).Class)
	})
}
