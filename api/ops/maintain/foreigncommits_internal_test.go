package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// foreignLake has the empty table t0 in one bucket.
func foreignLake(t *testing.T) (*lake.Lake, objstore.Bucket, catalog.StorageConfig) {
	t.Helper()
	b := mem.New()
	_, err := delta.Create(t.Context(), objstore.Prefix(b, "t0"), delta.CreateOptions{
		Schema: delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}}},
	})
	require.NoError(t, err)
	return lake.New(foreignBucket{b}, delta.Options{}), b, catalog.StorageConfig{ID: "c", Location: "s3://b/"}
}

type foreignBucket struct{ b objstore.Bucket }

func (o foreignBucket) Bucket(context.Context, catalog.StorageConfig) (objstore.Bucket, error) {
	return o.b, nil
}

// droppedChecks returns the number of checks that were dropped.
func droppedChecks(t *testing.T, r *prometheus.Registry) float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == "dropped" {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}

// commits writes n commits of one file each to table t0, as a writer of that
// engineInfo.
func commits(t *testing.T, b objstore.Bucket, engineInfo string, n int) *delta.Snapshot {
	t.Helper()
	s, err := delta.Load(t.Context(), objstore.Prefix(b, "t0"), delta.Options{EngineInfo: engineInfo})
	require.NoError(t, err)
	for range n {
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(t, txn.Add(delta.AddFile{Name: fmt.Sprint("f", s.Version()), Size: 1, ModTime: time.Unix(1, 0)}))
		s, err = txn.Commit(t.Context())
		require.NoError(t, err)
	}
	return s
}

// A commit of another writer is to be checked once, however many came and however
// often the table is loaded; those of our own releases are not.
func TestForeignCommitsAreSeenOnce(t *testing.T) {
	lake, bucket, config := foreignLake(t)
	f := &ForeignCommits{Lake: lake, Metrics: NewForeignMetrics(prometheus.NewRegistry())}
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
	config.Version++ // the table is loaded again, as after an eviction
	look()
	require.Nil(t, due(), "its commits were checked")
	require.False(t, first.pending)

	commits(t, bucket, "delta-rs", 1)
	ours := commits(t, bucket, "Lakewarden/2", 1)
	lake.Committed(t.Context(), catalog.LocatedTable{Table: catalog.Table{Path: "t0"}, StorageConfig: config}, ours)
	require.True(t, first.pending, "the foreign commit was followed by one of this service")
	require.Nil(t, due(), "the table rests")
	first.due = time.Time{}
	require.Same(t, first, due())
}

// measured is a catalog that records sizes and knows no rules.
type measured struct {
	ForeignRules
	sizes map[string]catalog.TableSize
}

var errNoRules = errors.New("no rules")

func (m measured) MeasureTable(_ context.Context, _ catalog.ConfigID, path string, size catalog.TableSize) error {
	m.sizes[path] = size
	return nil
}

func (measured) Constraints(context.Context, catalog.OrgID, catalog.DeltaID) ([]catalog.Constraint, error) {
	return nil, errNoRules
}

// TestForeignCommitsAreMeasured checks that the quota of a sandbox counts what another
// writer has written.
func TestForeignCommitsAreMeasured(t *testing.T) {
	lake, bucket, config := foreignLake(t)
	store := measured{sizes: map[string]catalog.TableSize{}}
	f := &ForeignCommits{Lake: lake, Store: store, Metrics: NewForeignMetrics(prometheus.NewRegistry())}
	commits(t, bucket, "delta-rs", 3)
	_, err := f.countBroken(t.Context(), config, "t0")
	require.ErrorIs(t, err, errNoRules)
	require.Empty(t, store.sizes, "not in a sandbox")
	config.Sandbox = true
	_, err = f.countBroken(t.Context(), config, "t0")
	require.ErrorIs(t, err, errNoRules)
	require.Equal(t, map[string]catalog.TableSize{"t0": {Version: 3, Bytes: 3}}, store.sizes)
}

// What cannot be remembered is counted, and tables that need no check make room.
func TestForeignCommitsAreBounded(t *testing.T) {
	lake, _, config := foreignLake(t)
	registry := prometheus.NewRegistry()
	f := &ForeignCommits{Lake: lake, Metrics: NewForeignMetrics(registry)}
	f.Watch()
	snap, err := lake.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	for i := range maxForeignTables + 2 {
		config.Org = catalog.OrgID(fmt.Sprint(i % 16))
		f.seen(config, fmt.Sprint(i), snap)
	}
	require.Len(t, f.tables, maxForeignTables)
	require.Equal(t, 2.0, droppedChecks(t, registry))
	next, _ := f.next()
	require.NotNil(t, next)
	f.seen(config, "more", snap)
	require.Len(t, f.tables, maxForeignTables)
	require.Equal(t, 2.0, droppedChecks(t, registry))
}

// foreignFixture is checks that only take notes, with a snapshot to note.
func foreignFixture(t *testing.T) (*ForeignCommits, *prometheus.Registry, func(org, path string)) {
	lake, _, config := foreignLake(t)
	registry := prometheus.NewRegistry()
	f := &ForeignCommits{Lake: lake, Metrics: NewForeignMetrics(registry)}
	f.Watch()
	snap, err := lake.Any(t.Context(), config, "t0")
	require.NoError(t, err)
	return f, registry, func(org, path string) {
		f.seen(catalog.StorageConfig{ID: catalog.ConfigID("config of " + org), Org: catalog.OrgID(org)}, path, snap)
	}
}

// Organisations take turns, however many tables one of them has: one with commits
// without end does not keep those of others waiting.
func TestForeignCommitsTakeTurns(t *testing.T) {
	f, _, seen := foreignFixture(t)
	for i := range 300 {
		seen("greedy", fmt.Sprint(i))
	}
	for _, org := range []string{"a", "b"} {
		seen(org, "first")
		seen(org, "second")
	}
	var order []string
	for i := range 40 {
		next, _ := f.next()
		require.NotNil(t, next)
		order = append(order, string(next.config.Org)+" "+next.path)
		seen("greedy", fmt.Sprint("more ", i)) // while the check runs
		if i == 20 {
			seen("late", "first")
		}
	}
	served := func(what string) int { return slices.Index(order, what) }
	for what, latest := range map[string]int{"a first": 2, "b first": 2, "a second": 5, "b second": 5, "late first": 22} {
		require.GreaterOrEqual(t, served(what), 0, what)
		require.LessOrEqual(t, served(what), latest, "%s in %v", what, order)
	}
}

// Within an organisation the table that has waited longest is next, and one that was
// just seen does not precede those whose rest has ended.
func TestForeignCommitsOfAnOrganisationKeepTheirOrder(t *testing.T) {
	f, _, seen := foreignFixture(t)
	seen("org", "rested")
	first, _ := f.next()
	first.due = time.Now()
	seen("org", "rested")
	seen("org", "fresh")
	next, _ := f.next()
	require.Equal(t, "rested", next.path)
}

// One organisation does not take the room of all others, and has its room again
// when its tables are checked.
func TestForeignCommitsAreBoundedByOrganisation(t *testing.T) {
	f, registry, seen := foreignFixture(t)
	dropped := func() float64 { return droppedChecks(t, registry) }
	for i := range 2 * maxForeignPending {
		seen("greedy", fmt.Sprint(i))
		seen("greedy", fmt.Sprint(i)) // again, for the same check
	}
	require.Len(t, f.tables, maxForeignPending)
	require.Positive(t, dropped())
	before := dropped()
	for i := range maxForeignPending {
		seen("other", fmt.Sprint(i))
	}
	require.Equal(t, before, dropped(), "another organisation has room of its own")
	for range 4 * maxForeignPending {
		next, _ := f.next()
		if next == nil {
			break
		}
	}
	require.Empty(t, f.orgs, "whoever waits for nothing is forgotten")
	seen("greedy", "new")
	require.Equal(t, before, dropped())
	next, _ := f.next()
	require.Equal(t, "new", next.path)
}
