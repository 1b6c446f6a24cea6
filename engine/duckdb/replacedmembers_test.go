package duckdb_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/skipping"
)

// TestStructsOfOtherMembers: a file that has none of the members that a struct has
// now is read like any other. As the engine reads no such file in a list, a table that
// may have one is left to its log, and no other table is.
func TestStructsOfOtherMembers(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}, Scratch: scratch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	changes := []func(a *delta.Alteration) error{
		func(a *delta.Alteration) error {
			return a.AddColumn([]string{"st"}, delta.Field{Name: "z", Type: delta.Long, Nullable: true})
		},
		func(a *delta.Alteration) error { return a.DropColumn([]string{"a"}) },
		func(a *delta.Alteration) error { return a.DropColumn([]string{"st", "y"}) },
		func(a *delta.Alteration) error { return a.DropColumn([]string{"st", "x"}) },
	}
	versions := rapid.Custom(func(rt *rapid.T) (versions []mappedWorld) {
		dir := filepath.Join(root, "t")
		require.NoError(rt, os.RemoveAll(dir))
		w := newMappedWorld(rt, dir, scratchSession{session, scratch}, false)
		w.write(rt)
		for _, change := range changes {
			a := w.snap.Alter()
			require.NoError(rt, change(a))
			done, err := a.Change()
			require.NoError(rt, err)
			txn := w.snap.Begin(delta.Operation{Name: "ALTER"})
			txn.Alter(done)
			w.commit(txn)
			w.write(rt)
			version := *w
			version.rows = slices.Clone(w.rows)
			versions = append(versions, version)
		}
		return versions
	}).Example(0)
	for i, w := range versions {
		src, listed := w.source(), i < len(changes)-1
		list, ok := skipping.List(w.snap, w.columns(), engine.Condition{})
		if ok {
			src.Files = list
		}
		require.Equal(t, w.want(), w.read(t, src, ""), i)
		require.Equal(t, listed, ok, i)
		_, ok = skipping.ListRestricted(w.snap, w.columns(), engine.Condition{})
		require.Equal(t, listed, ok, i)
	}
}
