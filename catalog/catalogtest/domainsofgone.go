package catalogtest

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/catalog"
)

// domainsOfGone checks that a purge removes the domains of the last registration of a table, and
// that the domains of dropped and vanished tables keep nothing from being deleted.
func domainsOfGone(t *testing.T, w *world) {
	d := w.domained()
	shared, err := w.CreateDomain(w.ctx, d.org, named("shared", fixed("a")), d.owner)
	require.NoError(t, err)
	at := catalog.ColumnDomainAt{Column: "c", ExpectedVersion: catalog.AnyVersion}
	use := func(table catalog.Table) {
		t.Helper()
		_, err := w.UseDomain(w.ctx, d.viewer, table.ID, at, shared.ID, d.owner)
		require.NoError(t, err)
	}
	remove := func() error { return w.DeleteDomain(w.ctx, d.org, shared.ID, catalog.AnyVersion) }

	// A table that is registered twice keeps its domains until the other one is purged.
	elsewhere := w.config(d.org, d.owner, "", "elsewhere")
	copied, err := w.RegisterTable(w.ctx, catalog.SystemViewer(d.org), catalog.NewTable{Config: elsewhere.ID, DeltaID: d.table.DeltaID, Path: "t"})
	require.NoError(t, err)
	use(d.table)
	own := d.set("own", fixed("x"))
	system := catalog.SystemViewer(d.org)
	require.ErrorIs(t, w.PurgeTable(w.ctx, d.viewer, d.table.ID, 7), catalog.ErrVersionConflict)
	require.NoError(t, w.PurgeTable(w.ctx, system, copied.ID, catalog.AnyVersion))
	require.ErrorIs(t, w.PurgeTable(w.ctx, system, copied.ID, catalog.AnyVersion), catalog.ErrNotFound)
	require.Len(t, d.domains(d.table).Columns, 2)
	require.ErrorIs(t, remove(), catalog.ErrDomainInUse)
	require.NoError(t, w.DeleteStorageConfig(w.ctx, system, elsewhere.ID, catalog.AnyVersion))

	// A dropped table keeps its domains.
	before := d.domains(d.table)
	require.NoError(t, w.DropTable(w.ctx, d.viewer, d.table.ID, catalog.AnyVersion))
	w.same(before, d.domains(d.table))
	uses, err := w.DomainUses(w.ctx, d.org, shared.ID)
	require.NoError(t, err)
	require.Empty(t, uses)
	restore := catalog.Discovery{Found: []catalog.FoundTable{{Path: "t", DeltaID: d.table.DeltaID}}, IncludeDropped: true}
	w.sync(d.config, restore)
	require.ErrorIs(t, remove(), catalog.ErrDomainInUse)

	// A place that another table has taken counts until that is adopted.
	stranger := w.delta()
	w.sync(d.config, partial("t", stranger))
	require.ErrorIs(t, remove(), catalog.ErrDomainInUse)
	w.sync(d.config, partial("t", d.table.DeltaID))

	// A domain of another kind, and a deleted one, refuse values until the column has another.
	w.vanish(d.config, "t")
	_, err = w.ReplaceDomain(w.ctx, d.shared(shared.ID, catalog.AnyVersion), named("shared", from(d.table, "key", "")))
	require.NoError(t, err)
	deleted := func() catalog.ColumnDomain {
		t.Helper()
		column := d.domains(d.table).Columns[0]
		require.Equal(t, "c", column.Column)
		require.True(t, column.Deleted())
		return column
	}
	deleted()
	w.sync(d.config, partial("t", d.table.DeltaID))
	_, err = w.SetColumnDomain(w.ctx, d.viewer, d.table.ID, at, fixed("b"), d.owner)
	require.NoError(t, err)
	current := d.domains(d.table).Columns[0]
	require.Equal(t, []string{"b"}, d.texts(current.Domain.ID))
	back, err := w.UseDomain(w.ctx, d.viewer, d.table.ID, catalog.ColumnDomainAt{Column: "c", Expected: current.Domain.ID,
		ExpectedVersion: current.Domain.Version}, "", d.owner)
	require.NoError(t, err)
	w.same(deleted(), back)
	_, err = w.DomainValues(w.ctx, d.org, current.Domain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	stale(w, w.RemoveColumnDomain(w.ctx, d.viewer, d.table.ID, catalog.ColumnDomainAt{Column: "c", ExpectNone: true}), 0)
	require.NoError(t, w.RemoveColumnDomain(w.ctx, d.viewer, d.table.ID, at))

	use(w.table(d.config, "other"))
	now := d.domains(d.table)
	require.NoError(t, w.PurgeTable(w.ctx, d.viewer, d.table.ID, catalog.AnyVersion))
	after := d.domains(d.table)
	require.Empty(t, after.Columns)
	require.Greater(t, after.Version, now.Version)
	_, err = w.DomainValues(w.ctx, d.org, own.Domain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, remove(), catalog.ErrDomainInUse, "the other table uses it")

	// A deleted domain passes to an adopted identity.
	lost := w.table(d.config, "lost")
	use(lost)
	for _, path := range []string{"other", "lost"} {
		w.vanish(d.config, path)
	}
	require.NoError(t, remove())
	w.sync(d.config, partial("lost", stranger))
	_, err = w.AdoptIdentity(w.ctx, d.viewer, lost.ID, catalog.AnyVersion, true, d.owner)
	require.NoError(t, err)
	adopted := w.reload(lost)
	require.True(t, d.domains(adopted).Columns[0].Deleted())
}

// emptied checks that an organisation can be emptied after any sequence of changes: its
// tables can be dropped and its shared domains deleted, by changes of what is still there.
func emptied(t *testing.T, w *world) {
	rapid.Check(t, func(r *rapid.T) {
		g := gone{domained: w.domained(), r: r}
		for range rapid.IntRange(1, 25).Draw(r, "changes") {
			g.change()
		}
		g.empty()
	})
}

// gone is an organisation whose tables come and go.
type gone struct {
	domained
	r      *rapid.T
	shared []catalog.DomainID
}

// drawFrom returns one of the choices.
func drawFrom[T any](g *gone, label string, choices ...T) T {
	return rapid.SampledFrom(choices).Draw(g.r, label)
}

// tables returns the tables that are not dropped.
func (g *gone) tables() []catalog.LocatedTable {
	list, err := g.ListTables(g.ctx, g.viewer, catalog.TableFilter{Config: g.config.ID}, catalog.Page{})
	require.NoError(g.r, err)
	return list.Items
}

// used reports whether other tables' domains take their values from a table.
func (g *gone) used(t catalog.LocatedTable) bool {
	uses, err := g.DomainsFrom(g.ctx, g.org, t.DeltaID)
	require.NoError(g.r, err)
	return slices.ContainsFunc(uses, func(c catalog.ColumnDomain) bool { return c.Table != t.DeltaID })
}

// change makes a random change, or none if the drawn one is not possible now.
func (g *gone) change() {
	path := drawFrom(g, "path", "t", "u", "v")
	at := catalog.ColumnDomainAt{Column: drawFrom(g, "column", "a", "b")}
	var table catalog.LocatedTable
	for _, t := range g.tables() {
		if t.Path == path {
			table = t
		}
	}
	registered, live := table.ID != "", table.State == catalog.TableLive
	var err error
	change := drawFrom(g, "change", "create", "own", "reference", "share", "use", "delete", "drop", "purge", "vanish", "discover", "replace",
		"adopt")
	switch {
	case change == "create" && !registered:
		_, err = g.RegisterTable(g.ctx, g.viewer, catalog.NewTable{Config: g.config.ID, DeltaID: g.delta(), Path: path})
	case change == "own" && live:
		_, err = g.SetColumnDomain(g.ctx, g.viewer, table.ID, at, fixed("x"), g.owner)
	case change == "reference" && live:
		source := drawFrom(g, "source", g.tables()...)
		_, err = g.SetColumnDomain(g.ctx, g.viewer, table.ID, at, from(source.Table, drawFrom(g, "key", "a", "b"), ""), g.owner)
	case change == "share":
		content := fixed("x")
		if live {
			content = drawFrom(g, "content", content, from(table.Table, "a", ""))
		}
		created, failed := g.CreateDomain(g.ctx, g.org, named(string(g.delta()), content), g.owner)
		err = failed
		g.shared = append(g.shared, created.ID)
	case change == "use" && live && len(g.shared) > 0:
		_, err = g.UseDomain(g.ctx, g.viewer, table.ID, at, drawFrom(g, "shared", g.shared...), g.owner)
	case change == "delete" && len(g.shared) > 0:
		err = g.DeleteDomain(g.ctx, g.org, drawFrom(g, "shared", g.shared...), catalog.AnyVersion)
	case change == "drop" && registered && !g.used(table):
		err = g.DropTable(g.ctx, g.viewer, table.ID, catalog.AnyVersion)
	case change == "purge" && live && !g.used(table):
		err = g.PurgeTable(g.ctx, g.viewer, table.ID, catalog.AnyVersion)
		require.Empty(g.r, g.domains(table.Table).Columns)
	case change == "vanish":
		g.vanish(g.config, path)
	case change == "discover":
		g.sync(g.config, catalog.Discovery{Found: g.found(path), IncludeDropped: true})
	case change == "replace":
		g.sync(g.config, catalog.Discovery{Found: []catalog.FoundTable{{Path: path, DeltaID: g.delta()}}, IncludeDropped: true})
	case change == "adopt" && registered:
		_, err = g.AdoptIdentity(g.ctx, g.viewer, table.ID, catalog.AnyVersion, rapid.Bool().Draw(g.r, "keep"), g.owner)
	}
	for _, expected := range []error{catalog.ErrDomainCycle, catalog.ErrDomainInUse, catalog.ErrNotFound, catalog.ErrTableState} {
		if errors.Is(err, expected) {
			return
		}
	}
	require.NoError(g.r, err, change)
}

// found returns what a discovery finds at a path whose table, also a dropped one, has come
// back.
func (g *gone) found(path string) (found []catalog.FoundTable) {
	filter := catalog.TableFilter{Config: g.config.ID, Paths: []string{path}, States: []catalog.TableState{
		catalog.TableLive, catalog.TableVanished, catalog.TableDropped, catalog.TableIdentityChanged}}
	list, err := g.ListTables(g.ctx, g.viewer, filter, catalog.Page{})
	require.NoError(g.r, err)
	for _, t := range list.Items {
		found = append(found, catalog.FoundTable{Path: path, DeltaID: cmp.Or(t.PreviousDeltaID, t.DeltaID)})
	}
	return found
}

// empty drops all tables and deletes all shared domains. Domains that hold each other are
// removed from the columns of tables that can be changed; no other domain is touched.
func (g *gone) empty() {
	for _, t := range g.tables() {
		if t.State != catalog.TableLive {
			continue
		}
		for _, c := range g.domains(t.Table).Columns {
			err := g.RemoveColumnDomain(g.ctx, g.viewer, t.ID, catalog.ColumnDomainAt{Column: c.Column})
			require.NoError(g.r, err)
		}
	}
	for left := g.tables(); len(left) > 0; {
		before := len(left)
		for _, t := range left {
			if !g.used(t) {
				require.NoError(g.r, g.DropTable(g.ctx, g.viewer, t.ID, catalog.AnyVersion))
			}
		}
		left = g.tables()
		require.Less(g.r, len(left), before, "domains keep tables from being dropped: %v", left)
	}
	for _, d := range all(g.world, 10, func(p catalog.Page) (catalog.List[catalog.Domain], error) {
		return g.ListDomains(g.ctx, g.org, p)
	}) {
		require.NoError(g.r, g.DeleteDomain(g.ctx, g.org, d.ID, catalog.AnyVersion))
	}
}
