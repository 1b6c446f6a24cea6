package catalogtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func fileDeletions(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	since := func(epoch uint64) []catalog.FileDeletion {
		found, err := w.FileDeletionsSince(w.ctx, epoch)
		require.NoError(t, err)
		return found
	}
	start := w.epochNow()
	require.Empty(t, since(start))
	place := catalog.Place{Config: catalog.NewID[catalog.ConfigID](), Path: "sales/orders"}
	var recorded []catalog.FileDeletion
	for i, d := range []catalog.FileDeletion{
		{Org: org, Place: place, Table: "a table", Kept: 7},
		{Org: org, Place: place, Table: "a table", Kept: catalog.NoVersion},
		{Org: other, Place: catalog.Place{Config: place.Config}},
	} {
		require.NoError(t, w.RecordFileDeletion(w.ctx, d))
		d.Epoch = w.epochNow()
		require.Equal(t, start+uint64(i)+1, d.Epoch, "each record raises the epoch")
		recorded = append(recorded, d)
	}
	require.Equal(t, recorded, since(start))
	require.Equal(t, recorded[1:], since(recorded[0].Epoch))
	require.Empty(t, since(recorded[2].Epoch))
	require.ErrorIs(t, w.RecordFileDeletion(w.ctx, catalog.FileDeletion{Org: org, Place: catalog.Place{Config: place.Config, Path: "../x"}}),
		catalog.ErrInvalid)
	require.ErrorIs(t, w.RecordFileDeletion(w.ctx, catalog.FileDeletion{Org: org, Place: place, Kept: -1}), catalog.ErrInvalid)

	begunDeletions(t, w)

	first := recorded[0]
	require.True(t, first.Concerns("a table", 6, first.Epoch-1))
	require.False(t, first.Concerns("a table", 7, first.Epoch-1), "the version has its files")
	require.False(t, first.Concerns("a table", 6, first.Epoch), "it was read after the deletion")
	require.False(t, first.Concerns("another", 6, 0))
	require.False(t, recorded[2].Concerns("", 0, 0), "no rows were deleted")
}

// begunDeletions checks that a deletion under a lease is recorded when the lease is lost, once, and
// not when its holder ends it.
func begunDeletions(t *testing.T, w *world) {
	org, _ := w.org()
	place := catalog.Place{Config: catalog.NewID[catalog.ConfigID](), Path: "sales/orders"}
	begin := func(holder string, kept ...int64) (catalog.WriteLeaseID, catalog.FileDeletion) {
		lease, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: org, Table: "a table", Kind: catalog.WriteVacuum, Holder: holder})
		require.NoError(t, err)
		d := catalog.FileDeletion{Org: org, Place: place, Table: "a table"}
		for _, d.Kept = range kept {
			require.NoError(t, w.DeleteUnder(w.ctx, lease, d))
		}
		return lease, d
	}
	start := w.epochNow()
	ended, d := begin("", 3)
	require.Equal(t, start, w.epochNow())
	require.NoError(t, w.EndWrite(w.ctx, ended))
	require.ErrorIs(t, w.DeleteUnder(w.ctx, ended, d), catalog.ErrNotFound)
	d.Kept = -1
	require.ErrorIs(t, w.DeleteUnder(w.ctx, ended, d), catalog.ErrInvalid)

	_, silent := begin("", 3, 7)
	begin("")
	_, other := begin("", catalog.NoVersion)
	_, former := begin("former", 4)
	lost, err := w.EndWritesOf(w.ctx, "former")
	require.NoError(t, err)
	require.EqualValues(t, 1, lost)
	since := w.now()
	_, running := begin("", 9)
	var want []catalog.FileDeletion
	for range 2 {
		_, err = w.ForgetWrites(w.ctx, since)
		require.NoError(t, err)
		want, err = w.FileDeletionsSince(w.ctx, start)
		require.NoError(t, err)
		epochs := map[uint64]bool{}
		for i := range want {
			epochs[want[i].Epoch], want[i].Epoch = true, 0
		}
		require.Len(t, epochs, 3)
		require.ElementsMatch(t, []catalog.FileDeletion{silent, other, former}, want)
	}
	lost, err = w.ForgetWrites(w.ctx, w.now())
	require.NoError(t, err)
	require.EqualValues(t, 1, lost)
	found, err := w.FileDeletionsSince(w.ctx, w.epochNow()-1)
	require.NoError(t, err)
	running.Epoch = w.epochNow()
	require.Equal(t, []catalog.FileDeletion{running}, found)
}
