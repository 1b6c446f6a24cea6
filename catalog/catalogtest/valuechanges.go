package catalogtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// allowed returns the texts that rows may have, like texts, with those that join.
func (d domained) allowed(id catalog.DomainID) []string {
	d.Helper()
	texts := d.texts(id)
	for _, v := range d.values(id) {
		if v.Joining != "" {
			texts = append(texts, v.Joining)
		}
	}
	return texts
}

func (d domained) begin(id catalog.DomainID, kind catalog.ValueChangeKind, value, to string) catalog.ValueChange {
	d.Helper()
	change, err := d.BeginValueChange(d.ctx, d.target(id), catalog.ValueChange{
		Kind: kind, Value: d.ids(id)[value], To: to, By: d.owner, Holder: "one",
	})
	require.NoError(d, err)
	return change
}

func valueChanges(t *testing.T, w *world) {
	d := w.domained()
	set := d.setOn(d.table, catalog.ColumnDomainAt{Column: "c", Parent: "p"}, hierarchical("P", "Q", "P/a", "P/b", "Q/a"))
	id := set.Domain.ID
	ids := d.ids(id)
	before := d.domains(d.table).Version
	raised := func() {
		t.Helper()
		now := d.domains(d.table).Version
		require.Greater(t, now, before)
		before = now
	}
	begin := func(c catalog.ValueChange) error {
		c.By, c.Holder = d.owner, "one"
		return drop(w.BeginValueChange(w.ctx, d.target(id), c))
	}
	existing(w, begin(catalog.ValueChange{Kind: catalog.ValueRename, Value: ids["P/a"], To: "b"}), "value")
	existing(w, begin(catalog.ValueChange{Kind: catalog.ValueRename, Value: ids["P/a"], To: "a"}), "value")
	for _, to := range []string{"a", "none", "Q"} {
		require.Equal(t, []string{"value"}, fieldsOf(w, begin(catalog.ValueChange{Kind: catalog.ValueReplace, Value: ids["P/a"], To: to})))
	}
	require.Equal(t, []string{"kind", "value"}, fieldsOf(w, begin(catalog.ValueChange{Value: ids["P/a"], To: " "})))

	// A rename: both texts, then one.
	change := d.begin(id, catalog.ValueRename, "P/a", "z")
	w.same(catalog.ValueChange{
		ID: change.ID, Org: d.org, Domain: id, Kind: catalog.ValueRename, Value: ids["P/a"], From: "a", To: "z", Parent: "P",
		By: d.owner, Holder: "one",
	}, change)
	raised()
	require.Equal(t, []string{"P", "Q", "P/a", "P/b", "Q/a", "z"}, d.allowed(id))
	refusedDuringChange(t, d, id, ids)
	require.ErrorIs(t, w.EndValueChange(w.ctx, change.ID), catalog.ErrValueChange)
	require.NoError(t, w.NarrowValueChange(w.ctx, change.ID))
	raised()
	require.NoError(t, w.NarrowValueChange(w.ctx, change.ID))
	require.Equal(t, []string{"P", "Q", "P/z", "P/b", "Q/a"}, d.allowed(id))
	require.Equal(t, ids["P/a"], d.ids(id)["P/z"])
	require.ErrorIs(t, w.WithdrawValueChange(w.ctx, change.ID), catalog.ErrValueChange)
	require.ErrorIs(t, begin(catalog.ValueChange{Kind: catalog.ValueRename, Value: ids["P/b"], To: "y"}), catalog.ErrValueChange)
	require.NoError(t, w.EndValueChange(w.ctx, change.ID))
	require.NoError(t, w.EndValueChange(w.ctx, change.ID))
	require.ErrorIs(t, w.NarrowValueChange(w.ctx, change.ID), catalog.ErrNotFound)

	// A replacement of a parent takes its children away.
	change = d.begin(id, catalog.ValueReplace, "Q", "P")
	require.Equal(t, "Q", change.From)
	require.Empty(t, change.Parent)
	require.Equal(t, []string{"P", "Q", "P/z", "P/b", "Q/a"}, d.allowed(id))
	require.NoError(t, w.NarrowValueChange(w.ctx, change.ID))
	raised()
	require.Equal(t, []string{"P", "P/z", "P/b"}, d.allowed(id))
	require.NoError(t, w.EndValueChange(w.ctx, change.ID))

	// A replacement that is withdrawn has changed nothing.
	change = d.begin(id, catalog.ValueReplace, "P/z", "b")
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	require.Equal(t, []string{"P", "P/z", "P/b"}, d.allowed(id))

	// A rename that is withdrawn goes back.
	change = d.begin(id, catalog.ValueRename, "P/z", "new")
	raised()
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	raised()
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	require.Equal(t, []string{"P", "P/z", "P/b"}, d.allowed(id))
	require.ErrorIs(t, begin(catalog.ValueChange{Kind: catalog.ValueRename, Value: ids["P/b"], To: "y"}), catalog.ErrValueChange)
	change.From, change.To, change.Narrowed, change.Withdrawn = "new", "z", true, true
	w.same([]catalog.ValueChange{change}, take(w, "one", time.Time{}))
	require.NoError(t, w.NarrowValueChange(w.ctx, change.ID))
	require.NoError(t, w.EndValueChange(w.ctx, change.ID))
	require.Equal(t, []string{"P", "P/z", "P/b"}, d.allowed(id))
	require.NoError(t, begin(catalog.ValueChange{Kind: catalog.ValueRename, Value: ids["P/b"], To: "y"}))
}

// refusedDuringChange checks that a domain does not change otherwise while a value of it
// is being changed in rows.
func refusedDuringChange(t *testing.T, d domained, id catalog.DomainID, ids map[string]catalog.ValueID) {
	at := catalog.ColumnDomainAt{Column: "c"}
	target := d.target(id)
	_, _, added := d.AddDomainValues(d.ctx, target, newValues("x"))
	before := d.domains(d.table)
	rename := catalog.ValueChange{Kind: catalog.ValueRename, Value: ids["P/b"], To: "x", By: d.owner}
	for name, err := range map[string]error{
		"set":     d.try(at, fixed("x")),
		"remove":  d.RemoveColumnDomain(d.ctx, d.viewer, d.table.ID, at),
		"add":     added,
		"another": drop(d.BeginValueChange(d.ctx, target, rename)),
		"delete":  drop(d.BeginValueChange(d.ctx, target, catalog.ValueChange{Kind: catalog.ValueDelete, Value: ids["P/b"], By: d.owner})),
	} {
		require.ErrorIs(t, err, catalog.ErrValueChange, name)
	}
	d.same(before, d.domains(d.table))
}

// deletedValues checks that a value whose deletion is under way is not allowed, and is
// there again as it was if the deletion is withdrawn.
func deletedValues(t *testing.T, w *world) {
	d := w.domained()
	tree := hierarchical("P", "Q", "P/a", "P/b", "Q/a")
	tree.Values[2].Label, tree.Values[2].Description = "label", "description"
	set := d.setOn(d.table, catalog.ColumnDomainAt{Column: "c", Parent: "p"}, tree)
	id, ids, values := set.Domain.ID, d.ids(set.Domain.ID), d.values(set.Domain.ID)
	before := d.domains(d.table)
	raised := func() {
		t.Helper()
		now := d.domains(d.table)
		require.Greater(t, now.Version, before.Version)
		require.Greater(t, now.Columns[0].Domain.Version, before.Columns[0].Domain.Version)
		before = now
	}
	deletion := catalog.ValueChange{Kind: catalog.ValueDelete, Value: ids["P/a"], To: "b", By: d.owner, Holder: "one"}
	require.Equal(t, []string{"value"}, fieldsOf(w, drop(w.BeginValueChange(w.ctx, d.target(id), deletion))))

	change := d.begin(id, catalog.ValueDelete, "P/a", "")
	deletion.ID, deletion.Org, deletion.Domain, deletion.From, deletion.To = change.ID, d.org, id, "a", ""
	deletion.Parent, deletion.Narrowed = "P", true
	w.same(deletion, change)
	w.same([]catalog.ValueChange{deletion}, take(w, "one", time.Time{}))
	raised()
	require.Equal(t, []string{"P", "Q", "P/b", "Q/a"}, d.allowed(id))
	refusedDuringChange(t, d, id, ids)
	require.NoError(t, w.NarrowValueChange(w.ctx, change.ID))
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	raised()
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	require.NoError(t, w.EndValueChange(w.ctx, change.ID), "it has ended without the value's removal")
	w.same(values, d.values(id))
	require.Empty(t, take(w, "one", time.Time{}))

	// With a parent go its children.
	change = d.begin(id, catalog.ValueDelete, "P", "")
	require.Equal(t, []string{"Q", "Q/a"}, d.allowed(id))
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	w.same(values, d.values(id))
	change = d.begin(id, catalog.ValueDelete, "P", "")
	require.NoError(t, w.EndValueChange(w.ctx, change.ID))
	require.NoError(t, w.WithdrawValueChange(w.ctx, change.ID))
	require.Equal(t, []string{"Q", "Q/a"}, d.allowed(id))

	// The text is free again.
	_, added, err := w.AddDomainValues(w.ctx, d.target(id), newValues("P"))
	require.NoError(t, err)
	require.NotEqual(t, ids["P"], added[0].ID)
}

func take(w *world, holder string, since time.Time) []catalog.ValueChange {
	w.Helper()
	taken, err := w.TakeValueChanges(w.ctx, holder, since)
	require.NoError(w, err)
	return taken
}

// takenValueChanges checks that a change belongs to one holder, and to another one once
// the first is silent.
func takenValueChanges(t *testing.T, w *world) {
	d := w.domained()
	set := d.set("c", fixed("a", "b"))
	start := w.now()
	change := d.begin(set.Domain.ID, catalog.ValueRename, "a", "z")
	before := w.epochNow()
	require.Empty(t, take(w, "two", start), "its holder was heard")
	require.NoError(t, w.RenewValueChange(w.ctx, change.ID, "one"))
	require.ErrorIs(t, w.RenewValueChange(w.ctx, change.ID, "two"), catalog.ErrNotFound)
	require.Equal(t, []catalog.ValueChange{change}, take(w, "one", start), "the holder finds its own after a restart")

	silent := w.now()
	const holders = 10
	taken := make([][]catalog.ValueChange, holders)
	names := []string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"}
	require.Equal(t, holders, winners(w, race(w, holders, func(s catalog.Store, i int) (err error) {
		taken[i], err = s.TakeValueChanges(w.ctx, names[i], silent)
		return err
	}), nil))
	winner := ""
	for i, changes := range taken {
		if len(changes) > 0 {
			require.Empty(t, winner, "two holders took it")
			winner = names[i]
			change.Holder = winner
			w.same([]catalog.ValueChange{change}, changes)
		}
	}
	require.NotEmpty(t, winner)
	require.ErrorIs(t, w.RenewValueChange(w.ctx, change.ID, "one"), catalog.ErrNotFound)
	require.NoError(t, w.RenewValueChange(w.ctx, change.ID, winner))
	require.Equal(t, before, w.epochNow(), "visibility does not change")

	o, err := w.Organisation(w.ctx, d.org)
	require.NoError(t, err)
	require.NoError(t, w.DeleteOrganisation(w.ctx, d.org, o.Version))
	require.Empty(t, take(w, "three", w.now()), "nobody rewrites the rows of a deleted organisation")
}

func publications(t *testing.T, w *world) {
	d := w.domained()
	start := w.now()
	begin := func(table catalog.DeltaID) catalog.WriteLeaseID {
		t.Helper()
		id, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: d.org, Table: table, Kind: catalog.WriteRows})
		require.NoError(t, err)
		return id
	}
	publishing := func(org catalog.OrgID, table catalog.DeltaID, domains int64, since time.Time) bool {
		t.Helper()
		found, err := w.PublishingBefore(w.ctx, org, table, domains, since)
		require.NoError(t, err)
		return found
	}
	lease, table := begin(d.table.DeltaID), d.table.DeltaID
	before := w.epochNow()
	require.ErrorIs(t, w.PublishWrite(w.ctx, lease, 1), catalog.ErrDomainsChanged)
	require.False(t, publishing(d.org, table, 100, start))
	require.NoError(t, w.PublishWrite(w.ctx, lease, 0), "a table without domains has version 0")
	require.True(t, publishing(d.org, table, 1, start))
	require.False(t, publishing(d.org, table, 0, start))
	require.False(t, publishing(d.org, "another", 1, start))
	foreign, _ := w.org()
	require.False(t, publishing(foreign, table, 1, start))
	require.False(t, publishing(d.org, table, 1, w.now()), "it was silent")
	w.same(catalog.TableDomains{}, d.domains(d.table))
	require.Equal(t, before+1, w.epochNow(), "a publication changes no visibility; the organisation was new")

	set := d.set("c", fixed("a"))
	now := d.domains(d.table).Version
	require.True(t, publishing(d.org, table, now, start), "it was checked before the change")
	require.NoError(t, w.WithdrawWrite(w.ctx, lease))
	require.NoError(t, w.WithdrawWrite(w.ctx, lease))
	require.False(t, publishing(d.org, table, now, start))
	require.ErrorIs(t, w.PublishWrite(w.ctx, lease, 0), catalog.ErrDomainsChanged)
	require.NoError(t, w.PublishWrite(w.ctx, lease, now))
	require.False(t, publishing(d.org, table, now, start))
	require.NoError(t, drop(w.DescribeDomainValue(w.ctx, d.target(set.Domain.ID), d.ids(set.Domain.ID)["a"], "b", "")))
	require.True(t, publishing(d.org, table, d.domains(d.table).Version, start))
	require.NoError(t, w.EndWrite(w.ctx, lease))
	require.False(t, publishing(d.org, table, d.domains(d.table).Version, start))
	require.ErrorIs(t, w.PublishWrite(w.ctx, lease, now), catalog.ErrNotFound)
	require.NoError(t, w.WithdrawWrite(w.ctx, lease))

	// To publish renews the lease.
	lease = begin(table)
	renewed := w.now()
	require.NoError(t, w.PublishWrite(w.ctx, lease, d.domains(d.table).Version))
	require.True(t, publishing(d.org, table, d.domains(d.table).Version+1, renewed))
}
