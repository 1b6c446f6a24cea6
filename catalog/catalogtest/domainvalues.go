package catalogtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func domainValues(t *testing.T, w *world) {
	d := w.domained()
	set := d.setOn(d.table, catalog.ColumnDomainAt{Column: "city", Parent: "country"}, hierarchical("FR", "FR/Paris"))
	target := d.target(set.Domain.ID)
	before := d.domains(d.table).Version
	version := set.Domain.Version
	// changed checks that a change raised both versions and returned the domain.
	changed := func(got catalog.Domain, err error) {
		t.Helper()
		require.NoError(t, err)
		version++
		now := d.domains(d.table)
		require.Greater(t, now.Version, before)
		before = now.Version
		require.Equal(t, version, got.Version)
		w.same(now.Columns[0].Domain, got)
		values, err := w.DomainValues(w.ctx, d.org, got.ID)
		require.NoError(t, err)
		require.Equal(t, version, values.Version)
	}
	got, added, err := w.AddDomainValues(w.ctx, target, []catalog.NewDomainValue{
		{Value: "DE", Label: "Germany", Description: "with sea"}, {Parent: "DE", Value: "Kiel"}, {Parent: "FR", Value: "Lyon"},
	})
	changed(got, err)
	ids := d.ids(set.Domain.ID)
	require.Equal(t, []string{"FR", "DE", "FR/Paris", "DE/Kiel", "FR/Lyon"}, d.texts(set.Domain.ID))
	w.same(catalog.DomainValue{ID: ids["DE"], Value: "DE", Label: "Germany", Description: "with sea"}, added[0])
	w.same(catalog.DomainValue{ID: ids["FR/Lyon"], Parent: ids["FR"], Value: "Lyon"}, added[2])

	add := func(values ...string) error {
		_, _, err := w.AddDomainValues(w.ctx, target, newValues(values...))
		return err
	}
	existing(w, add("IT", "FR/Paris"), "values[1].value")
	require.Equal(t, []string{"values[0].parent"}, fieldsOf(w, add("ES/Vigo")))
	require.Equal(t, []string{"values[1].value"}, fieldsOf(w, add("a", " ")))
	require.Equal(t, []string{"values[1].value"}, fieldsOf(w, add("a", "a")))
	require.NoError(t, add("DE/Paris"), "below another parent it is another value")
	version, before = version+1, d.domains(d.table).Version
	stale(w, func() error {
		at := target
		at.ExpectedVersion = version - 1
		_, err := w.DescribeDomainValue(w.ctx, at, ids["FR"], "", "")
		return err
	}(), version)

	changed(w.DescribeDomainValue(w.ctx, target, ids["FR"], "France", ""))
	_, err = w.DescribeDomainValue(w.ctx, target, ids["FR"], strings.Repeat("x", catalog.MaxDomainLabelBytes+1), "\xff")
	require.Equal(t, []string{"label", "description"}, fieldsOf(w, err))
	require.Equal(t, "France", d.values(set.Domain.ID)[0].Label)

	domainTargets(t, d, set.Domain.ID)
}

func drop[T any](_ T, err error) error { return err }

// domainTargets checks that a domain is only changed through its own table, and that an
// unknown value or a domain without values is reported.
func domainTargets(t *testing.T, d domained, id catalog.DomainID) {
	value := d.values(id)[0].ID
	other := d.world.table(d.config, "u")
	elsewhere := d.target(id)
	elsewhere.Table = other.ID
	shared := d.target(id)
	shared.Table = ""
	stranger := d.target(id)
	stranger.Viewer = catalog.MemberViewer(d.org, d.user())
	foreign := d.target(id)
	foreign.Org, _ = d.world.org()
	for _, target := range []catalog.DomainTarget{elsewhere, shared, stranger, foreign, d.target(catalog.NewID[catalog.DomainID]())} {
		require.ErrorIs(t, drop(d.DescribeDomainValue(d.ctx, target, value, "x", "")), catalog.ErrNotFound)
		require.ErrorIs(t, drop(d.BeginValueChange(d.ctx, target, catalog.ValueChange{
			Kind: catalog.ValueRename, Value: value, To: "x", By: d.owner,
		})), catalog.ErrNotFound)
	}
	unknown := catalog.NewID[catalog.ValueID]()
	for _, err := range []error{
		drop(d.BeginValueChange(d.ctx, d.target(id), catalog.ValueChange{Kind: catalog.ValueDelete, Value: unknown, By: d.owner})),
		drop(d.DescribeDomainValue(d.ctx, d.target(id), unknown, "x", "")),
	} {
		require.ErrorIs(t, err, catalog.ErrNotFound)
	}
	for _, c := range []catalog.ColumnDomain{
		d.set("r", from(other, "key", "")),
		d.setOn(d.table, catalog.ColumnDomainAt{Column: "l", Parent: "p"}, from(other, "key", "maker")),
		d.set("n", catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainRange, Range: &catalog.DomainRangeBounds{Max: "1"}}}),
	} {
		_, _, err := d.AddDomainValues(d.ctx, d.target(c.Domain.ID), newValues("a"))
		require.ErrorIs(t, err, catalog.ErrDomainKind)
		require.ErrorIs(t, drop(d.DescribeDomainValue(d.ctx, d.target(c.Domain.ID), value, "", "")), catalog.ErrDomainKind)
	}
	flat := d.set("f", fixed("a"))
	_, _, err := d.AddDomainValues(d.ctx, d.target(flat.Domain.ID), newValues("a/b"))
	require.ErrorIs(t, err, catalog.ErrDomainKind)
}

func sharedDomains(t *testing.T, w *world) {
	d := w.domained()
	other := w.table(d.config, "u")
	before := w.epochNow()
	created, err := w.CreateDomain(w.ctx, d.org, named("Länder", fixed("FR", "DE")), d.owner)
	require.NoError(t, err)
	require.Equal(t, before+1, w.epochNow())
	require.True(t, created.Shared())
	require.Equal(t, d.owner, created.CreatedBy)
	_, err = w.CreateDomain(w.ctx, d.org, named("LÄNDER", fixed()), d.owner)
	existing(w, err, "name")
	for name, fields := range map[string][]string{"": {"name"}, " a": {"name"}, strings.Repeat("x", catalog.MaxDomainNameLength+1): {"name"}} {
		_, err = w.CreateDomain(w.ctx, d.org, named(name, fixed()), d.owner)
		require.Equal(t, fields, fieldsOf(w, err))
	}
	foreign, stranger := w.org()
	_, err = w.CreateDomain(w.ctx, foreign, named("Länder", fixed()), stranger)
	require.NoError(t, err, "names are unique in one organisation")
	_, err = w.Domain(w.ctx, foreign, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.UseDomain(w.ctx, d.viewer, d.table.ID, catalog.ColumnDomainAt{Column: "c", Parent: "p"}, created.ID, d.owner)
	require.Equal(t, []string{"parent_column"}, fieldsOf(w, err))

	use := func(table catalog.Table, column string) {
		t.Helper()
		set, err := w.UseDomain(w.ctx, d.viewer, table.ID, catalog.ColumnDomainAt{Column: column}, created.ID, d.owner)
		require.NoError(t, err)
		require.Equal(t, created.ID, set.Domain.ID)
	}
	use(d.table, "a")
	use(d.table, "b")
	use(other, "a")
	uses, err := w.DomainUses(w.ctx, d.org, created.ID)
	require.NoError(t, err)
	require.Len(t, uses, 3)
	_, err = w.DomainUses(w.ctx, foreign, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, w.DeleteDomain(w.ctx, d.org, created.ID, created.Version), catalog.ErrDomainInUse)

	// A change concerns every table that uses the domain.
	versions := func() [2]int64 { return [2]int64{d.domains(d.table).Version, d.domains(other).Version} }
	was, ids := versions(), d.ids(created.ID)
	content := named("Countries", fixed("FR", "IT"))
	content.Description = "of the world"
	replaced, err := w.ReplaceDomain(w.ctx, d.shared(created.ID, 1), content)
	require.NoError(t, err)
	require.EqualValues(t, 2, replaced.Version)
	require.Equal(t, "Countries", replaced.Name)
	require.Equal(t, "of the world", replaced.Description)
	require.Equal(t, ids["FR"], d.ids(created.ID)["FR"])
	now := versions()
	require.True(t, now[0] > was[0] && now[1] > was[1])
	_, err = w.ReplaceDomain(w.ctx, d.shared(created.ID, 1), content)
	stale(w, err, 2)
	_, err = w.ReplaceDomain(w.ctx, d.shared(created.ID, 2), named("Countries", hierarchical("FR")))
	require.ErrorIs(t, err, catalog.ErrDomainKind, "the columns that use it have no parent")
	_, err = w.CreateDomain(w.ctx, d.org, named("Other", fixed()), d.owner)
	require.NoError(t, err)
	_, err = w.ReplaceDomain(w.ctx, d.shared(created.ID, 2), named("other", fixed()))
	existing(w, err, "name")
	_, added, err := w.AddDomainValues(w.ctx, catalog.DomainTarget{Org: d.org, Domain: created.ID, ExpectedVersion: 2}, newValues("ES"))
	require.NoError(t, err)
	require.Len(t, added, 1)
	was, now = now, versions()
	require.True(t, now[0] > was[0] && now[1] > was[1])

	listed := all(w, 1, func(page catalog.Page) (catalog.List[catalog.Domain], error) {
		return w.ListDomains(w.ctx, d.org, page)
	})
	require.Len(t, listed, 2, "domains of single columns are not listed")
	require.Equal(t, "Countries", listed[0].Name)
	_, err = w.Domain(w.ctx, d.org, d.set("own", fixed("a")).Domain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	for _, column := range []string{"a", "b"} {
		require.NoError(t, w.RemoveColumnDomain(w.ctx, d.viewer, d.table.ID, catalog.ColumnDomainAt{Column: column}))
	}
	require.NoError(t, w.RemoveColumnDomain(w.ctx, d.viewer, other.ID, catalog.ColumnDomainAt{Column: "a"}))
	stale(w, w.DeleteDomain(w.ctx, d.org, created.ID, 2), 3)
	require.ErrorIs(t, w.DeleteDomain(w.ctx, foreign, created.ID, 3), catalog.ErrNotFound)
	require.NoError(t, w.DeleteDomain(w.ctx, d.org, created.ID, 3))
	_, err = w.Domain(w.ctx, d.org, created.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.UseDomain(w.ctx, d.viewer, other.ID, catalog.ColumnDomainAt{Column: "a"}, created.ID, d.owner)
	require.ErrorIs(t, err, catalog.ErrNotFound)
}
