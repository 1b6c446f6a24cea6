package catalogtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// governedByDomains checks that a table that only has a domain, or is only the source of
// one, is governed, and that no other is.
func governedByDomains(t *testing.T, w *world) {
	d := w.domained()
	source, lookup, sharedSource, free := w.table(d.config, "s"), w.table(d.config, "l"), w.table(d.config, "h"), w.table(d.config, "f")
	d.set("fixed", fixed("a"))
	d.set("reference", from(source, "key", ""))
	d.setOn(d.table, catalog.ColumnDomainAt{Column: "child", Parent: "fixed"}, from(lookup, "model", "maker"))
	_, err := w.CreateDomain(w.ctx, d.org, named("unused", from(sharedSource, "key", "")), d.owner)
	require.NoError(t, err)
	states := func(tables ...catalog.Table) (states []catalog.TableState) {
		var found catalog.Discovery
		for _, table := range tables {
			found.Found = append(found.Found, catalog.FoundTable{Path: table.Path, DeltaID: w.delta()})
		}
		w.sync(d.config, found)
		for _, table := range tables {
			states = append(states, w.reload(table).State)
		}
		return states
	}
	const changed = catalog.TableIdentityChanged
	require.Equal(t, []catalog.TableState{changed, changed, changed, changed, catalog.TableLive},
		states(d.table, source, lookup, sharedSource, free))

	// Without the domain the table is not governed any more.
	plain := w.table(d.config, "p")
	at := catalog.ColumnDomainAt{Column: "c"}
	d.setOn(plain, at, from(free, "key", ""))
	require.NoError(t, w.RemoveColumnDomain(w.ctx, d.viewer, plain.ID, at))
	require.Equal(t, []catalog.TableState{catalog.TableLive, catalog.TableLive}, states(plain, free))

	// A dropped table keeps its domains.
	dropped := w.table(d.config, "d")
	d.setOn(dropped, at, fixed("a"))
	require.NoError(t, w.DropTable(w.ctx, d.viewer, dropped.ID, catalog.AnyVersion))
	require.Len(t, d.domains(dropped).Columns, 1)
	again := catalog.Discovery{Found: []catalog.FoundTable{{Path: "d", DeltaID: w.delta()}}, IncludeDropped: true}
	w.sync(d.config, again)
	require.Equal(t, changed, w.reload(dropped).State)

	// The same id of another organisation is not governed.
	foreign, stranger := w.org()
	theirs := w.config(foreign, stranger, w.defaultWorkspace(foreign), "c")
	registered, err := w.RegisterTable(w.ctx, catalog.SystemViewer(foreign),
		catalog.NewTable{Config: theirs.ID, DeltaID: d.table.DeltaID, Path: "t"})
	require.NoError(t, err)
	w.sync(theirs, partial("t", w.delta()))
	require.Equal(t, catalog.TableLive, w.reload(registered).State)
}

// adoptedDomains checks that the domains of a table are copied to an adopted identity,
// and that the new table takes the place of the former one as a source.
func adoptedDomains(t *testing.T, w *world) {
	for _, keep := range []bool{true, false} {
		d := w.domained()
		other := w.table(d.config, "u")
		own := d.setOn(d.table, catalog.ColumnDomainAt{Column: "own", Parent: "p"}, hierarchical("P", "P/a", "P/b"))
		d.set("self", from(d.table, "id", ""))
		shared, err := w.CreateDomain(w.ctx, d.org, named("shared", from(d.table, "id", "")), d.owner)
		require.NoError(t, err)
		use := func(table catalog.Table) {
			t.Helper()
			_, err := w.UseDomain(w.ctx, d.viewer, table.ID, catalog.ColumnDomainAt{Column: "shared"}, shared.ID, d.owner)
			require.NoError(t, err)
		}
		use(d.table)
		use(other)
		d.setOn(other, catalog.ColumnDomainAt{Column: "key"}, from(d.table, "key", ""))
		d.begin(own.Domain.ID, catalog.ValueRename, "P/a", "z")
		former, others := d.domains(d.table), d.domains(other)

		stranger := w.delta()
		w.sync(d.config, partial("t", stranger))
		now := w.reload(d.table)
		require.Equal(t, catalog.TableIdentityChanged, now.State)
		require.Equal(t, others, d.domains(other))
		adopter := w.member(d.org, catalog.RoleAdmin)
		adopted, err := w.AdoptIdentity(w.ctx, d.viewer, d.table.ID, now.Version, keep, adopter)
		require.NoError(t, err)

		kept := d.domains(d.table)
		require.Len(t, kept.Columns, 3, "the former table is still governed")
		copied := d.domains(adopted.Table)
		if !keep {
			w.same(former, kept)
			w.same(others, d.domains(other))
			w.same(catalog.TableDomains{}, copied)
			continue
		}
		require.Positive(t, copied.Version)
		require.Len(t, copied.Columns, 3)
		tree, self, named := copied.Columns[0], copied.Columns[1], copied.Columns[2]
		require.Equal(t, "own", tree.Column)
		require.Equal(t, "p", tree.Parent)
		require.NotEqual(t, own.Domain.ID, tree.Domain.ID)
		require.Equal(t, adopter, tree.Domain.CreatedBy)
		require.Equal(t, []string{"P", "P/a", "P/z", "P/b"}, d.texts(tree.Domain.ID), "rows may have the former and the new text")
		require.NotEqual(t, d.ids(own.Domain.ID)["P"], d.ids(tree.Domain.ID)["P"])
		require.Equal(t, stranger, self.Domain.Source.Table)
		require.Equal(t, shared.ID, named.Domain.ID)
		require.Equal(t, stranger, named.Domain.Source.Table)
		require.Equal(t, d.table.DeltaID, kept.Columns[1].Domain.Source.Table, "the former table refers to itself")
		require.Equal(t, own.Domain.ID, kept.Columns[0].Domain.ID)

		resourced := d.domains(other)
		require.Greater(t, resourced.Version, others.Version)
		for i, c := range resourced.Columns {
			require.Equal(t, stranger, c.Domain.Source.Table, c.Column)
			require.Equal(t, d.config.ID, c.Domain.Source.Config)
			require.Equal(t, others.Columns[i].Domain.ID, c.Domain.ID)
			require.Greater(t, c.Domain.Version, others.Columns[i].Domain.Version)
		}
	}
}

// adoptedCycles checks that an identity is not adopted with domains that would make a column
// depend on itself, and that it can be adopted without them.
func adoptedCycles(t *testing.T, w *world) {
	cycles := map[string]func(d domained, adopted, other catalog.Table){
		"reference": func(d domained, adopted, other catalog.Table) {
			d.setOn(adopted, catalog.ColumnDomainAt{Column: "c"}, from(other, "key", ""))
			d.setOn(other, catalog.ColumnDomainAt{Column: "key"}, from(d.table, "c", ""))
		},
		"lookup": func(d domained, adopted, other catalog.Table) {
			d.setOn(adopted, catalog.ColumnDomainAt{Column: "c", Parent: "p"}, from(other, "model", "maker"))
			d.setOn(other, catalog.ColumnDomainAt{Column: "maker"}, from(d.table, "c", ""))
		},
		"copied domain": func(d domained, adopted, other catalog.Table) {
			d.set("c", from(other, "key", ""))
			d.setOn(other, catalog.ColumnDomainAt{Column: "key"}, from(adopted, "c", ""))
		},
		"parent": func(d domained, adopted, _ catalog.Table) {
			d.setOn(d.table, catalog.ColumnDomainAt{Column: "c", Parent: "p"}, hierarchical("P", "P/a"))
			d.setOn(adopted, catalog.ColumnDomainAt{Column: "p", Parent: "c"}, hierarchical("a", "a/P"))
		},
		"shared": func(d domained, adopted, other catalog.Table) {
			shared, err := w.CreateDomain(w.ctx, d.org, named("shared", from(d.table, "c", "")), d.owner)
			require.NoError(t, err)
			_, err = w.UseDomain(w.ctx, d.viewer, other.ID, catalog.ColumnDomainAt{Column: "key"}, shared.ID, d.owner)
			require.NoError(t, err)
			d.setOn(adopted, catalog.ColumnDomainAt{Column: "c"}, from(other, "key", ""))
		},
	}
	for name, set := range cycles {
		d := w.domained()
		other, adopted := w.table(d.config, "u"), w.table(d.config, "again")
		set(d, adopted, other)
		w.sync(d.config, partial("t", adopted.DeltaID))
		now := w.reload(d.table)
		require.Equal(t, catalog.TableIdentityChanged, now.State, name)
		before := []catalog.TableDomains{d.domains(d.table), d.domains(adopted), d.domains(other)}
		_, err := w.AdoptIdentity(w.ctx, d.viewer, d.table.ID, now.Version, true, d.owner)
		require.ErrorIs(t, err, catalog.ErrDomainCycle, name)
		w.same(now, w.reload(d.table))
		w.same(before, []catalog.TableDomains{d.domains(d.table), d.domains(adopted), d.domains(other)})
		_, err = w.AdoptIdentity(w.ctx, d.viewer, d.table.ID, now.Version, false, d.owner)
		require.NoError(t, err, name)
	}
}

func partial(path string, id catalog.DeltaID) catalog.Discovery {
	return catalog.Discovery{Found: []catalog.FoundTable{{Path: path, DeltaID: id}}}
}
