package lake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// lakeOf has tables t0, t1 … of one file each in one bucket.
func lakeOf(t *testing.T, tables int) (*Lake, *objstore.Faults, catalog.StorageConfig) {
	t.Helper()
	b := mem.New()
	for i := range tables {
		s, err := delta.Create(t.Context(), objstore.Prefix(b, fmt.Sprintf("t%d", i)), delta.CreateOptions{
			Schema: delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}}},
		})
		require.NoError(t, err)
		grow(t, s, 0)
	}
	faults := objstore.NewFaults(b)
	return New(oneBucket{faults}, delta.Options{}), faults, catalog.StorageConfig{ID: "c", Location: "s3://b/"}
}

func grow(t *testing.T, s *delta.Snapshot, n int) *delta.Snapshot {
	t.Helper()
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(delta.AddFile{Name: fmt.Sprintf("f%d", n), Size: 1, ModTime: time.Unix(1, 0)}))
	next, err := txn.Commit(t.Context())
	require.NoError(t, err)
	return next
}

type oneBucket struct{ b objstore.Bucket }

func (o oneBucket) Bucket(context.Context, catalog.StorageConfig) (objstore.Bucket, error) {
	return o.b, nil
}

func looks(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			found[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return found
}

// A table is read whole once; then each look costs what changed since.
func TestSnapshotsAdvance(t *testing.T) {
	l, store, config := lakeOf(t, 1)
	registry := prometheus.NewRegistry()
	l.Measure(registry)
	first, err := l.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	same, err := l.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	require.Same(t, first, same)
	grow(t, first, 1)
	before := store.Count(objstore.OpList)
	next, err := l.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	require.Equal(t, first.Version()+1, next.Version())
	require.Equal(t, before, store.Count(objstore.OpList), "no listing: the commit was followed")
	require.Equal(t, map[string]float64{
		"lakewarden_snapshots_looks_total loaded": 1, "lakewarden_snapshots_looks_total advanced": 1,
		"lakewarden_snapshots_looks_total unchanged": 1,
		"lakewarden_snapshots_evictions_total":       0, "lakewarden_snapshots_tables": 1,
		"lakewarden_snapshots_bytes": float64(next.MemoryBytes()),
	}, looks(t, registry))
}

func TestSnapshotsAreBounded(t *testing.T) {
	const tables = 6
	l, _, config := lakeOf(t, tables)
	registry := prometheus.NewRegistry()
	l.Measure(registry)
	ask := func(i int) *delta.Snapshot {
		s, err := l.Any(t.Context(), config, fmt.Sprintf("t%d", i))
		require.NoError(t, err)
		return s
	}
	one := ask(0).MemoryBytes()
	l.cache.most = 3*one + one/2
	for i := range tables {
		ask(i)
		require.LessOrEqual(t, l.cache.bytes, l.cache.most)
	}
	ask(3)
	ask(0) // loaded anew; the one that was not asked for longest, 4, makes room
	loaded := looks(t, registry)["lakewarden_snapshots_looks_total loaded"]
	require.EqualValues(t, tables+1, loaded)
	ask(3)
	ask(5)
	require.Equal(t, loaded, looks(t, registry)["lakewarden_snapshots_looks_total loaded"])
	ask(4)
	require.Equal(t, loaded+1, looks(t, registry)["lakewarden_snapshots_looks_total loaded"])

	l.cache.most = one / 2
	require.NotNil(t, ask(2))
	require.Len(t, l.cache.places, 1, "one that is larger than the bound stays alone")
}

// Tables vanish, grow and are evicted under their readers; the sum stays right.
func TestSnapshotsAreWeighedWhileInUse(t *testing.T) {
	const tables = 5
	l, _, config := lakeOf(t, tables)
	first, err := l.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	l.cache.most = 2*first.MemoryBytes() + 1
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 60 {
				s, err := l.Any(t.Context(), config, fmt.Sprintf("t%d", (i*(w+1))%tables))
				if err != nil {
					t.Error(err)
					return
				}
				if i%7 == w {
					txn := s.Begin(delta.Operation{Name: "WRITE"})
					_ = txn.Add(delta.AddFile{Name: fmt.Sprintf("w%d-%d", w, i), Size: 1, ModTime: time.Unix(1, 0)})
					if _, err := txn.Commit(t.Context()); err != nil && !errors.Is(err, delta.ErrConflict) {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	sum := int64(0)
	for _, cached := range l.cache.places {
		sum += cached.bytes
	}
	require.Equal(t, sum, l.cache.bytes)
}

// TestCommitsAreSeenAfterARotation commits with a configuration that has a new version meanwhile.
func TestCommitsAreSeenAfterARotation(t *testing.T) {
	for name, tell := range map[string]func(*Lake, catalog.LocatedTable, *delta.Snapshot){
		"committed": func(l *Lake, t catalog.LocatedTable, s *delta.Snapshot) { l.Committed(context.Background(), t, s) },
		"changed":   func(l *Lake, t catalog.LocatedTable, _ *delta.Snapshot) { l.Changed(context.Background(), t) },
	} {
		t.Run(name, func(t *testing.T) {
			l, store, before := lakeOf(t, 1)
			after := before
			after.Version++
			first, err := l.Any(t.Context(), before, "t0")
			require.NoError(t, err)
			_, err = l.Any(t.Context(), after, "t0")
			require.NoError(t, err)
			table := catalog.LocatedTable{StorageConfig: before}
			table.Path = "t0"
			tell(l, table, grow(t, first, 1))
			for _, config := range []catalog.StorageConfig{before, after} {
				s, err := l.within(t.Context(), config, "t0", time.Hour)
				require.NoError(t, err)
				require.Equal(t, int64(2), s.Version())
			}
			requests := store.Count()
			_, err = l.within(t.Context(), before, "t0", time.Hour)
			require.NoError(t, err)
			require.Equal(t, requests, store.Count(), "the snapshot is cached")
		})
	}
}

// What another replica announces is looked for at the next call, whatever age
// would do; what fails then is looked for again.
func TestAnnouncedCommitsAreLookedFor(t *testing.T) {
	l, _, config := lakeOf(t, 2)
	at := func(path string) int64 {
		t.Helper()
		s, err := l.within(t.Context(), config, path, time.Hour)
		require.NoError(t, err)
		return s.Version()
	}
	first, err := l.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	require.Equal(t, int64(1), at("t1"))
	grow(t, first, 1)
	require.Equal(t, int64(1), at("t0"), "young enough")
	commits := make(chan catalog.CommittedTable)
	followed := make(chan struct{})
	go func() { defer close(followed); l.Follow(commits) }()
	commits <- catalog.CommittedTable{Config: "another", Path: "t0"}
	commits <- catalog.CommittedTable{Config: "c", Path: "t1"}
	commits <- catalog.CommittedTable{Config: "c", Path: "t1"}
	require.Equal(t, int64(1), at("t0"))
	commits <- catalog.CommittedTable{Config: "c", Path: "t0"}
	close(commits)
	<-followed
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.within(ended, config, "t0", time.Hour)
	require.Error(t, err)
	require.Equal(t, int64(2), at("t0"))
	require.Equal(t, int64(2), at("t0"))
	require.Equal(t, int64(1), at("t1"))

	l.cache.outdate("", "")
	require.True(t, l.cache.places[place{config.ID, config.Version, config.Location, "t1"}].behind.Load(), "any table")

	var announced []catalog.CommittedTable
	l.Announce = func(_ context.Context, c catalog.CommittedTable) error { announced = append(announced, c); return nil }
	remote := catalog.LocatedTable{StorageConfig: config}
	remote.Path = "t1"
	local := catalog.LocatedTable{StorageConfig: catalog.StorageConfig{ID: "l", Location: "file:///nowhere"}}
	l.Changed(t.Context(), remote)
	l.Changed(t.Context(), local)
	l.Committed(t.Context(), remote, first)
	require.Equal(t, []catalog.CommittedTable{{Config: "c", Path: "t1"}, {Config: "c", Path: "t1"}}, announced)
}
