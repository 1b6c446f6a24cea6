package ops

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// commits writes n commits of one file each to table t0, with that engineInfo.
func commits(t *testing.T, b objstore.Bucket, engineInfo string, n int) *delta.Snapshot {
	t.Helper()
	s, err := delta.Load(t.Context(), objstore.Prefix(b, "t0"), delta.Options{EngineInfo: engineInfo})
	require.NoError(t, err)
	for range n {
		s = grow(t, s, int(s.Version())+100)
	}
	return s
}

// A commit of another writer makes a check due once, however many commits arrive and
// however often the table is loaded. Commits of any release of this server make none
// due.
func TestForeignCommitsAreObservedOnce(t *testing.T) {
	lake, bucket, config := lakeOf(t, 1)
	f := &ForeignCommits{Queries: &Queries{Lake: lake}, Metrics: NewForeignMetrics(prometheus.NewRegistry())}
	f.Watch()
	look := func() *delta.Snapshot {
		t.Helper()
		snap, err := lake.Any(t.Context(), config, "t0")
		require.NoError(t, err)
		return snap
	}
	due := func() *foreignTable {
		next, _ := f.next()
		return next
	}
	look()
	commits(t, bucket, "Lakewarden/0.0.1", 2)
	look()
	require.Nil(t, due(), "the same writer, another release")

	commits(t, bucket, "Apache-Spark/4.0.0", 2)
	look()
	commits(t, bucket, "delta-rs", 1)
	snap := look()
	first := due()
	require.NotNil(t, first)
	require.Nil(t, due(), "one check for all of them")
	first.id, first.checked, first.due = snap.TableID(), snap.Version(), time.Now().Add(time.Hour)

	commits(t, bucket, "Lakewarden/0.0.1", 1)
	look()
	lake.kept.at(place{config.ID, config.Version, config.Location, "t0"}).snap = nil // evicted
	look()
	require.Nil(t, due(), "its commits were checked")
	require.False(t, first.pending)

	commits(t, bucket, "delta-rs", 1)
	ours := commits(t, bucket, "Lakewarden/2", 1)
	lake.Committed(t.Context(), catalog.LocatedTable{Table: catalog.Table{Path: "t0"}, StorageConfig: config}, ours)
	require.True(t, first.pending, "it lay between two commits of ours")
	require.Nil(t, due(), "the table rests")
	first.due = time.Time{}
	require.Same(t, first, due())
}

// A table that cannot be recorded is counted. Tables that need no check are evicted
// first.
func TestForeignCommitsAreBounded(t *testing.T) {
	lake, _, config := lakeOf(t, 1)
	registry := prometheus.NewRegistry()
	f := &ForeignCommits{Queries: &Queries{Lake: lake}, Metrics: NewForeignMetrics(registry)}
	f.Watch()
	snap, err := lake.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	for i := range maxForeignTables + 2 {
		f.observe(config, fmt.Sprint(i), snap)
	}
	require.Len(t, f.tables, maxForeignTables)
	require.Equal(t, 2.0, looks(t, registry)["lakewarden_foreign_commits_checked_total dropped"])
	next, _ := f.next()
	require.NotNil(t, next)
	f.observe(config, "more", snap)
	require.Len(t, f.tables, maxForeignTables)
	require.Equal(t, 2.0, looks(t, registry)["lakewarden_foreign_commits_checked_total dropped"])
}
