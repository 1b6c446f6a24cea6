package delta_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

const aDay = 24 * time.Hour

// agedTable has twelve versions, one per day, and checkpoints at 4 and 8. The current
// day is that of the last version. Tests can set the clock.
type agedTable struct {
	bucket *file.Bucket
	dir    string
	opts   delta.Options
	now    time.Time
	snap   *delta.Snapshot
}

var firstDay = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func newAgedTable(t *testing.T, properties map[string]string) *agedTable {
	a := &agedTable{now: firstDay}
	a.bucket, a.dir = fileBucket(t)
	a.opts = testOptions(t)
	a.opts.Clock = func() time.Time { return a.now }
	if properties == nil {
		properties = map[string]string{}
	}
	properties["delta.checkpointInterval"] = "4"
	a.snap = mustCreate(t, a.bucket, delta.CreateOptions{Options: a.opts, Properties: properties})
	a.age(t, 0)
	for i := range int64(11) {
		a.append(t, i)
	}
	return a
}

// append adds a version one day later.
func (a *agedTable) append(t *testing.T, n int64) {
	t.Helper()
	a.now = a.now.Add(aDay)
	a.snap = mustAppend(t, a.snap, n)
	a.age(t, a.snap.Version())
}

// age sets the modification time of a version's files.
func (a *agedTable) age(t *testing.T, version int64) {
	t.Helper()
	made, err := filepath.Glob(filepath.Join(a.dir, fmt.Sprintf("_delta_log/%020d*", version)))
	require.NoError(t, err)
	for _, name := range made {
		require.NoError(t, os.Chtimes(name, a.now, a.now))
	}
	a.snap, err = delta.Load(t.Context(), a.bucket, a.opts)
	require.NoError(t, err)
}

func (a *agedTable) log(t *testing.T) []string {
	t.Helper()
	var names []string
	for o, err := range a.bucket.List(t.Context(), logpath.Dir, objstore.ListOptions{}) {
		require.NoError(t, err)
		names = append(names, strings.TrimPrefix(o.Name, logpath.Dir))
	}
	return names
}

// versions returns the readable versions.
func (a *agedTable) versions(t *testing.T) []int64 {
	t.Helper()
	var readable []int64
	for v := range a.snap.Version() + 1 {
		opts := a.opts
		opts.At = delta.AtVersion(v)
		s, err := delta.Load(t.Context(), a.bucket, opts)
		if err != nil {
			require.ErrorIs(t, err, delta.ErrVersionNotFound, "version %d", v)
			continue
		}
		require.EqualValues(t, v, s.NumFiles())
		readable = append(readable, v)
	}
	return readable
}

func TestCleanLogKeepsTheRetention(t *testing.T) {
	a := newAgedTable(t, map[string]string{"delta.logRetentionDuration": "interval 5 days"})
	before := a.log(t)
	n, err := a.snap.CleanLog(t.Context())
	require.NoError(t, err)
	// Midnight five days ago is before version 6, so version 5 was the latest then, and
	// it needs the checkpoint of version 4.
	require.Equal(t, 8, n, "commit and checksum of versions 0 to 3")
	require.Equal(t, before[8:], a.log(t))
	require.Equal(t, []int64{4, 5, 6, 7, 8, 9, 10, 11}, a.versions(t))
	again, err := a.snap.CleanLog(t.Context())
	require.NoError(t, err)
	require.Zero(t, again)

	_, err = a.snap.Refresh(t.Context())
	require.NoError(t, err)
	a.append(t, 12) // with a checkpoint, and so a cleanup
	require.EqualValues(t, 12, a.snap.Version())
	require.Equal(t, []int64{4, 5, 6, 7, 8, 9, 10, 11, 12}, a.versions(t), "nothing more has expired")
	a.now = a.now.Add(100 * aDay)
	_, err = a.snap.CleanLog(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{12}, a.versions(t))
	type seen struct {
		Version int64
		Rows    []int64
	}
	got := runPython[seen](t, a.dir, `
write_deltalake(path, pa.table({"id": pa.array([7000], pa.int64()), "s": ["theirs"]}), mode="append")
t = DeltaTable(path); say({"Version": t.version(), "Rows": rows(t)})`)
	require.Equal(t, seen{13, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 7000}}, got)
}

func TestCommitsCleanTheLog(t *testing.T) {
	a := newAgedTable(t, map[string]string{"delta.logRetentionDuration": "interval 2 days"})
	// When version 8 wrote its checkpoint, midnight two days before was between
	// versions 5 and 6.
	require.Equal(t, []int64{4, 5, 6, 7, 8, 9, 10, 11}, a.versions(t))
}

func TestCleanLogDoesNothing(t *testing.T) {
	for name, properties := range map[string]map[string]string{
		"by default for 30 days":    nil,
		"switched off":              {"delta.logRetentionDuration": "interval 0 days", "delta.enableExpiredLogCleanup": "false"},
		"with an invalid retention": {"delta.logRetentionDuration": "interval 1 days"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgedTable(t, map[string]string{"delta.enableExpiredLogCleanup": "false"})
			m := a.snap.Metadata()
			m.Configuration = map[string]string{"delta.checkpointInterval": "100"}
			for k, v := range properties {
				m.Configuration[k] = v
			}
			if strings.HasPrefix(name, "with") {
				m.Configuration["delta.logRetentionDuration"] = "interval 1 fortnight"
			}
			txn := a.snap.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
			txn.SetMetadata(m)
			s, err := txn.Commit(t.Context())
			require.NoError(t, err)
			before := a.log(t)
			n, err := s.CleanLog(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
			require.Equal(t, before, a.log(t))
		})
	}
}

func TestCleanLogNeedsAReadableCheckpoint(t *testing.T) {
	off := func() map[string]string { return map[string]string{"delta.enableExpiredLogCleanup": "false"} }
	on := func(t *testing.T, a *agedTable) *delta.Snapshot {
		m := a.snap.Metadata()
		m.Configuration = map[string]string{"delta.logRetentionDuration": "interval 0 days", "delta.checkpointInterval": "1000"}
		txn := a.snap.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
		txn.SetMetadata(m)
		s, err := txn.Commit(t.Context())
		require.NoError(t, err)
		a.now = a.now.Add(10 * aDay)
		return s
	}
	t.Run("none", func(t *testing.T) {
		a := newAgedTable(t, off())
		for _, v := range []int64{4, 8} {
			require.NoError(t, a.bucket.Delete(t.Context(), logpath.CheckpointName(v)))
		}
		n, err := on(t, a).CleanLog(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
	t.Run("torn", func(t *testing.T) {
		a := newAgedTable(t, off())
		mustPut(t, a.bucket, logpath.CheckpointName(8), "PAR1 and then the disk was full PAR1")
		require.NoError(t, os.Chtimes(filepath.Join(a.dir, logpath.CheckpointName(8)), firstDay, firstDay))
		s := on(t, a)
		before := a.log(t)
		_, err := s.CleanLog(t.Context())
		require.Error(t, err)
		require.Equal(t, before, a.log(t))
	})
	t.Run("a part is missing", func(t *testing.T) {
		a := newAgedTable(t, off())
		const part = "_delta_log/%020d.checkpoint.%010d.%010d.parquet"
		for _, v := range []int64{4, 8} {
			require.NoError(t, a.bucket.Delete(t.Context(), logpath.CheckpointName(v)))
		}
		mustPut(t, a.bucket, fmt.Sprintf(part, 8, 1, 2), "x")
		n, err := on(t, a).CleanLog(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestCleanLogByInCommitTimestamps checks that in-commit timestamps take precedence
// over modification times.
func TestCleanLogByInCommitTimestamps(t *testing.T) {
	a := newAgedTable(t, map[string]string{
		"delta.logRetentionDuration": "interval 5 days", "delta.enableInCommitTimestamps": "true",
		"delta.enableExpiredLogCleanup": "false",
	})
	for v := range a.snap.Version() + 1 { // as old as they can be
		name := filepath.Join(a.dir, logpath.CommitName(v))
		require.NoError(t, os.Chtimes(name, firstDay.Add(time.Duration(v)), firstDay.Add(time.Duration(v))))
	}
	m := a.snap.Metadata()
	m.Configuration = map[string]string{"delta.logRetentionDuration": "interval 5 days", "delta.enableInCommitTimestamps": "true"}
	var err error
	a.snap, err = delta.Load(t.Context(), a.bucket, a.opts)
	require.NoError(t, err)
	txn := a.snap.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
	txn.SetMetadata(m)
	s, err := txn.Commit(t.Context())
	require.NoError(t, err)
	n, err := s.CleanLog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 8, n)
	require.Equal(t, []int64{4, 5, 6, 7, 8, 9, 10, 11}, a.versions(t))
}

// TestCleanLogCutAtEveryStep checks that an interrupted cleanup preserves the versions
// within the retention.
func TestCleanLogCutAtEveryStep(t *testing.T) {
	properties := func() map[string]string {
		return map[string]string{"delta.logRetentionDuration": "interval 5 days", "delta.enableExpiredLogCleanup": "false"}
	}
	a := newAgedTable(t, properties())
	m := a.snap.Metadata()
	m.Configuration = map[string]string{"delta.logRetentionDuration": "interval 5 days"}
	txn := a.snap.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
	txn.SetMetadata(m)
	_, err := txn.Commit(t.Context())
	require.NoError(t, err)
	clean := func(b objstore.Bucket) error {
		s, err := delta.Load(t.Context(), b, a.opts)
		require.NoError(t, err)
		_, err = s.CleanLog(t.Context())
		return err
	}
	for n := 1; ; n++ {
		copied := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, os.CopyFS(copied, os.DirFS(a.dir)))
		keepTimes(t, a.dir, copied)
		inner, err := file.New(copied)
		require.NoError(t, err)
		faults := objstore.NewFaults(inner, objstore.Cut{Nth: n, Forever: true, After: true, Ops: []objstore.Op{objstore.OpDelete}})
		failed := clean(faults)
		c := *a
		c.bucket, c.dir = inner, copied
		require.Subset(t, c.versions(t), []int64{5, 6, 7, 8, 9, 10, 11}, "cut at deletion %d", n)
		if failed == nil {
			require.Greater(t, n, 8)
			break
		}
		require.NoError(t, clean(inner), "the next one goes on")
		require.Equal(t, []int64{4, 5, 6, 7, 8, 9, 10, 11}, c.versions(t), "cut at deletion %d", n)
	}
}

func keepTimes(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		relative, err := filepath.Rel(from, name)
		require.NoError(t, err)
		return os.Chtimes(filepath.Join(to, relative), info.ModTime(), info.ModTime())
	}))
}

func TestCleanLogOfSidecars(t *testing.T) {
	const id = "80a083e8-7026-4e79-81be-64bd76c43a11"
	bucket, dir := fileBucket(t)
	now := firstDay
	opts := testOptions(t)
	opts.Clock = func() time.Time { return now }
	opts.Warn = func(context.Context, delta.Warning) {}
	s := mustCreate(t, bucket, delta.CreateOptions{Options: opts, Properties: map[string]string{"delta.checkpointPolicy": "v2"}})
	names := []string{"used.parquet", "orphan.parquet", "young.parquet"}
	for i, name := range names {
		mustPut(t, bucket, logpath.SidecarDir+name, "x")
		at := firstDay.Add(-25 * time.Hour)
		if i == 2 {
			at = firstDay.Add(-23 * time.Hour)
		}
		require.NoError(t, os.Chtimes(filepath.Join(dir, logpath.SidecarDir, name), at, at))
	}
	mustPut(t, bucket, fmt.Sprintf("_delta_log/%020d.checkpoint.%s.json", 1, id),
		`{"checkpointMetadata":{"version":1}}`+"\n"+`{"sidecar":{"path":"used.parquet","sizeInBytes":1,"modificationTime":1}}`)
	n, err := s.CleanLog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	var left []string
	for o, err := range bucket.List(t.Context(), logpath.SidecarDir, objstore.ListOptions{}) {
		require.NoError(t, err)
		left = append(left, strings.TrimPrefix(o.Name, logpath.SidecarDir))
	}
	require.Equal(t, []string{"used.parquet", "young.parquet"}, left)
}

// cleaned is a bucket whose log another process cleans up between listing and reading.
type cleaned struct {
	objstore.Bucket
	mu    sync.Mutex
	clean func()
}

func (c *cleaned) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	c.once(name)
	return c.Bucket.Get(ctx, name)
}

// once runs the cleanup before the first file of the log is read. Concurrent readers
// wait for it.
func (c *cleaned) once(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if clean := c.clean; clean != nil && logpath.Parse(name).Kind != logpath.Other {
		c.clean = nil
		clean()
	}
}

func TestLoadWhileTheLogIsCleaned(t *testing.T) {
	b := mem.New()
	opts := testOptions(t)
	opts.NoCheckpoints = true
	s := mustCreate(t, b, delta.CreateOptions{Options: opts})
	for i := range int64(4) {
		s = mustAppend(t, s, i)
	}
	c := &cleaned{Bucket: b, clean: func() {
		require.NoError(t, s.Checkpoint(t.Context()))
		for v := range int64(4) {
			require.NoError(t, b.Delete(t.Context(), logpath.CommitName(v)))
		}
	}}
	loaded, err := delta.Load(t.Context(), c, opts)
	require.NoError(t, err)
	require.Equal(t, fileNames(s), fileNames(loaded))

	c.clean = func() { require.NoError(t, b.Delete(t.Context(), logpath.CheckpointName(4))) }
	_, err = delta.Load(t.Context(), c, opts)
	require.ErrorIs(t, err, delta.ErrLogBroken, "nothing took the place of what is gone")
}
