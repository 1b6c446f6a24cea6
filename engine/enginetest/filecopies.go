package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

func (s suite) listReused(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	session := s.open(t, root)
	var seen []engine.Source
	for i := range int64(3) {
		seen = append(seen, table.Listed())
		table.Append(t, i*10, i*10+10)
	}
	for range 2 {
		for i, src := range seen {
			require.Len(t, readAll(t, session, src), 10*i)
			require.Equal(t, readAll(t, session, table.At(src.Version)), readAll(t, session, src))
		}
	}
	t.Run("GoneInTheEnd", func(t *testing.T) {
		table.Append(t, 0, 1)
		first := table.Listed()
		readAll(t, session, first)
		for i := range 600 {
			src := table.Listed()
			src.Identity = strconv.Itoa(i)
			Rows(t, session, engine.Statement{SQL: "SELECT 1 FROM " + src.Relation() + " LIMIT 1", Sources: []engine.Source{src}})
		}
		_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM " + first.Relation()})
		require.Equal(t, "table_not_found", failure(t, err).Class, "lists pile up")
		readAll(t, session, first)
	})
}

func (s suite) listBarrier(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 10)
	session := s.open(t, root)
	src := table.Listed()
	sql := "SELECT id, random() AS r FROM " + src.Relation() + " WHERE name = 'n3'"
	b := engine.Barrier{Name: engine.BarrierName(src, sql), SQL: sql, Source: src}
	read := engine.Statement{SQL: "SELECT * FROM " + b.Relation(), Barriers: []engine.Barrier{b}}
	first := Rows(t, session, read)
	require.Len(t, first, 1)
	require.Equal(t, first, Rows(t, session, read), "the copy is reused")
	// Both kinds of sources in one statement.
	both := read
	both.SQL = "SELECT (SELECT count(*) FROM " + b.Relation() + "), (SELECT count(*) FROM " + table.Latest().Relation() + ")"
	both.Sources = []engine.Source{table.Latest()}
	require.Equal(t, []string{"1|10"}, Rows(t, session, both))
	require.Equal(t, first, Rows(t, session, read), "the copy is reused")
	require.NoError(t, session.Idle(context.Background(), 0))
	require.NotEqual(t, first, Rows(t, session, read), "the copy is dropped")
}

func (s suite) listFilesGone(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 10)
	table.Append(t, 10, 20)
	st := engine.Statement{SQL: "SELECT sum(id)::BIGINT FROM " + table.Listed().Relation(), Sources: []engine.Source{table.Listed()}}
	for _, name := range table.files {
		path := filepath.Join(table.Dir, name)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, when := range []string{"before", "after"} {
			t.Run(name+" vanished "+when+" the first read", func(t *testing.T) {
				session := s.open(t, root)
				if when == "after" {
					require.Equal(t, []string{"190"}, Rows(t, session, st))
				}
				require.NoError(t, os.Remove(path))
				_, err = TryRows(context.Background(), session, st)
				require.NoError(t, os.WriteFile(path, content, 0o644))
				e := failure(t, err)
				require.Equal(t, engine.KindIO, e.Kind, "%+v", e)
				require.Equal(t, "file_not_found", e.Class, "%+v", e)
				require.False(t, session.Broken())
				require.Equal(t, []string{"190"}, Rows(t, session, st))
			})
		}
		t.Run(name+" damaged", func(t *testing.T) {
			session := s.open(t, root)
			require.NoError(t, os.WriteFile(path, content[:len(content)-7], 0o644))
			_, err = TryRows(context.Background(), session, st)
			require.NoError(t, os.WriteFile(path, content, 0o644))
			require.Equal(t, engine.KindIO, failure(t, err).Kind, "%v", withText(err))
			require.True(t, session.Broken(), "%v", withText(err))
		})
	}
}
