package catalogtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func writeLeases(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	const table catalog.DeltaID = "a table"
	before := w.epochNow()
	start := w.now()
	oldest := func(org catalog.OrgID, table catalog.DeltaID, since time.Time) time.Time {
		begun, err := w.OldestWrite(w.ctx, org, table, since)
		require.NoError(t, err)
		return begun
	}
	begin := func() catalog.WriteLeaseID {
		id, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: org, Table: table, Kind: catalog.WriteRows})
		require.NoError(t, err)
		return id
	}
	require.True(t, oldest(org, table, start).IsZero())
	first := begin()
	between := w.now()
	second := begin()
	begun := oldest(org, table, start)
	require.True(t, begun.After(start) && begun.Before(between), "the first one began %s", begun)
	require.True(t, oldest(org, table, between).After(between), "the first one was not renewed")
	require.True(t, oldest(org, "another", start).IsZero())
	require.True(t, oldest(other, table, start).IsZero(), "another organisation's table of the same id")

	renewed := w.now()
	require.NoError(t, w.RenewWrite(w.ctx, first))
	require.Equal(t, begun, oldest(org, table, renewed), "the protection starts at the beginning of the write")
	forgotten, err := w.ForgetWrites(w.ctx, renewed)
	require.NoError(t, err)
	require.EqualValues(t, 1, forgotten)
	require.ErrorIs(t, w.RenewWrite(w.ctx, second), catalog.ErrNotFound)
	require.NoError(t, w.EndWrite(w.ctx, second), "a forgotten one ends like any other")
	require.NoError(t, w.EndWrite(w.ctx, first))
	require.NoError(t, w.EndWrite(w.ctx, first))
	require.True(t, oldest(org, table, start).IsZero())

	vacuums := func(org catalog.OrgID, table catalog.DeltaID, since time.Time) bool {
		under, err := w.VacuumUnderWay(w.ctx, org, table, "", since)
		require.NoError(t, err)
		return under
	}
	third := begin()
	require.False(t, vacuums(org, table, start), "a write deletes nothing")
	vacuum, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: org, Table: table, Kind: catalog.WriteVacuum})
	require.NoError(t, err)
	require.True(t, vacuums(org, table, start))
	require.False(t, vacuums(org, table, w.now()), "it was silent")
	others, err := w.VacuumUnderWay(w.ctx, org, table, vacuum, start)
	require.NoError(t, err)
	require.False(t, others)
	others, err = w.VacuumUnderWay(w.ctx, org, table, third, start)
	require.NoError(t, err)
	require.True(t, others)
	require.False(t, vacuums(org, "another", start))
	require.False(t, vacuums(other, table, start))
	require.NoError(t, w.EndWrite(w.ctx, third))
	require.True(t, oldest(org, table, start).IsZero(), "a vacuum protects no file")
	restore, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: org, Table: table, Kind: catalog.WriteRestore})
	require.NoError(t, err)
	require.Equal(t, time.Unix(0, 0).UTC(), oldest(org, table, start), "a restore protects files of any age")
	require.NoError(t, w.EndWrite(w.ctx, restore))
	require.NoError(t, w.EndWrite(w.ctx, vacuum))
	require.False(t, vacuums(org, table, start))

	_, err = w.BeginWrite(w.ctx, catalog.NewWrite{Org: catalog.NewID[catalog.OrgID](), Table: table, Kind: catalog.WriteRows})
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.BeginWrite(w.ctx, catalog.NewWrite{Org: org, Kind: "else"})
	require.Equal(t, []string{"table_id", "kind"}, fieldsOf(w, err))
	writesOfHolders(t, w, org, other)
	require.Equal(t, before, w.epochNow(), "visibility does not change")
}

// writesOfHolders checks that all leases of one holder end with it, of any kind and
// organisation, and no others.
func writesOfHolders(t *testing.T, w *world, orgs ...catalog.OrgID) {
	const table catalog.DeltaID = "another table"
	begin := func(org catalog.OrgID, kind catalog.WriteKind, holder string) catalog.WriteLeaseID {
		id, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: org, Table: table, Kind: kind, Holder: holder})
		require.NoError(t, err)
		return id
	}
	end := func(holder string) int64 {
		n, err := w.EndWritesOf(w.ctx, holder)
		require.NoError(t, err)
		return n
	}
	var gone, others []catalog.WriteLeaseID
	for _, org := range orgs {
		for _, kind := range []catalog.WriteKind{catalog.WriteRows, catalog.WriteRestore, catalog.WriteVacuum} {
			gone = append(gone, begin(org, kind, "gone"))
			others = append(others, begin(org, kind, "there"), begin(org, kind, ""))
		}
	}
	require.Zero(t, end(""), "the empty holder matches no lease")
	require.Zero(t, end("unknown"))
	require.EqualValues(t, len(gone), end("gone"))
	require.Zero(t, end("gone"))
	for _, id := range gone {
		require.ErrorIs(t, w.RenewWrite(w.ctx, id), catalog.ErrNotFound)
	}
	for _, id := range others {
		require.NoError(t, w.RenewWrite(w.ctx, id))
		require.NoError(t, w.EndWrite(w.ctx, id))
	}
}
