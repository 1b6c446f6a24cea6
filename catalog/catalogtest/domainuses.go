package catalogtest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// judgedUses checks that a change of a domain fails if other columns use the domain than those
// that its caller was judged by, however they came or went.
func judgedUses(t *testing.T, w *world) {
	d := w.domained()
	other, gone, former := w.table(d.config, "other"), w.table(d.config, "gone"), w.table(d.config, "former")
	shared, err := w.CreateDomain(w.ctx, d.org, named("shared", fixed("a", "b", "c")), d.owner)
	require.NoError(t, err)
	use := func(table catalog.Table, column string) {
		t.Helper()
		_, err := w.UseDomain(w.ctx, d.viewer, table.ID, catalog.ColumnDomainAt{Column: column}, shared.ID, d.owner)
		require.NoError(t, err)
	}
	uses := func() []catalog.ColumnDomain {
		t.Helper()
		found, err := w.DomainUses(w.ctx, d.org, shared.ID)
		require.NoError(t, err)
		return found
	}
	use(gone, "c")
	use(former, "c")
	w.vanish(d.config, "gone")

	changes := []func(at catalog.DomainTarget) error{
		func(at catalog.DomainTarget) error {
			return drop(w.ReplaceDomain(w.ctx, at, named("shared", fixed("a", "b", "c", "d"))))
		},
		func(at catalog.DomainTarget) error {
			_, _, err := w.AddDomainValues(w.ctx, at, newValues("new"))
			return err
		},
		func(at catalog.DomainTarget) error {
			return drop(w.DescribeDomainValue(w.ctx, at, d.ids(shared.ID)["a"], "label", ""))
		},
		func(at catalog.DomainTarget) error {
			return drop(w.BeginValueChange(w.ctx, at, catalog.ValueChange{Kind: catalog.ValueDelete, Value: d.ids(shared.ID)["c"], By: d.owner}))
		},
	}
	refused := func(judged []catalog.ColumnDomain) {
		t.Helper()
		before := d.texts(shared.ID)
		at := d.shared(shared.ID, catalog.AnyVersion)
		at.Uses = judged
		for _, change := range changes {
			require.ErrorIs(t, change(at), catalog.ErrVersionConflict)
		}
		require.Equal(t, before, d.texts(shared.ID))
	}

	for _, meanwhile := range []func(){
		func() { use(other, "c") },
		func() { use(other, "b") },
		func() {
			require.NoError(t, w.RemoveColumnDomain(w.ctx, d.viewer, other.ID, catalog.ColumnDomainAt{Column: "b"}))
		},
		func() { w.sync(d.config, partial("gone", gone.DeltaID)) },
		func() {
			w.sync(d.config, partial("former", w.delta()))
			_, err := w.AdoptIdentity(w.ctx, d.viewer, former.ID, catalog.AnyVersion, true, d.owner)
			require.NoError(t, err)
		},
	} {
		judged := uses()
		meanwhile()
		refused(judged)
	}
	refused([]catalog.ColumnDomain{})

	at := d.shared(shared.ID, catalog.AnyVersion)
	at.Uses = uses()
	for _, change := range slices.Backward(changes[:3]) {
		require.NoError(t, change(at))
	}
	require.NoError(t, changes[3](at))

	// The parent of a column's own domain belongs to its use.
	inline := d.setOn(d.table, catalog.ColumnDomainAt{Column: "child", Parent: "p"}, hierarchical("P", "P/a"))
	own := d.target(inline.Domain.ID)
	own.Uses = []catalog.ColumnDomain{inline}
	require.NoError(t, drop(w.DescribeDomainValue(w.ctx, own, d.ids(inline.Domain.ID)["P"], "label", "")))
	d.setOn(d.table, catalog.ColumnDomainAt{Column: "child", Parent: "q"}, hierarchical("P", "P/a"))
	require.ErrorIs(t, drop(w.DescribeDomainValue(w.ctx, own, d.ids(inline.Domain.ID)["P"], "other", "")), catalog.ErrVersionConflict)
}
