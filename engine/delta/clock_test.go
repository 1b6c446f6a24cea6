package delta_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// datedBucket is a store whose commits have chosen modification times.
type datedBucket struct {
	objstore.Bucket
	times map[string]time.Time
}

func (b *datedBucket) dated(o objstore.Object) objstore.Object {
	if at, ok := b.times[o.Name]; ok {
		o.ModTime = at
	}
	return o
}

func (b *datedBucket) Stat(ctx context.Context, name string) (objstore.Object, error) {
	o, err := b.Bucket.Stat(ctx, name)
	return b.dated(o), err
}

func (b *datedBucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for o, err := range b.Bucket.List(ctx, prefix, opts) {
			if !yield(b.dated(o), err) {
				return
			}
		}
	}
}

// datedLog is a log of random times. Its commits have in-commit timestamps in some ranges
// of versions; only those of the last range, if it has not ended, are used.
type datedLog struct {
	bucket *datedBucket
	// first is the oldest commit that remains.
	first   int
	stored  []time.Time
	stamped []int64
	// since is the first version that is timed by its in-commit timestamp, or -1.
	since int
}

const stampsMetadata = `{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":` +
	`"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],` +
	`"configuration":{%s}}}`

// newDatedLog draws a log. Modification times go back and forth, by parts of
// milliseconds too, and lie before, between and after the in-commit timestamps.
func newDatedLog(t *rapid.T) *datedLog {
	l := &datedLog{bucket: &datedBucket{Bucket: mem.New(), times: map[string]time.Time{}}, since: -1}
	base := time.Date(2024, 2, 28, 23, 59, 59, 0, time.UTC)
	stamp := base.UnixMilli() + int64(rapid.IntRange(-20, 40).Draw(t, "first stamp"))
	for v := range rapid.IntRange(1, 14).Draw(t, "versions") {
		lines := []string{""}
		properties := func(text string) { lines = append(lines, fmt.Sprintf(stampsMetadata, text)) }
		if v == 0 {
			lines = append(lines, `{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["inCommitTimestamp"]}}`)
		}
		switch change := rapid.IntRange(0, 5).Draw(t, "change"); {
		case change == 0 && l.since < 0:
			l.since = v
			text := `"delta.enableInCommitTimestamps":"true"`
			if v > 0 {
				text += fmt.Sprintf(`,"delta.inCommitTimestampEnablementVersion":"%d","delta.inCommitTimestampEnablementTimestamp":"%d"`, v, stamp)
			}
			properties(text)
		case change == 1 && l.since >= 0:
			l.since = -1
			properties(`"delta.enableInCommitTimestamps":"false"`)
		case v == 0:
			properties("")
		}
		lines[0] = `{"commitInfo":{"operation":"WRITE"}}`
		if l.since >= 0 {
			lines[0] = fmt.Sprintf(`{"commitInfo":{"inCommitTimestamp":%d,"operation":"WRITE"}}`, stamp)
		}
		name, body := logpath.CommitName(int64(v)), strings.Join(lines, "\n")
		require.NoError(t, l.bucket.Put(context.Background(), name, strings.NewReader(body), int64(len(body))))
		l.stored = append(l.stored, base.Add(time.Duration(rapid.IntRange(-20_000, 20_000).Draw(t, "µs"))*time.Microsecond))
		l.bucket.times[name] = l.stored[v]
		l.stamped = append(l.stamped, stamp)
		stamp += int64(rapid.IntRange(1, 9).Draw(t, "ms"))
	}
	return l
}

// want returns the time of a version by definition: the in-commit timestamp; otherwise the
// smallest time that is not before the modification time and at least a millisecond after
// the version before, but before the first in-commit timestamp.
func (l *datedLog) want(version int) time.Time {
	if l.since >= 0 && version >= l.since {
		return time.UnixMilli(l.stamped[version]).UTC()
	}
	latest := int64(-1 << 62)
	for v := l.first; v <= version; v++ {
		latest = max(latest, l.stored[v].UnixMilli()+int64(version-v))
	}
	if l.since >= 0 {
		latest = min(latest, l.stamped[l.since]-int64(l.since-version))
	}
	return time.UnixMilli(latest).UTC()
}

func (l *datedLog) load(t *rapid.T, at delta.At) (*delta.Snapshot, error) {
	t.Helper()
	return delta.Load(context.Background(), l.bucket, delta.Options{At: at, NoCheckpoints: true})
}

// check compares the history with the definition, and checks that every time selects its
// version.
func (l *datedLog) check(t *rapid.T) {
	t.Helper()
	ctx := context.Background()
	s, err := l.load(t, delta.At{})
	require.NoError(t, err)
	var history []delta.HistoryEntry
	limit := rapid.IntRange(1, 5).Draw(t, "page")
	for before := int64(0); ; before = history[len(history)-1].Version {
		page, err := s.History(ctx, limit, before)
		require.NoError(t, err)
		history = append(history, page...)
		if len(page) < limit || page[len(page)-1].Version == 0 {
			break
		}
	}
	require.Len(t, history, len(l.stored)-l.first)
	finds := func(at time.Time, version int, words string) {
		t.Helper()
		found, err := l.load(t, delta.AtTimestamp(at))
		if version < l.first {
			require.ErrorIs(t, err, delta.ErrVersionNotFound, "%s: %s", words, at)
			return
		}
		require.NoError(t, err)
		require.EqualValues(t, version, found.Version(), "%s: %s", words, at)
	}
	for i, e := range history {
		version := len(l.stored) - 1 - i
		require.EqualValues(t, version, e.Version)
		require.Equal(t, l.want(version), e.Timestamp, "version %d", version)
		finds(e.Timestamp, version, "its own time")
		finds(e.Timestamp.Add(-time.Nanosecond), version-1, "just before")
		if i > 0 {
			require.True(t, e.Timestamp.Before(history[i-1].Timestamp), "times grow with the versions")
			finds(e.Timestamp.Add(history[i-1].Timestamp.Sub(e.Timestamp)/2), version, "between")
		}
	}
	finds(history[0].Timestamp.Add(time.Hour), len(l.stored)-1, "after the last")
	at, err := s.CommittedAt(ctx)
	require.NoError(t, err)
	require.Equal(t, history[0].Timestamp, at)
}

// TestHistoryTimesSelectTheirVersions draws logs with any order of modification times,
// with in-commit timestamps from the start, from a later version on or no longer, and
// with a deleted beginning.
func TestHistoryTimesSelectTheirVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newDatedLog(t)
		l.check(t)
		if raced && rapid.IntRange(0, 3).Draw(t, "cut") > 0 {
			return // a log that begins with a checkpoint takes most of the time
		}
		version := rapid.IntRange(0, len(l.stored)-1).Draw(t, "checkpoint")
		s, err := l.load(t, delta.AtVersion(int64(version)))
		require.NoError(t, err)
		require.NoError(t, s.Checkpoint(context.Background()))
		for ; l.first < version; l.first++ {
			require.NoError(t, l.bucket.Delete(context.Background(), logpath.CommitName(int64(l.first))))
		}
		l.check(t)
	})
}

// TestLogCleanupChangesNoTimes checks that the remaining log never begins with a version
// whose modification time is before that of its predecessor.
func TestLogCleanupChangesNoTimes(t *testing.T) {
	a := newAgedTable(t, map[string]string{"delta.logRetentionDuration": "interval 5 days", "delta.enableExpiredLogCleanup": "false"})
	back := firstDay.Add(36 * time.Hour) // versions 2 and 4 have swapped their times
	for v, at := range map[int64]time.Time{2: firstDay.Add(4 * aDay), 4: back} {
		require.NoError(t, os.Chtimes(filepath.Join(a.dir, logpath.CommitName(v)), at, at))
	}
	m := a.snap.Metadata()
	m.Configuration = map[string]string{"delta.logRetentionDuration": "interval 5 days", "delta.checkpointInterval": "1000"}
	var err error
	a.snap, err = delta.Load(t.Context(), a.bucket, a.opts)
	require.NoError(t, err)
	txn := a.snap.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
	txn.SetMetadata(m)
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
	a.age(t, a.snap.Version()+1)
	s := a.snap
	times := func() map[int64]time.Time {
		out := map[int64]time.Time{}
		entries, err := s.History(t.Context(), 100, 0)
		require.NoError(t, err)
		for _, e := range entries {
			out[e.Version] = e.Timestamp
		}
		return out
	}
	before := times()
	for range 20 {
		_, err = s.CleanLog(t.Context())
		require.NoError(t, err)
		for v, at := range times() {
			require.Equal(t, before[v], at, "version %d", v)
		}
		a.now = a.now.Add(aDay)
	}
	require.NotContains(t, times(), int64(4), "the log was cleaned up behind version 8")
	require.Contains(t, times(), int64(8))
}

// TestHistoryTimesAgreeWithDeltaRS compares the history with that of delta-rs for a log
// whose modification times are in order, because delta-rs has no rule for others.
func TestHistoryTimesAgreeWithDeltaRS(t *testing.T) {
	b, dir := fileBucket(t)
	s := mustCreate(t, b, delta.CreateOptions{})
	for i := range int64(4) {
		s = mustAppend(t, s, i)
	}
	for v := range s.Version() + 1 {
		at := firstDay.Add(time.Duration(v)*aDay + 123456*time.Microsecond)
		require.NoError(t, os.Chtimes(filepath.Join(dir, logpath.CommitName(v)), at, at))
	}
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	entries, err := s.History(t.Context(), 10, 0)
	require.NoError(t, err)
	var ask []string
	want := []int64{}
	for _, e := range entries {
		ask = append(ask, fmt.Sprintf("%q", e.Timestamp.Add(time.Millisecond).Format(time.RFC3339Nano)))
		want = append(want, e.Version)
	}
	got := runPython[[]int64](t, dir, `
t, found = DeltaTable(path), []
for at in [`+strings.Join(ask, ",")+`]:
    t.load_as_version(at)
    found.append(t.version())
say(found)`)
	require.Equal(t, want, got)
}

// TestAtIsAVersionByItsNumberOnly: a time may select any version, and the zero value the
// newest one, so neither is known to be a version before the log is read.
func TestAtIsAVersionByItsNumberOnly(t *testing.T) {
	require.True(t, delta.AtVersion(3).Is(3))
	require.False(t, delta.AtVersion(3).Is(4))
	require.False(t, delta.AtTimestamp(time.Unix(3, 0)).Is(3))
	require.False(t, delta.At{}.Is(0))
}
