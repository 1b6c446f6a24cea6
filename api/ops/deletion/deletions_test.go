package deletion_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/catalog"
)

// records is a catalog that has nothing but records of deletions.
type records struct {
	epoch uint64
	files []catalog.FileDeletion
	err   error
}

func (r *records) Epoch(context.Context) (uint64, error) { return r.epoch, r.err }

func (r *records) Watch(context.Context) <-chan uint64 { return nil }

func (r *records) RecordFileDeletion(_ context.Context, d catalog.FileDeletion) error {
	r.epoch++
	d.Epoch = r.epoch
	r.files = append(r.files, d)
	return r.err
}

func (r *records) FileDeletionsSince(_ context.Context, epoch uint64) ([]catalog.FileDeletion, error) {
	return slices.DeleteFunc(slices.Clone(r.files), func(d catalog.FileDeletion) bool { return d.Epoch <= epoch }), r.err
}

// replica follows the deletions of a catalog.
type replica struct {
	*deletion.Deletions
	dropped []deletion.Dropped
	err     error
}

func newReplica(t *testing.T, store deletion.Store, now func() time.Time) *replica {
	t.Helper()
	d, err := deletion.New(t.Context(), store, now)
	require.NoError(t, err)
	r := &replica{Deletions: d}
	d.Add(func(_ context.Context, dropped deletion.Dropped) error {
		if r.err == nil {
			r.dropped = append(r.dropped, dropped)
		}
		return r.err
	})
	return r
}

// TestDeletionsReachEveryReplica: its own at once, those of others before the epoch is confirmed.
func TestDeletionsReachEveryReplica(t *testing.T) {
	store := &records{epoch: 7}
	one, two := newReplica(t, store, time.Now), newReplica(t, store, time.Now)
	gone := catalog.FileDeletion{Org: "o", Place: catalog.Place{Config: "c", Path: "a/t"}, Table: "t", Kept: 3}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, one.Record(ended, gone), "also after the end of the request")
	gone.Epoch = 8
	want := []deletion.Dropped{{Files: []catalog.FileDeletion{gone}}}
	require.Equal(t, want, one.dropped)
	require.EqualValues(t, 8, one.Dropped())
	require.Empty(t, two.dropped)
	require.EqualValues(t, 7, two.Dropped())
	require.True(t, want[0].Covers("c", "a/t/x.parquet"))
	require.False(t, want[0].Covers("c", "a/tt/x.parquet"))
	require.False(t, want[0].Covers("d", "a/t/x.parquet"))

	two.err = errors.New("busy")
	require.ErrorIs(t, two.Follow(t.Context(), 9), two.err)
	require.EqualValues(t, 7, two.Dropped())
	two.err, store.err = nil, errors.New("no connection")
	require.ErrorIs(t, two.Follow(t.Context(), 9), store.err)
	store.err = nil
	require.NoError(t, two.Follow(t.Context(), 9))
	require.Equal(t, want, two.dropped)
	require.EqualValues(t, 9, two.Dropped())
	require.NoError(t, two.Follow(t.Context(), 9))
	require.NoError(t, two.Follow(t.Context(), 10))
	require.Len(t, two.dropped, 1)
}

// TestAReplicaThatWasAwayForLongDropsEverything, because the catalog forgets old records.
func TestAReplicaThatWasAwayForLongDropsEverything(t *testing.T) {
	now := time.Now()
	r := newReplica(t, &records{epoch: 7}, func() time.Time { return now })
	for range 30 {
		now = now.Add(time.Hour)
		require.NoError(t, r.Follow(t.Context(), 7))
	}
	require.Empty(t, r.dropped)
	now = now.Add(25 * time.Hour)
	require.NoError(t, r.Follow(t.Context(), 7))
	require.Equal(t, []deletion.Dropped{{All: true}}, r.dropped)
	require.True(t, r.dropped[0].Covers("any", "any"))
}
