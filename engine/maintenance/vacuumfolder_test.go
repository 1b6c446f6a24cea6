package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

var (
	zero = time.Duration(0)
	// expired has no retention. Its clock is one second ahead because times in the
	// log are in milliseconds.
	expired = maintenance.VacuumOptions{
		Retention: &zero, AllowShortRetention: true, Clock: func() time.Time { return time.Now().Add(time.Second) },
	}
)

func put(t *testing.T, b objstore.Bucket, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoError(t, b.Put(t.Context(), name, strings.NewReader("x"), 1))
	}
}

func namesIn(t *testing.T, b objstore.Bucket) []string {
	t.Helper()
	list := []string{}
	for o, err := range b.List(t.Context(), "", objstore.ListOptions{}) {
		require.NoError(t, err)
		if !strings.HasPrefix(o.Name, "_delta_log/") {
			list = append(list, o.Name)
		}
	}
	return list
}

func create(t *testing.T, b objstore.Bucket, partitionBy ...string) *delta.Snapshot {
	t.Helper()
	snap, err := delta.Create(t.Context(), b, delta.CreateOptions{Schema: delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true}, {Name: "_p", Type: delta.String, Nullable: true},
	}}, PartitionColumns: partitionBy})
	require.NoError(t, err)
	return snap
}

// add commits files and then removes those named removed.
func add(t *testing.T, snap *delta.Snapshot, files ...delta.AddFile) *delta.Snapshot {
	t.Helper()
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	for _, f := range files {
		f.Size, f.ModTime, f.Stats = 1, time.Now(), `{"numRecords":1}`
		if f.PartitionValues == nil {
			f.PartitionValues = map[string]*string{}
		}
		require.NoError(t, txn.Add(f))
	}
	snap, err := txn.Commit(t.Context())
	require.NoError(t, err)
	return snap
}

func TestVacuumLeavesWhatIsNotTheTables(t *testing.T) {
	b := mem.New()
	snap := create(t, b, "_p")
	value := "v"
	snap = add(t, snap, delta.AddFile{Name: "_p=v/live", PartitionValues: map[string]*string{"_p": &value}})
	kept := []string{
		"_p=v/live", "_other/x", ".hidden/x", "d/_staging/x", "d/.x", "_x", "_p/x", "_delta_index_/x",
		"nested/_delta_log/00000000000000000000.json", "nested/A", "nested/z/deep", "_p=v/nested/a", "_p=v/nested/_delta_log/0",
	}
	put(t, b, kept...)
	unneeded := []string{"_change_data/cdc", "_delta_index/x", "_p=v/a", "_p=w/a", "d/a", "nested-not/a", "nested.parquet", "x"}
	put(t, b, unneeded...)
	dry := expired
	dry.DryRun = true
	require.Equal(t, unneeded, vacuum(t, snap, dry))
	require.Equal(t, unneeded, vacuum(t, snap, expired))
	require.ElementsMatch(t, kept, namesIn(t, b))
}

// TestVacuumAfterAPartitionColumnWasRenamed finds folders that have the column's
// old name.
func TestVacuumAfterAPartitionColumnWasRenamed(t *testing.T) {
	b := mem.New()
	snap := create(t, b, "_p")
	value := "v"
	snap = add(t, snap, delta.AddFile{Name: "_p=v/live", PartitionValues: map[string]*string{"_p": &value}})
	a := snap.Alter()
	require.NoError(t, a.RenameColumn([]string{"_p"}, "_q"))
	change, err := a.Change()
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "RENAME COLUMN"})
	txn.Alter(change)
	snap, err = txn.Commit(t.Context())
	require.NoError(t, err)
	put(t, b, "_p=v/live", "_p=v/a", "_q=v/a", "_r=v/a")
	require.Equal(t, []string{"_p=v/a", "_q=v/a"}, vacuum(t, snap, expired))
}

// TestVacuumNeedsToWrite refuses to vacuum a table that cannot be written
// (protocol, "VACUUM Protocol Check").
func TestVacuumNeedsToWrite(t *testing.T) {
	b := mem.New()
	put(t, b, "unneeded")
	commit := `{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["novelty"]}}
{"metaData":{"id":"a","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{},` +
		`"schemaString":"{\"type\":\"struct\",\"fields\":[]}"}}`
	require.NoError(t, b.Put(t.Context(), "_delta_log/00000000000000000000.json", strings.NewReader(commit), int64(len(commit))))
	snap, err := delta.Load(t.Context(), b, delta.Options{})
	require.NoError(t, err)
	_, err = maintenance.Vacuum(t.Context(), snap, expired)
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
	require.Equal(t, []string{"unneeded"}, namesIn(t, b))
}

// TestVacuumPassesALongLog finds files that sort behind a long log, each once.
func TestVacuumPassesALongLog(t *testing.T) {
	b := mem.New()
	snap := create(t, b)
	for i := range 1500 {
		put(t, b, fmt.Sprintf("_delta_log/%020d.x", i))
	}
	put(t, b, "A", "_delta_log-not/x", "_delta_log/\U0010FFFE", "z")
	require.Equal(t, []string{"A", "z"}, vacuum(t, snap, expired))
}

func TestVacuumKnowsDeletionVectors(t *testing.T) {
	b := mem.New()
	snap, err := delta.Create(t.Context(),
		b, delta.CreateOptions{Schema: twoColumns, Properties: map[string]string{"delta.enableDeletionVectors": "true"}})
	require.NoError(t, err)
	// The names in the log and of the file are those of the protocol's example.
	offset := int32(1)
	vector := &action.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Offset: &offset, SizeInBytes: 36,
		Cardinality: 2}
	const vectorFile = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
	inline := &action.DeletionVector{StorageType: "i", PathOrInlineDV: "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", SizeInBytes: 40,
		Cardinality: 6}
	snap = add(t, snap, delta.AddFile{Name: "a", DeletionVector: vector}, delta.AddFile{Name: "b", DeletionVector: inline})
	other := strings.Replace(vectorFile, "d2c6", "d2c7", 1)
	put(t, b, "a", "b", vectorFile, other)
	require.Equal(t, []string{other}, vacuum(t, snap, expired))

	txn := snap.Begin(delta.Operation{Name: "DELETE"})
	for f := range snap.Files() {
		require.NoError(t, txn.Remove(false, f))
	}
	snap, err = txn.Commit(t.Context())
	require.NoError(t, err)
	require.Empty(t, vacuum(t, snap, maintenance.VacuumOptions{}), "within the retention")
	lite := expired
	lite.Mode = maintenance.VacuumLite
	require.Equal(t, []string{"a", vectorFile, "b"}, vacuum(t, snap, lite))
	require.Empty(t, vacuum(t, snap, lite))
}

// TestVacuumSeesWritesUnderWay keeps files of a write that has not committed yet,
// whatever the retention, and files of a write that commits during the vacuum.
func TestVacuumSeesWritesUnderWay(t *testing.T) {
	b := mem.New()
	snap := create(t, b)
	put(t, b, "orphan")
	begun := time.Now()
	put(t, b, "written")
	opts := expired
	opts.OldestWrite = func(context.Context) (time.Time, error) { return begun, nil }
	require.Empty(t, vacuum(t, snap, opts), "clocks may differ by minutes")
	opts.OldestWrite = func(context.Context) (time.Time, error) { return begun.Add(time.Hour), nil }
	b2 := &dated{Bucket: b, times: map[string]time.Time{"written": begun.Add(time.Hour)}}
	loaded, err := delta.Load(t.Context(), b2, delta.Options{})
	require.NoError(t, err)
	opts.Clock = func() time.Time { return begun.Add(2 * time.Hour) }
	require.Equal(t, []string{"orphan"}, vacuum(t, loaded, opts))

	// The write ends during the question: the vacuum must read its commit.
	opts = expired
	opts.OldestWrite = func(context.Context) (time.Time, error) {
		add(t, snap, delta.AddFile{Name: "written"})
		return time.Time{}, nil
	}
	require.Empty(t, vacuum(t, snap, opts))

	failed := errors.New("catalog is down")
	opts.OldestWrite = func(context.Context) (time.Time, error) { return time.Time{}, failed }
	_, err = maintenance.Vacuum(t.Context(), snap, opts)
	require.ErrorIs(t, err, failed, "an unknown answer is an error")
}

func TestVacuumGuardsTheRetention(t *testing.T) {
	b := mem.New()
	snap, err := delta.Create(t.Context(),
		b, delta.CreateOptions{Schema: twoColumns, Properties: map[string]string{"delta.deletedFileRetentionDuration": "interval 2 days"}})
	require.NoError(t, err)
	for hours, ok := range map[int]bool{0: false, 47: false, 48: true, 100: true, -1: false} {
		retention := time.Duration(hours) * time.Hour
		_, err = maintenance.Vacuum(t.Context(), snap, maintenance.VacuumOptions{Retention: &retention})
		require.Equal(t, ok, err == nil, "%d hours: %v", hours, err)
		_, err = maintenance.Vacuum(t.Context(), snap, maintenance.VacuumOptions{Retention: &retention, AllowShortRetention: true})
		require.Equal(t, hours >= 0, err == nil, "%d hours, insisting: %v", hours, err)
	}
}

// TestVacuumOfALocalFolder removes empty folders and does not follow links.
func TestVacuumOfALocalFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	b, err := file.New(dir)
	require.NoError(t, err)
	snap := create(t, b)
	put(t, b, "a/b/unneeded", "a/c/live")
	snap = add(t, snap, delta.AddFile{Name: "a/c/live"})
	precious := filepath.Join(outside, "precious")
	require.NoError(t, os.WriteFile(precious, nil, 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink(precious, filepath.Join(dir, "file")))
	require.Equal(t, []string{"a/b/unneeded"}, vacuum(t, snap, expired))
	require.FileExists(t, precious)
	require.NoDirExists(t, filepath.Join(dir, "a", "b"))
	require.FileExists(t, filepath.Join(dir, "a", "c", "live"))
}

func TestVacuumInTheHistory(t *testing.T) {
	b := mem.New()
	snap := create(t, b)
	opts := expired
	opts.LogCommits, opts.UserName = true, "somebody"
	require.Empty(t, vacuum(t, snap, opts))
	put(t, b, "x", "y")
	require.Len(t, vacuum(t, snap, opts), 2)
	snap, err := snap.Refresh(t.Context())
	require.NoError(t, err)
	history, err := snap.History(t.Context(), 10, 0)
	require.NoError(t, err)
	require.Len(t, history, 3, "a vacuum that found nothing is not recorded")
	require.Equal(t, "VACUUM END", history[0].Operation)
	require.Equal(t, "2", history[0].OperationMetrics["numDeletedFiles"])
	require.Equal(t, "VACUUM START", history[1].Operation)
	require.Equal(t, "somebody", history[1].UserName)
}

// TestVacuumCutAnywhere fails each request to the store in turn: no file that a
// version needs is deleted, and another run completes the work.
func TestVacuumCutAnywhere(t *testing.T) {
	build := func() (*mem.Bucket, []string) {
		b := mem.New()
		snap := create(t, b)
		put(t, b, "d/x", "d/y", "live", "n/_delta_log/0", "n/x", "z")
		add(t, snap, delta.AddFile{Name: "live"})
		return b, []string{"live", "n/_delta_log/0", "n/x"}
	}
	run := func(b objstore.Bucket) error {
		snap, err := delta.Load(t.Context(), b, delta.Options{})
		if err != nil {
			return err
		}
		opts := expired
		opts.LogCommits = true
		_, err = maintenance.Vacuum(t.Context(), snap, opts)
		return err
	}
	b, _ := build()
	whole := objstore.NewFaults(b)
	require.NoError(t, run(whole))
	for n := 1; n <= whole.Count(); n++ {
		for _, after := range []bool{false, true} {
			b, kept := build()
			err := run(objstore.NewFaults(b, objstore.Cut{Nth: n, After: after}))
			require.Subset(t, namesIn(t, b), kept, "request %d: %v", n, err)
			require.NoError(t, run(b))
			require.Equal(t, kept, namesIn(t, b), "request %d", n)
		}
	}
}
