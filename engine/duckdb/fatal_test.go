package duckdb_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// defect makes DuckDB fail one of its own assertions.
const defect = "SELECT * FROM repeat_row(1, num_rows = -1)"

func TestFatalErrorBreaksOneSessionOnly(t *testing.T) {
	root := t.TempDir()
	table := enginetest.NewTable(t, root, "t")
	table.Append(t, 0, 3)
	src := table.Latest()
	good := engine.Statement{SQL: "SELECT * FROM " + src.Relation(), Sources: []engine.Source{src}}
	e := newEngine(t)
	open := func() engine.Session {
		s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
		require.NoError(t, err)
		return s
	}
	broken, other := open(), open()
	require.Len(t, enginetest.Rows(t, broken, good), 3)
	require.Len(t, enginetest.Rows(t, other, good), 3)

	_, err := enginetest.TryRows(context.Background(), broken, engine.Statement{SQL: defect})
	require.ErrorIs(t, err, engine.ErrFatal)
	require.NotContains(t, err.Error(), "cast", "the engine's text stays in the log")
	require.True(t, broken.Broken())
	_, err = enginetest.TryRows(context.Background(), broken, good)
	require.ErrorIs(t, err, engine.ErrFatal, "a broken session stays broken")
	require.NoError(t, broken.Idle(context.Background(), 0))
	require.NoError(t, broken.Close())

	for _, s := range []engine.Session{other, open()} {
		require.False(t, s.Broken())
		require.Len(t, enginetest.Rows(t, s, good), 3)
		require.NoError(t, s.Close())
	}
}
