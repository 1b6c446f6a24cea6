package duckdb_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/sqltype"
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

// Damage in a file of the session's own ends the statement only: no repair of it has to be
// seen. Damage in a table's file ends the session.
func TestDamageInScratchBreaksNoSession(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(scratch, link))
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: link})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	written, err := session.(engine.Writer).Write(t.Context(), engine.WriteStatement{
		Statement: engine.Statement{SQL: "SELECT (range // 7)::VARCHAR AS n FROM range(50000)"}, Layout: engine.FileLayout{Codec: "zstd"},
	})
	require.NoError(t, err)
	require.Len(t, written, 1)
	content, err := os.ReadFile(filepath.Join(scratch, written[0].Name)) //nolint:gosec // of the test
	require.NoError(t, err)
	for at := 100; at < len(content)*3/4; at += 100 {
		content[at] ^= 0xff
	}
	read := func(location, name string) error {
		list := engine.NewFileList([]engine.Column{{Name: "n", Type: sqltype.Varchar}}, false, []engine.FileGroup{{Paths: []string{name}}})
		src := engine.Source{Location: location, Identity: location + name, Files: list}
		_, err := enginetest.TryRows(t.Context(), session,
			engine.Statement{SQL: "SELECT max(n) FROM " + src.Relation(), Sources: []engine.Source{src}})
		return err
	}
	require.NoError(t, os.WriteFile(filepath.Join(scratch, "damaged.parquet"), content, 0o600))
	var refused *engine.Error
	require.ErrorAs(t, read(link, "damaged.parquet"), &refused)
	require.Equal(t, engine.KindIO, refused.Kind)
	require.False(t, session.Broken())
	require.NoError(t, read(link, written[0].Name))
	require.NoError(t, os.WriteFile(filepath.Join(root, "damaged.parquet"), content, 0o600))
	require.ErrorAs(t, read(root, "damaged.parquet"), &refused)
	require.Equal(t, engine.KindIO, refused.Kind)
	require.True(t, session.Broken())
}
