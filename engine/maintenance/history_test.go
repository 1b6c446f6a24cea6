package maintenance_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// dated is a bucket that reports set modification times.
type dated struct {
	*mem.Bucket
	times map[string]time.Time
}

func (d *dated) date(o objstore.Object) objstore.Object {
	if at, ok := d.times[o.Name]; ok {
		o.ModTime = at
	}
	return o
}

func (d *dated) Stat(ctx context.Context, name string) (objstore.Object, error) {
	o, err := d.Bucket.Stat(ctx, name)
	return d.date(o), err
}

func (d *dated) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for o, err := range d.Bucket.List(ctx, prefix, opts) {
			if !yield(d.date(o), err) {
				return
			}
		}
	}
}

// history is a table with an artificial history: its files are empty, and its clock
// is set by the test.
type history struct {
	t      *rapid.T
	bucket *dated
	snap   *delta.Snapshot
	now    time.Time
	names  int
	// versions holds the live files of each version.
	versions []historyVersion
}

type historyVersion struct {
	at    time.Time
	files []string
}

func newHistory(t *rapid.T, partitioned bool, properties map[string]string) *history {
	bucket := &dated{Bucket: mem.New(), times: map[string]time.Time{}}
	p := &history{t: t, bucket: bucket, now: time.Now().Add(-60 * 24 * time.Hour).Truncate(time.Second)}
	c := delta.CreateOptions{Schema: twoColumns, Properties: properties, Options: delta.Options{Clock: func() time.Time { return p.now }}}
	if partitioned {
		c.PartitionColumns = []string{"p"}
	}
	var err error
	p.snap, err = delta.Create(context.Background(), bucket, c)
	require.NoError(t, err)
	p.remember()
	return p
}

func (p *history) remember() {
	v := historyVersion{at: p.now}
	for f := range p.snap.Files() {
		v.files = append(v.files, f.Name)
	}
	p.versions = append(p.versions, v)
}

// put creates a file with the current time of the history.
func (p *history) put(name string) {
	require.NoError(p.t, p.bucket.Put(context.Background(), name, strings.NewReader("x"), 1))
	p.bucket.times[name] = p.now
}

var folders = []string{"", "p=a b%2F/", "p=é/", "x/y/", "p=__HIVE_DEFAULT_PARTITION__/"}

func (p *history) fileName() string {
	p.names++
	return fmt.Sprintf("%spart-%05d #%%41.parquet", rapid.SampledFrom(folders).Draw(p.t, "folder"), p.names)
}

// step advances the clock and makes one random change.
func (p *history) step() {
	p.now = p.now.Add(time.Duration(rapid.IntRange(1, 5*24*60).Draw(p.t, "minutes")) * time.Minute)
	live := slices.Collect(p.snap.Files())
	var gone []delta.File
	for _, f := range live {
		if rapid.Bool().Draw(p.t, "remove") {
			gone = append(gone, f)
		}
	}
	switch kind := rapid.SampledFrom([]string{"append", "append", "rewrite", "delete", "orphan", "hidden", "checkpoint"}).Draw(p.t, "step"); {
	case kind == "append":
		p.commit(nil, rapid.IntRange(1, 3).Draw(p.t, "files"))
	case kind == "orphan":
		p.put(p.fileName())
	case kind == "hidden":
		name := p.fileName()
		p.put(rapid.SampledFrom([]string{"_tmp/", ".x/", "_delta_log/"}).Draw(p.t, "hidden") + filepath.Base(name))
	case kind == "checkpoint":
		require.NoError(p.t, p.snap.Checkpoint(context.Background()))
	case len(gone) > 0 && kind == "rewrite":
		p.commit(gone, 1)
	case len(gone) > 0:
		p.commit(gone, 0)
	}
}

func (p *history) commit(gone []delta.File, files int) {
	txn := p.snap.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(p.t, txn.Remove(false, gone...))
	for range files {
		name := p.fileName()
		p.put(name)
		add := delta.AddFile{Name: name, Size: 1, ModTime: p.now, Stats: `{"numRecords":1}`, PartitionValues: map[string]*string{}}
		for _, column := range p.snap.PartitionColumns() {
			add.PartitionValues[column] = &name
		}
		require.NoError(p.t, txn.Add(add))
	}
	snap, err := txn.Commit(context.Background())
	require.NoError(p.t, err)
	p.snap = snap
	p.remember()
}

// times returns when the versions were committed and the files written.
func (p *history) times() []time.Time {
	out := slices.Collect(maps.Values(p.bucket.times))
	for _, v := range p.versions {
		out = append(out, v.at)
	}
	return out
}

// needed returns the files of the versions that were the newest at since or later.
func (p *history) needed(since time.Time) []string {
	all := map[string]bool{}
	for i, v := range p.versions {
		if i+1 < len(p.versions) && p.versions[i+1].at.Before(since) {
			continue
		}
		for _, name := range v.files {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// hours draws a retention that ends near a version.
func (p *history) hours() int {
	v := rapid.SampledFrom(p.versions).Draw(p.t, "version")
	return max(0, int(time.Since(v.at).Hours())+rapid.IntRange(-30, 30).Draw(p.t, "hours"))
}

// present returns the files below the table's folder, except its log.
func (p *history) present() []string {
	var names []string
	for o, err := range p.bucket.List(context.Background(), "", objstore.ListOptions{}) {
		require.NoError(p.t, err)
		if !strings.HasPrefix(o.Name, "_delta_log/0") && o.Name != "_delta_log/_last_checkpoint" {
			names = append(names, o.Name)
		}
	}
	return names
}

// copyTo writes the bucket's objects below a directory.
func (p *history) copyTo(dir string) {
	for o, err := range p.bucket.List(context.Background(), "", objstore.ListOptions{}) {
		require.NoError(p.t, err)
		body, err := p.bucket.Get(context.Background(), o.Name)
		require.NoError(p.t, err)
		content, err := io.ReadAll(body)
		require.NoError(p.t, err)
		require.NoError(p.t, body.Close())
		full := filepath.Join(dir, filepath.FromSlash(o.Name))
		require.NoError(p.t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(p.t, os.WriteFile(full, content, 0o644))
		require.NoError(p.t, os.Chtimes(full, o.ModTime, o.ModTime))
	}
}
