package maintenance_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// interrupted calls after following each write of files, with the number of the
// call, starting at 1.
type interrupted struct {
	engine.Writer
	calls int
	after func(call int) error
}

func (i *interrupted) Write(ctx context.Context, st engine.WriteStatement) ([]engine.DataFile, error) {
	files, err := i.Writer.Write(ctx, st)
	if i.calls++; err == nil {
		err = i.after(i.calls)
	}
	return files, err
}

func (w *deltaRSTable) optimizeWhile(after func(call int) error) (maintenance.Optimized, int, error) {
	w.Helper()
	opts := w.options()
	writer := &interrupted{Writer: opts.Writer, after: after}
	opts.Writer = writer
	done, err := maintenance.Optimize(w.Context(), w.load(), opts)
	return done, writer.calls, err
}

// TestOptimizeBesideOthers commits with delta-rs during an optimize. The commits
// stay, and only bins of which files were removed are rewritten again.
func TestOptimizeBesideOthers(t *testing.T) {
	w := newDeltaRSTable(t)
	for i := range 6 {
		w.write(i*10, 10, []any{"x", "y"}[i%2], true)
	}
	var before []string
	done, calls, err := w.optimizeWhile(func(call int) error {
		if call == 1 {
			w.write(60, 5, "x", true)
			before = w.rows()
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.Equal(t, [2]int64{2, 6}, [2]int64{done.FilesAdded, done.FilesRemoved})
	require.Len(t, before, 65)
	require.Equal(t, before, w.rows())
	require.Len(t, w.files(), 3)

	// A deletion rewrites a file of one partition: only its bin is written again.
	for i := range 4 {
		w.write(100+i*10, 10, []any{"x", "y"}[i%2], true)
	}
	done, calls, err = w.optimizeWhile(func(call int) error {
		if call == 2 {
			ask[any](w, w.rs, map[string]any{"do": "remove", "path": w.dir, "where": "id = 105"})
			before = w.rows()
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, calls, "two bins, one of them twice")
	require.Len(t, before, 104)
	require.Equal(t, before, w.rows())
	require.Len(t, w.files(), 2)
	require.Equal(t, int64(2), done.FilesAdded)
	require.Equal(t, maintenance.Optimized{}, w.optimize(nil))

	// Only the live files and those of old versions remain.
	nothing := vacuum(t, w.load(), maintenance.VacuumOptions{DryRun: true})
	require.Empty(t, nothing)
	all := map[string]bool{}
	require.NoError(t, w.load().EachReferenced(t.Context(), w.load().Timestamp().AddDate(-1, 0, 0), func(name string) { all[name] = true }))
	for _, name := range w.dataFiles() {
		require.True(t, all[name], "%s was left behind", name)
	}
}

// TestOptimizeStopsClean checks that an error or a cancellation leaves the table
// and its folder unchanged.
func TestOptimizeStopsClean(t *testing.T) {
	w := newDeltaRSTable(t)
	for i := range 4 {
		w.write(i*10, 10, []any{"x", "y"}[i%2], true)
	}
	files, rows, version := w.dataFiles(), w.rows(), w.load().Version()
	failed := errors.New("enough")
	_, _, err := w.optimizeWhile(func(call int) error {
		if call == 2 {
			return failed
		}
		return nil
	})
	require.ErrorIs(t, err, failed)
	require.Equal(t, files, w.dataFiles())

	opts := w.options()
	ctx, cancel := context.WithCancel(t.Context())
	opts.Writer = &interrupted{Writer: opts.Writer, after: func(call int) error {
		if call == 2 {
			cancel()
		}
		return nil
	}}
	_, err = maintenance.Optimize(ctx, w.load(), opts)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, files, w.dataFiles())
	require.Equal(t, rows, w.rows())
	require.Equal(t, version, w.load().Version())
}

// TestOptimizeCutAnywhere fails each request to the store in turn, with and without
// effect. The table stays readable with the same rows, and another run completes
// the work.
func TestOptimizeCutAnywhere(t *testing.T) {
	w := newDeltaRSTable(t)
	for i := range 4 {
		w.write(i*10, 10, []any{"x", "y"}[i%2], true)
	}
	rows, original := w.rows(), w.dir
	opts := w.options()
	run := func(dir string, b objstore.Bucket) error {
		snap, err := delta.Load(t.Context(), b, delta.Options{NoCheckpoints: true})
		if err != nil {
			return err
		}
		o := opts
		o.Source = func(snap *delta.Snapshot, list *engine.FileList) engine.Source {
			return engine.Source{Location: dir, Version: snap.Version(), Identity: snap.Identity() + dir, Files: list}
		}
		_, err = maintenance.Optimize(t.Context(), snap, o)
		return err
	}
	// The session reads only below the table's folder, so each run uses that folder,
	// with a fresh copy of the table.
	copyDir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(copyDir, os.DirFS(original)))
	restore := func() {
		entries, err := os.ReadDir(original)
		require.NoError(t, err)
		for _, e := range entries {
			require.NoError(t, os.RemoveAll(filepath.Join(original, e.Name())))
		}
		require.NoError(t, os.CopyFS(original, os.DirFS(copyDir)))
	}
	whole := objstore.NewFaults(w.bucket)
	require.NoError(t, run(original, whole))
	require.Len(t, w.files(), 2)
	for n := 1; n <= whole.Count(); n++ {
		for _, after := range []bool{false, true} {
			restore()
			err := run(original, objstore.NewFaults(w.bucket, objstore.Cut{Nth: n, After: after}))
			require.Equal(t, rows, w.rows(), "request %d: %v", n, err)
			require.NoError(t, run(original, w.bucket), "request %d after %v", n, err)
			require.Equal(t, rows, w.rows(), "request %d", n)
			require.Len(t, w.files(), 2, "request %d", n)
		}
	}
}
