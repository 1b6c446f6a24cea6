package maintenance_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// staleUpload creates the temporary file of an interrupted write, last modified the
// given time ago.
func staleUpload(t *testing.T, root, folder string, ago time.Duration) string {
	t.Helper()
	name := filepath.Join(root, folder, ".lakewarden-tmp-0123456789abcdef")
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte("half a file"), 0o644))
	then := time.Now().Add(-ago)
	require.NoError(t, os.Chtimes(name, then, then))
	return name
}

// TestVacuumRemovesUploadsThatDied removes unfinished uploads of the table and its
// log once they are older than the retention and than every write under way, but
// none of tables below or of other tools.
func TestVacuumRemovesUploadsThatDied(t *testing.T) {
	root := t.TempDir()
	b, err := file.New(root)
	require.NoError(t, err)
	snap := create(t, b)
	const hour = time.Hour
	old := []string{staleUpload(t, root, "", 48*hour), staleUpload(t, root, "p=1", 48*hour), staleUpload(t, root, "_delta_log", 48*hour)}
	kept := []string{
		staleUpload(t, root, "young", hour), staleUpload(t, root, "_staging", 48*hour), staleUpload(t, root, ".spark", 48*hour),
		staleUpload(t, root, "nested/x", 48*hour), staleUpload(t, root, "nested/_delta_log", 48*hour),
	}
	put(t, b, "nested/_delta_log/00000000000000000000.json")
	day := 24 * hour
	opts := maintenance.VacuumOptions{Retention: &day, AllowShortRetention: true}
	run := func(opts maintenance.VacuumOptions) (names []string, files int64) {
		opts.Deleted = func(found []objstore.Object) {
			for _, o := range found {
				require.EqualValues(t, len("half a file"), o.Size)
				names = append(names, filepath.Join(root, o.Name))
			}
		}
		files, err := maintenance.Vacuum(t.Context(), snap, opts)
		require.NoError(t, err)
		return names, files
	}
	for _, harmless := range []func(*maintenance.VacuumOptions){
		func(o *maintenance.VacuumOptions) { o.DryRun = true },
		func(o *maintenance.VacuumOptions) { o.Mode = maintenance.VacuumLite },
		func(o *maintenance.VacuumOptions) {
			o.OldestWrite = func(context.Context) (time.Time, error) { return time.Now().Add(-48 * hour), nil }
		},
	} {
		opts := opts
		harmless(&opts)
		names, _ := run(opts)
		if opts.DryRun {
			require.ElementsMatch(t, old, names)
		} else {
			require.Empty(t, names)
		}
		for _, name := range append(old, kept...) {
			require.FileExists(t, name)
		}
	}
	names, files := run(opts)
	require.ElementsMatch(t, old, names)
	require.EqualValues(t, 3, files)
	for _, name := range old {
		require.NoFileExists(t, name)
	}
	require.NoDirExists(t, filepath.Join(root, "p=1"), "it is empty")
	for _, name := range kept {
		require.FileExists(t, name)
	}
	require.NoError(t, maintenance.Purge(t.Context(), b))
	for _, name := range kept[3:] {
		require.FileExists(t, name, "it belongs to the table below")
	}
	for _, name := range kept[:3] {
		require.NoFileExists(t, name)
	}
}

// TestVacuumLeavesYoungUploadsOfTheLog keeps recent uploads of the log even with
// retention 0, because commits may run without a lease.
func TestVacuumLeavesYoungUploadsOfTheLog(t *testing.T) {
	root := t.TempDir()
	b, err := file.New(root)
	require.NoError(t, err)
	snap := create(t, b)
	young, data := staleUpload(t, root, "_delta_log", time.Minute), staleUpload(t, root, "", time.Minute)
	files, err := maintenance.Vacuum(t.Context(), snap, expired)
	require.NoError(t, err)
	require.EqualValues(t, 1, files)
	require.FileExists(t, young)
	require.NoFileExists(t, data)
}

// TestVacuumAsksForWritesAfterItListedTheirUploads checks the order of the two
// steps.
func TestVacuumAsksForWritesAfterItListedTheirUploads(t *testing.T) {
	root := t.TempDir()
	b, err := file.New(root)
	require.NoError(t, err)
	snap := create(t, b)
	old, late := staleUpload(t, root, "", time.Hour), ""
	opts := expired
	opts.OldestWrite = func(context.Context) (time.Time, error) {
		late = staleUpload(t, root, "late", time.Hour)
		return time.Time{}, nil
	}
	files, err := maintenance.Vacuum(t.Context(), snap, opts)
	require.NoError(t, err)
	require.EqualValues(t, 1, files)
	require.NoFileExists(t, old)
	require.FileExists(t, late)
}

// hiddenUploads are uploads of a store that reports the names of their objects.
type hiddenUploads struct {
	objstore.Bucket
	discarded chan string
}

func (h hiddenUploads) Uploads(context.Context, string) iter.Seq2[objstore.Upload, error] {
	return func(yield func(objstore.Upload, error) bool) {
		for _, name := range []string{"part-1", "kept", "_other", ".x", "_delta_log/1.json", "_staging/y", "_change_data/cdc-1"} {
			u := objstore.Upload{Name: name, ModTime: time.Now().Add(-time.Hour), Discard: func(context.Context) error {
				if name == "kept" {
					return objstore.ErrDenied
				}
				h.discarded <- name
				return nil
			}}
			if !yield(u, nil) {
				return
			}
		}
	}
}

// TestVacuumLeavesUploadsThatAreNotTheTables applies the rules for files to uploads
// that have an object's name.
func TestVacuumLeavesUploadsThatAreNotTheTables(t *testing.T) {
	bucket := hiddenUploads{mem.New(), make(chan string, 10)}
	snap := create(t, bucket)
	files, err := maintenance.Vacuum(t.Context(), snap, expired)
	require.NoError(t, err)
	require.EqualValues(t, 3, files, "an upload that the store withholds is not counted and is no error")
	close(bucket.discarded)
	var discarded []string
	for name := range bucket.discarded {
		discarded = append(discarded, name)
	}
	require.ElementsMatch(t, []string{"part-1", "_delta_log/1.json", "_change_data/cdc-1"}, discarded)
}
