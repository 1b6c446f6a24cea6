package duckdb_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// TestStructsOfOtherMembers: a file that has none of the members that a struct has
// now is read like any other, and files are looked into only where there may be one.
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
	check := func(t *testing.T, mode string, partitioned bool) {
		versions := rapid.Custom(func(rt *rapid.T) (versions []mappedWorld) {
			dir := filepath.Join(root, mode, strconv.FormatBool(partitioned))
			require.NoError(rt, os.RemoveAll(dir))
			w := newMappedWorld(rt, dir, scratchSession{session, scratch}, partitioned, mode)
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
			for _, make := range []func(*delta.Snapshot, []engine.Column, engine.Condition) (*engine.FileList, bool){pruning.List,
				pruning.ListRestricted} {
				list, ok := make(w.snap, w.columns(), engine.Condition{})
				require.True(t, ok, i)
				require.Equal(t, mode == "id" || i == len(changes)-1, list.Parts != nil, i)
				src := w.source()
				src.Files = list
				require.Equal(t, w.want(), w.read(t, src, ""), i)
			}
			if !partitioned && mode == "name" {
				require.Equal(t, w.want(), w.read(t, w.source(), ""), i)
			}
		}
	}
	for _, mode := range []string{"name", "id"} {
		for _, partitioned := range []bool{false, true} {
			t.Run(mode+" "+strconv.FormatBool(partitioned), func(t *testing.T) { check(t, mode, partitioned) })
		}
	}
}
