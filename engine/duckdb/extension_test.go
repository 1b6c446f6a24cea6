package duckdb_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// deltaExtension is the delta extension of the developer's tree.
func deltaExtension(t *testing.T) (content []byte, platform string) {
	t.Helper()
	newEngine(t)
	platform, err := extension.Platform()
	require.NoError(t, err)
	content, err = os.ReadFile(filepath.Join(oracletest.Extensions(t), duckdb.Version(), platform, "delta.duckdb_extension"))
	require.NoError(t, err)
	return content, platform
}

// place writes an extension file into a new extension directory.
func place(t *testing.T, platform string, content []byte) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, duckdb.Version(), platform, "delta.duckdb_extension")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, content, 0o644))
	return dir, file
}

func start(t *testing.T, dirs ...string) (*duckdb.Engine, error) {
	t.Helper()
	e, err := duckdb.New(context.Background(), duckdb.Options{ExtensionDirs: dirs, Extensions: []string{"delta"}, TempDir: t.TempDir()})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, e.Close()) })
	}
	return e, err
}

func TestBadExtensionFiles(t *testing.T) {
	good, platform := deltaExtension(t)
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)/2] ^= 1
	unsigned := append([]byte(nil), good...)
	clear(unsigned[len(unsigned)-256:])
	for name, content := range map[string][]byte{
		"empty":       {},
		"text":        []byte("not an extension"),
		"cut short":   good[:len(good)/2],
		"one bit off": flipped,
		"unsigned":    unsigned,
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := place(t, platform, content)
			_, err := start(t, dir)
			require.ErrorIs(t, err, extension.ErrUnusable)
			var e *extension.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "delta", e.Name)
			require.Equal(t, file, e.Path)
			require.Contains(t, err.Error(), "lakewarden extensions install")
		})
	}
	t.Run("missing", func(t *testing.T) {
		_, err := start(t, t.TempDir(), t.TempDir())
		require.ErrorIs(t, err, extension.ErrUnusable)
		require.Contains(t, err.Error(), "lakewarden extensions install")
	})
	t.Run("a directory in its place", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, duckdb.Version(), platform, "delta.duckdb_extension"), 0o755))
		_, err := start(t, dir)
		require.ErrorIs(t, err, extension.ErrUnusable)
	})
	t.Run("writable by everyone", func(t *testing.T) {
		dir, file := place(t, platform, good)
		require.NoError(t, os.Chmod(filepath.Dir(file), 0o777))
		_, err := start(t, dir)
		require.ErrorIs(t, err, extension.ErrUnusable)
		require.Contains(t, err.Error(), "writable")
		require.NoError(t, os.Chmod(filepath.Dir(file), 0o755))
		require.NoError(t, os.Chmod(file, 0o666))
		_, err = start(t, dir)
		require.ErrorIs(t, err, extension.ErrUnusable)
		require.NoError(t, os.Chmod(file, 0o644))
		_, err = start(t, dir)
		require.NoError(t, err)
	})
}

func TestExtensionSearchOrder(t *testing.T) {
	good, platform := deltaExtension(t)
	first, _ := place(t, platform, good)
	second, _ := place(t, platform, []byte("never looked at"))
	_, err := start(t, t.TempDir(), first, second)
	require.NoError(t, err)
	// The first file found decides: a broken one is not passed over in silence.
	_, err = start(t, second, first)
	require.ErrorIs(t, err, extension.ErrUnusable)
}

func TestExtensionChangedAfterStart(t *testing.T) {
	good, platform := deltaExtension(t)
	dir, file := place(t, platform, good)
	e, err := start(t, dir)
	require.NoError(t, err)
	root := t.TempDir()
	table := enginetest.NewTable(t, root, "t")
	table.Append(t, 0, 3)
	logged := engine.Statement{SQL: "SELECT count(*) FROM " + table.Latest().Relation(), Sources: []engine.Source{table.Latest()}}
	open := func() engine.Session {
		s, err := e.Open(context.Background(), engine.SessionOptions{Roots: []string{root}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	early := open()
	require.Equal(t, []string{"3"}, enginetest.Rows(t, early, logged))
	require.NoError(t, os.WriteFile(file+".new", good[:len(good)-1], 0o644))
	require.NoError(t, os.Rename(file+".new", file))
	late := open()
	_, err = enginetest.TryRows(context.Background(), late, logged)
	require.ErrorIs(t, err, extension.ErrUnusable)
	require.Equal(t, []string{"1"}, enginetest.Rows(t, late, engine.Statement{SQL: "SELECT 1"}), "what needs no extension goes on")
	require.Equal(t, []string{"3"}, enginetest.Rows(t, early, logged), "a session that runs is not touched")
	_, err = start(t, dir)
	require.ErrorIs(t, err, extension.ErrUnusable)
}
