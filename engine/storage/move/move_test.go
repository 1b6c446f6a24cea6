package move_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/storage/move"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// log returns the name of a file of the log of a table.
func log(table string, version int, suffix string) string {
	return fmt.Sprintf("%s_delta_log/%020d%s", table, version, suffix)
}

// lake is the content of a source with two tables, one at the root and one below it, and names that
// sort differently in listings that are not in byte order.
func lake() map[string]string {
	content := map[string]string{
		"a": "", "a-": "1", "a-b/c": "2", "a.": "3", "a b": "4", "z=1/ü x.parquet": "5", "~": "6",
		"part-0": "rows", "part-1": "more rows",
		"_change_data/c": "change", "_delta_log/_last_checkpoint": `{"version":2}`,
		"_delta_log/_sidecars/s.parquet": "sidecar", "_delta_log/.tmp": "hidden",
		"t/part-0": "rows of t", log("t/", 0, ".json"): "t0", log("t/", 1, ".json"): "t1",
	}
	for version := range 5 {
		content[log("", version, ".json")] = fmt.Sprintf("commit %d", version)
		content[log("", version, ".crc")] = fmt.Sprintf("crc %d", version)
	}
	content[log("", 2, ".checkpoint.parquet")] = "checkpoint"
	content[log("", 0, fmt.Sprintf(".%020d.compacted.json", 1))] = "compacted"
	return content
}

func fill(tb testing.TB, bucket objstore.Bucket, content map[string]string) objstore.Bucket {
	tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(content)) {
		objstoretest.MustPut(tb, bucket, name, content[name])
	}
	return bucket
}

func contentOf(tb testing.TB, bucket objstore.Bucket) map[string]string {
	tb.Helper()
	content := map[string]string{}
	for _, name := range objstoretest.MustList(tb, bucket, "") {
		content[name] = objstoretest.MustGet(tb, bucket, name)
	}
	return content
}

func sizeOf(content map[string]string) move.Count {
	var all move.Count
	for _, text := range content {
		all.Objects++
		all.Bytes += int64(len(text))
	}
	return all
}

func TestMove(t *testing.T) {
	ctx := context.Background()
	source, target := fill(t, mem.New(), lake()), mem.New()
	var progress []move.Count
	job := move.Job{Source: source, Target: target, Progress: func(c move.Count) { progress = append(progress, c) }}
	all, err := job.Measure(ctx)
	require.NoError(t, err)
	require.Equal(t, sizeOf(lake()), all)
	require.NoError(t, job.Vacant(ctx))
	require.ErrorIs(t, job.Changed(ctx), move.ErrSourceChanged)

	copied, err := job.Copy(ctx, false)
	require.NoError(t, err)
	require.Equal(t, all, copied)
	require.Equal(t, all, progress[len(progress)-1])
	require.Len(t, progress, int(all.Objects))
	require.Equal(t, lake(), contentOf(t, target))
	require.Equal(t, lake(), contentOf(t, source))
	require.NoError(t, job.Changed(ctx))

	require.ErrorIs(t, job.Vacant(ctx), move.ErrOccupied)
	_, err = job.Copy(ctx, false)
	require.ErrorIs(t, err, move.ErrOccupied)
	copied, err = job.Copy(ctx, true)
	require.NoError(t, err)
	require.Equal(t, all, copied)

	progress = nil
	deleted, err := job.Delete(ctx)
	require.NoError(t, err)
	require.Equal(t, all, deleted)
	require.Equal(t, all, progress[len(progress)-1])
	require.Empty(t, contentOf(t, source))
	require.Equal(t, lake(), contentOf(t, target))
	deleted, err = job.Delete(ctx)
	require.NoError(t, err)
	require.Zero(t, deleted)
}

func TestDiscard(t *testing.T) {
	ctx := context.Background()
	source, target := fill(t, mem.New(), lake()), mem.New()
	job := move.Job{Source: source, Target: target}
	_, err := job.Copy(ctx, false)
	require.NoError(t, err)
	foreign := map[string]string{"other": "x", log("t/", 2, ".json"): "foreign", log("t/", 3, ".json"): "foreign"}
	fill(t, target, foreign)
	objstoretest.MustPut(t, source, log("t/", 3, ".json"), "another") // as long as the target's
	require.NoError(t, job.Discard(ctx))
	require.Equal(t, foreign, contentOf(t, target))
	want := lake()
	want[log("t/", 3, ".json")] = "another"
	require.Equal(t, want, contentOf(t, source))
}

func TestTable(t *testing.T) {
	for name, want := range map[string]string{
		log("", 1, ".json"): "", log("a/b/", 1, ".crc"): "a/b", "t/_delta_log/_sidecars/x": "t", "t/_delta_log/_delta_log/x": "t",
	} {
		folder, ok := move.Table(name)
		require.True(t, ok, name)
		require.Equal(t, want, folder)
	}
	for _, name := range []string{"_delta_log", "t/_delta_log", "t_delta_log/x", "a/b", "_delta_log2/x"} {
		_, ok := move.Table(name)
		require.False(t, ok, name)
	}
}

// recorder records the writes and deletes of a bucket in their order.
type recorder struct {
	objstore.Bucket
	mu    sync.Mutex
	names []string
}

func (r *recorder) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
}

func (r *recorder) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	r.add(name)
	return r.Bucket.PutIfAbsent(ctx, name, body)
}

func (r *recorder) Delete(ctx context.Context, name string) error {
	r.add(name)
	return r.Bucket.Delete(ctx, name)
}

// TestCommitsAreCreatedInOrder also checks that commits are created by PutIfAbsent only.
func TestCommitsAreCreatedInOrder(t *testing.T) {
	content := map[string]string{}
	var commits []string
	for version := range 300 {
		commits = append(commits, log("", version, ".json"))
		content[commits[version]] = fmt.Sprint(version)
	}
	target := &recorder{Bucket: mem.New()}
	_, err := move.Job{Source: fill(t, mem.New(), content), Target: target, Parallel: 1}.Copy(context.Background(), false)
	require.NoError(t, err)
	require.Equal(t, commits, target.names)
}

// TestCommitsAreNotReplaced puts a commit of another engine at the target.
func TestCommitsAreNotReplaced(t *testing.T) {
	ctx := context.Background()
	for _, foreign := range []string{"commit 3 of another engine", "COMMIT 3"} { // the last is as long as the source's
		target := mem.New()
		_, err := move.Job{Source: fill(t, mem.New(), lake()), Target: target}.Copy(ctx, false)
		require.NoError(t, err)
		objstoretest.MustPut(t, target, log("", 3, ".json"), foreign)
		source := fill(t, mem.New(), lake())
		job := move.Job{Source: source, Target: target}
		_, err = job.Copy(ctx, true)
		require.ErrorIs(t, err, move.ErrOccupied)
		_, err = job.Delete(ctx)
		var changed *move.ChangedError
		require.ErrorAs(t, err, &changed)
		require.Equal(t, []string{log("", 3, ".json")}, changed.Names)
		require.Equal(t, foreign, objstoretest.MustGet(t, target, log("", 3, ".json")))
		require.Equal(t, "commit 3", objstoretest.MustGet(t, source, log("", 3, ".json")))
		require.Equal(t, "rows", objstoretest.MustGet(t, source, "part-0"), "the data of a log that is kept")
	}
}

func TestResumeRefusesForeignObjects(t *testing.T) {
	for _, name := range []string{"foreign", log("u/", 0, ".json"), "zzz"} {
		job := move.Job{Source: fill(t, mem.New(), lake()), Target: fill(t, mem.New(), map[string]string{name: "x", "a-": "1"})}
		_, err := job.Copy(context.Background(), true)
		require.ErrorIs(t, err, move.ErrOccupied, name)
	}
}

// TestResumeReplacesPartialCopies finds an object of another size at the target, such as a store
// leaves behind when its own copy is aborted.
func TestResumeReplacesPartialCopies(t *testing.T) {
	target := fill(t, mem.New(), map[string]string{"part-0": "", "_delta_log/_last_checkpoint": `{"version":1}`})
	_, err := move.Job{Source: fill(t, mem.New(), lake()), Target: target}.Copy(context.Background(), true)
	require.NoError(t, err)
	require.Equal(t, lake(), contentOf(t, target))
}

// TestLateObjectsAreKept writes to the source after it was copied.
func TestLateObjectsAreKept(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		late map[string]string
		// all reports that nothing at all may be deleted.
		all bool
	}{
		"commit":            {map[string]string{log("", 5, ".json"): "late", "part-2": "late rows"}, true},
		"checkpoint":        {map[string]string{log("t/", 1, ".checkpoint.parquet"): "late"}, true},
		"table":             {map[string]string{log("u/", 0, ".json"): "late"}, true},
		"data":              {map[string]string{"part-2": "late rows", "t/part-1": "late"}, false},
		"replaced, longer":  {map[string]string{"a-": "longer"}, false},
		"replaced, as long": {map[string]string{"a-": "9"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			source, target := fill(t, mem.New(), lake()), mem.New()
			job := move.Job{Source: source, Target: target}
			_, err := job.Copy(ctx, false)
			require.NoError(t, err)
			fill(t, source, c.late)
			require.Equal(t, c.all, errors.Is(job.Changed(ctx), move.ErrSourceChanged))
			_, err = job.Delete(ctx)
			require.ErrorIs(t, err, move.ErrSourceChanged)
			want := maps.Clone(c.late)
			if c.all {
				maps.Copy(want, lake())
				maps.Copy(want, c.late)
			}
			require.Equal(t, want, contentOf(t, source))
			require.Equal(t, lake(), contentOf(t, target))
		})
	}
}

// TestNoReaderSeesAnOlderVersion deletes one object after the other and reads the table as an engine
// does after each.
func TestNoReaderSeesAnOlderVersion(t *testing.T) {
	ctx := context.Background()
	source, target := fill(t, mem.New(), lake()), mem.New()
	deleted := &recorder{Bucket: source}
	job := move.Job{Source: deleted, Target: target, Parallel: 16}
	_, err := job.Copy(ctx, false)
	require.NoError(t, err)
	_, err = job.Delete(ctx)
	require.NoError(t, err)
	require.Len(t, deleted.names, len(lake()))

	left := lake()
	gone := false
	for _, name := range deleted.names {
		delete(left, name)
		version := newest(left)
		require.True(t, version == 4 || version == -1, "after %s readers see version %d", name, version)
		require.False(t, gone && version >= 0, "the table is back")
		gone = version < 0
		if !strings.Contains(name, "_delta_log/") {
			require.True(t, gone, "data was deleted before the log")
		}
	}
}

// newest returns the newest version of the table at the root that a reader of its log finds, or -1.
func newest(content map[string]string) int {
	has := func(version int, suffix string) bool { _, ok := content[log("", version, suffix)]; return ok }
	for version := 9; version >= 0; version-- {
		if !has(version, ".json") {
			continue
		}
		for from := version; from >= 0; from-- {
			if has(from, ".checkpoint.parquet") {
				return version
			}
			if !has(from, ".json") {
				break
			}
			if from == 0 {
				return version
			}
		}
		return -1 // a reader that finds a newer commit does not go back to an older one
	}
	return -1
}

// damager stores a wrong byte in an object, several times.
type damager struct {
	objstore.Bucket
	name string
	left int
}

func (d *damager) damage(name string, body []byte) []byte {
	if name == d.name && d.left > 0 {
		d.left--
		body[0] ^= 1
	}
	return body
}

func (d *damager) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return d.Bucket.Put(ctx, name, bytes.NewReader(d.damage(name, content)), size)
}

func (d *damager) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	return d.Bucket.PutIfAbsent(ctx, name, d.damage(name, bytes.Clone(body)))
}

// summing is a damager with the checksums of what it has stored.
type summing struct{ damager }

// Sums implements objstore.Summer.
func (s *summing) Sums(ctx context.Context, name string) (objstore.Sums, error) {
	return objstore.StoredSums(ctx, s.Bucket, name)
}

// small is a summing bucket without checksums of objects above 1 MiB.
type small struct{ summing }

// Sums implements objstore.Summer.
func (s *small) Sums(ctx context.Context, name string) (objstore.Sums, error) {
	object, err := s.Stat(ctx, name)
	if err != nil || object.Size > 1<<20 {
		return objstore.Sums{}, err
	}
	return s.summing.Sums(ctx, name)
}

// List implements objstore.Bucket.
func (s *small) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for object, err := range s.Bucket.List(ctx, prefix, opts) {
			if object.Size > 1<<20 {
				object.Sums = objstore.Sums{}
			}
			if !yield(object, err) {
				return
			}
		}
	}
}
