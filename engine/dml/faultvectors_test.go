package dml_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// unnamed returns the files of a table that neither a version nor the change data
// feed names. It checks that every named file exists.
func (o *modelTable) unnamed() []string {
	named := map[string]bool{}
	require.NoError(o.t, o.load().EachReferenced(o.t.(*testing.T).Context(), time.Time{}, func(name string) { named[name] = true }))
	logs, err := filepath.Glob(filepath.Join(o.dir, "_delta_log", "*.json"))
	require.NoError(o.t, err)
	for _, log := range logs {
		text, err := os.ReadFile(log)
		require.NoError(o.t, err)
		for line := range strings.Lines(string(text)) {
			var action struct{ Cdc *struct{ Path string } }
			require.NoError(o.t, json.Unmarshal([]byte(line), &action))
			if action.Cdc != nil {
				named[action.Cdc.Path] = true
			}
		}
	}
	var out []string
	require.NoError(o.t, filepath.WalkDir(o.dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(o.dir, path)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && name == "_delta_log":
			return fs.SkipDir
		case !d.IsDir() && !named[name]:
			out = append(out, name)
		}
		delete(named, name)
		return err
	}))
	require.Empty(o.t, named, "named files exist")
	return out
}

// TestEveryCutOfAWriteWithVectorsLeavesAllOrNothing is
// TestEveryCutOfAWriteLeavesAllOrNothing for deletion vectors and change data
// files.
func TestEveryCutOfAWriteWithVectorsLeavesAllOrNothing(t *testing.T) {
	eng := newTestEngine(t)
	template := newModelTable(t, eng, tableKind{mapping: "name", vectors: true, feed: true}, t.TempDir)
	var items []item
	for id := range int64(600) {
		items = append(items, item{ID: id, V: ptr("v")})
	}
	require.NoError(t, template.insert(items...))
	// The vectors are too large for the log and are written to a file.
	require.NoError(t, template.delete("id % 5 = 0"))
	before := template.read(true)
	for name, write := range map[string]func(o *modelTable) error{
		"delete": func(o *modelTable) error { return o.delete("id % 3 = 0") },
		"update": func(o *modelTable) error { return o.update("id % 3 = 0", "'new'") },
	} {
		fresh := func(cuts ...objstore.Cut) (*modelTable, *objstore.Faults) {
			o := *template
			o.dir = t.TempDir()
			require.NoError(t, os.CopyFS(o.dir, os.DirFS(template.dir)))
			bucket, err := file.New(o.dir)
			require.NoError(t, err)
			faults := objstore.NewFaults(bucket, cuts...)
			o.bucket = faults
			return &o, faults
		}
		o, calm := fresh()
		require.NoError(t, write(o))
		requests := calm.Count()
		after := o.read(true)
		require.NotEqual(t, before, after)
		for n := 1; n <= requests; n++ {
			for _, cut := range []objstore.Cut{{Nth: n}, {Nth: n, After: true}, {Nth: n, Forever: true}} {
				what := fmt.Sprintf("%s, request %d, after %v, forever %v", name, n, cut.After, cut.Forever)
				o, _ := fresh(cut)
				err := write(o)
				o.bucket, _ = file.New(o.dir)
				switch got := o.read(true); {
				case err == nil:
					require.Equal(t, after, got, what)
				case errors.Is(err, delta.ErrCommitUnknown):
					require.True(t, fmt.Sprint(got) == fmt.Sprint(before) || fmt.Sprint(got) == fmt.Sprint(after), what)
				default:
					require.Equal(t, before, got, what)
					if unnamed := o.unnamed(); !cut.Forever {
						require.Empty(t, unnamed, what)
					}
				}
			}
		}
	}
}

// TestTwoWritersWithVectors runs two writes that began with the same version. If
// both delete or update rows, the second one gets a conflict, whichever rows it
// affects, and leaves no files. A write that only adds rows conflicts with none.
func TestTwoWritersWithVectors(t *testing.T) {
	eng := newTestEngine(t)
	writes := map[string]func(o *modelTable) error{
		"insert": func(o *modelTable) error { return o.insert(item{ID: 100, V: ptr("i")}) },
		"delete": func(o *modelTable) error { return o.delete("id = 2") },
		"update": func(o *modelTable) error { return o.update("id = 3", "'u'") },
		"merge":  func(o *modelTable) error { return o.merge("update", nil, item{ID: 1, V: ptr("m")}, item{ID: 50}) },
	}
	for first, one := range writes {
		for second, two := range writes {
			o := newModelTable(t, eng, tableKind{mapping: "id", vectors: true, feed: true}, t.TempDir)
			require.NoError(t, o.insert(item{ID: 1}, item{ID: 2}, item{ID: 3, V: ptr("c")}))
			// The second writer sees the first one's commit only when it commits.
			late := *o
			late.before = func() { require.NoError(t, one(o)) }
			err := two(&late)
			after := o.read(true)
			switch {
			case second == "insert":
				require.NoError(t, err, "%s, %s", first, second)
				require.Contains(t, fmt.Sprint(after), "100|i")
			default:
				require.ErrorIs(t, err, delta.ErrConflict, "%s, %s", first, second)
			}
			require.Empty(t, o.unnamed(), "%s, %s", first, second)
		}
	}
}
