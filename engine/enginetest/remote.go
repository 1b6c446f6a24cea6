package enginetest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// Serve returns a fresh engine and the root, s3://bucket/, under which its
// sessions see the directory dir. The suite closes the engine.
type Serve func(tb testing.TB, dir string) (e engine.Engine, root string)

// RunRemote runs what the suite says of tables, over a remote store.
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
		t.Run("PhysicalTypes", s.physicalTypes)
		t.Run("LegacyLists", s.legacyLists)
		t.Run("Barrier", s.listBarrier)
	})
}

// openRemote is open for a suite over a remote store: the session takes
// locations below dir for what they are there.
func (s suite) openRemote(t *testing.T, dir string) engine.Session {
	t.Helper()
	e, root := s.serve(t, dir)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	inner, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	return &moved{Session: inner, from: dir, to: strings.TrimSuffix(root, "/")}
}

// moved is a session to which tables below the directory from lie below to.
type moved struct {
	engine.Session
	from, to string
}

// Query moves the sources of st. Their names depend on where they lie, so those
// in the statement's SQL move along.
func (m *moved) Query(ctx context.Context, st engine.Statement) (engine.Result, error) {
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
	return m.Session.Query(ctx, st)
}

// remoteOutside names objects and places that the session must not see.
func (s suite) remoteOutside(t *testing.T) {
	root := t.TempDir()
	n := &numbered{dir: root + "/t"}
	n.put(t, "a.parquet")
	sibling := &numbered{dir: root + "/sibling", paths: make([]string, 98)}
	sibling.put(t, "a.parquet")
	session := s.openRemote(t, root).(*moved)
	for _, path := range []string{
		"../sibling/a.parquet", "x/../../sibling/a.parquet", "..", "../", "./a.parquet", "x//a.parquet", "//a.parquet", "", "a.parquet/",
		"%2e%2e/sibling/a.parquet", "..%2fsibling/a.parquet", "*.parquet", "**", "a.parquet?s3_endpoint=127.0.0.1:1", "a.parquet\x00", "a.parquet\xff",
		"a.parquet'], filename=true) UNION ALL SELECT 1 -- ", "a.parquet#", "a.parquet?",
	} {
		src := n.list(path)
		_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM " + src.Relation(), Sources: []engine.Source{src}})
		require.Error(t, err, path)
		require.Equal(t, engine.KindIO, failure(t, err).Kind, "%q: %v", path, explained(err))
		require.Equal(t, []string{"0"}, readAll(t, session, n.list("a.parquet")))
	}
	beyond := session.to[:len(session.to)-1]
	for _, location := range []string{
		beyond, beyond + "/t", session.to + "2/t", session.to + "/../x/t", session.to + "/t/..", session.to + "//t", session.to + "/./t",
		"s3://", "s3:///t", "s3://elsewhere/t", "S3" + session.to[2:] + "/t", "s3a" + session.to[2:] + "/t", "http://127.0.0.1:1/t", n.dir, "t", "",
	} {
		for _, src := range []engine.Source{n.list("a.parquet"), {Location: "x", Incarnation: "x"}} {
			src.Location = location
			_, err := TryRows(context.Background(), session.Session, engine.Statement{SQL: "SELECT * FROM " + src.Relation(), Sources: []engine.Source{src}})
			require.Error(t, err, location)
			require.NotEqual(t, engine.KindFatal, failure(t, err).Kind, location)
		}
	}
	alive(t, session)
}
