package enginetest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// Serve returns a fresh engine, and the root, s3://bucket/, under which its
// sessions see the directory dir. The suite closes the engine.
type Serve func(tb testing.TB, dir string) (e engine.Engine, root string)

// RunRemote runs the suite's tests of tables over a remote store.
func RunRemote(t *testing.T, serve Serve) {
	s := suite{serve: serve}
	t.Run("Barrier", s.barrier)
	t.Run("Version", s.version)
	t.Run("List", func(t *testing.T) {
		t.Run("EqualsTheLog", s.equalsTheLog)
		t.Run("Reused", s.listReused)
		t.Run("OddPaths", s.oddPaths)
		t.Run("PathsOutside", s.remoteOutside)
		t.Run("Partitions", s.partitions)
		t.Run("Positions", s.positions)
		t.Run("StoredNames", s.storedNames)
		t.Run("Parts", s.parts)
		t.Run("DeletedRows", s.deletedRows)
		t.Run("PhysicalTypes", s.physicalTypes)
		t.Run("LegacyLists", s.legacyLists)
		t.Run("DamagedFiles", s.damagedFiles)
		t.Run("Barrier", s.listBarrier)
	})
	t.Run("Write", s.writeSources)
}

// openRemote is openWith for a remote store: the session maps locations below the
// root of opts to the store.
func (s suite) openRemote(t *testing.T, opts engine.SessionOptions) engine.Session {
	t.Helper()
	dir := opts.Roots[0]
	e, root := s.serve(t, dir)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	opts.Roots = []string{root}
	inner, err := e.Open(context.Background(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	m := &relocated{Session: inner, from: dir, to: strings.TrimSuffix(root, "/")}
	if w, writes := inner.(engine.Writer); writes {
		return relocatedWriter{m, w}
	}
	return m
}

// relocated is a session that finds tables below the directory from at to.
type relocated struct {
	engine.Session
	from, to string
}

// relocatedWriter is a relocated session that writes.
type relocatedWriter struct {
	*relocated
	inner engine.Writer
}

// Write relocates the sources of st.
func (m relocatedWriter) Write(ctx context.Context, st engine.WriteStatement) ([]engine.DataFile, error) {
	st.Statement = m.relocate(st.Statement)
	return m.inner.Write(ctx, st)
}

// Query relocates the sources of st.
func (m *relocated) Query(ctx context.Context, st engine.Statement) (engine.Result, error) {
	return m.Session.Query(ctx, m.relocate(st))
}

// relocate relocates the sources of st. Their names depend on their locations, so
// it also changes the statement's SQL.
func (m *relocated) relocate(st engine.Statement) engine.Statement {
	var names []string
	move := func(src engine.Source) engine.Source {
		rest, below := strings.CutPrefix(src.Location, m.from)
		if !below {
			return src
		}
		old := src.Database()
		src.Location = m.to + rest
		names = append(names, old, src.Database())
		return src
	}
	sources, barriers := make([]engine.Source, len(st.Sources)), make([]engine.Barrier, len(st.Barriers))
	for i, src := range st.Sources {
		sources[i] = move(src)
	}
	for i, b := range st.Barriers {
		b.Source = move(b.Source)
		barriers[i] = b
	}
	renamed := strings.NewReplacer(names...)
	for i := range barriers {
		barriers[i].SQL = renamed.Replace(barriers[i].SQL)
	}
	st.Sources, st.Barriers, st.SQL = sources, barriers, renamed.Replace(st.SQL)
	return st
}

// remoteOutside names objects and locations that the session must not see.
func (s suite) remoteOutside(t *testing.T) {
	root := t.TempDir()
	n := &numberedFiles{dir: root + "/t"}
	n.put(t, "a.parquet")
	sibling := &numberedFiles{dir: root + "/sibling", paths: make([]string, 98)}
	sibling.put(t, "a.parquet")
	session := s.openRemote(t, engine.SessionOptions{Roots: []string{root}}).(*relocated)
	for _, path := range []string{
		"../sibling/a.parquet", "x/../../sibling/a.parquet", "..", "../", "./a.parquet", "x//a.parquet", "//a.parquet", "", "a.parquet/",
		"%2e%2e/sibling/a.parquet", "..%2fsibling/a.parquet", "*.parquet", "**", "a.parquet?s3_endpoint=127.0.0.1:1", "a.parquet\x00",
		"a.parquet\xff",
		"a.parquet'], filename=true) UNION ALL SELECT 1 -- ", "a.parquet#", "a.parquet?",
	} {
		src := n.list(path)
		_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM " + src.Relation(), Sources: []engine.Source{src}})
		require.Error(t, err, path)
		require.Equal(t, engine.KindIO, failure(t, err).Kind, "%q: %v", path, withText(err))
		require.Equal(t, []string{"0"}, readAll(t, session, n.list("a.parquet")))
	}
	beyond := session.to[:len(session.to)-1]
	for _, location := range []string{
		beyond, beyond + "/t", session.to + "2/t", session.to + "/../x/t", session.to + "/t/..", session.to + "//t", session.to + "/./t",
		"s3://", "s3:///t", "s3://elsewhere/t", "S3" + session.to[2:] + "/t", "s3a" + session.to[2:] + "/t", "http://127.0.0.1:1/t", n.dir,
		"t", "",
	} {
		for _, src := range []engine.Source{n.list("a.parquet"), {Location: "x", Identity: "x"}} {
			src.Location = location
			_, err := TryRows(context.Background(), session.Session,
				engine.Statement{SQL: "SELECT * FROM " + src.Relation(), Sources: []engine.Source{src}})
			require.Error(t, err, location)
			require.NotEqual(t, engine.KindFatal, failure(t, err).Kind, location)
		}
	}
	alive(t, session)
}
