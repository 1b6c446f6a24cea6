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

	first := recorded[0]
	require.True(t, first.Concerns("a table", 6, first.Epoch-1))
	require.False(t, first.Concerns("a table", 7, first.Epoch-1), "the version has its files")
	require.False(t, first.Concerns("a table", 6, first.Epoch), "it was read after the deletion")
	require.False(t, first.Concerns("another", 6, 0))
	require.False(t, recorded[2].Concerns("", 0, 0), "no rows were deleted")
}
