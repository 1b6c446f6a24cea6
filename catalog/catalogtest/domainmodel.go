package catalogtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/catalog"
)

// domainModel says what random operations on the domains of two tables must have
// brought about.
type domainModel struct {
	domained
	tables [2]catalog.Table
	// columns maps table and column to a domain, and domains maps that to its values.
	columns map[place]catalog.DomainID
	domains map[catalog.DomainID]*modelDomain
	shared  catalog.DomainID
	seen    [2]int64 // versions
}

type place struct {
	table  int
	column string
}

type modelDomain struct {
	ids    map[string]catalog.ValueID
	change *catalog.ValueChange
}

var modelTexts = rapid.SampledFrom([]string{"a", "A", "b", " b", "é", "e\u0301", "c", "0"})

// randomDomains compares the store with a model after each of many random operations.
func randomDomains(t *testing.T, w *world) {
	d := w.domained()
	shared := 0
	rapid.Check(t, func(r *rapid.T) {
		shared++
		var found catalog.Discovery
		for i := range 2 {
			found.Found = append(found.Found, catalog.FoundTable{Path: fmt.Sprintf("m%d/%d", shared, i), DeltaID: w.delta()})
		}
		added := w.sync(d.config, found).Added
		created, err := w.CreateDomain(w.ctx, d.org, named(fmt.Sprint("shared ", shared), fixed("a", "b")), d.owner)
		require.NoError(r, err)
		m := &domainModel{
			domained: d, tables: [2]catalog.Table{added[0], added[1]}, columns: map[place]catalog.DomainID{}, shared: created.ID,
			domains: map[catalog.DomainID]*modelDomain{created.ID: {ids: d.ids(created.ID)}},
		}
		for range rapid.IntRange(1, 15).Draw(r, "operations") {
			m.step(r)
			m.compare(r)
		}
	})
}

// step performs a random operation, and predicts its result.
func (m *domainModel) step(r *rapid.T) {
	at := place{rapid.IntRange(0, 1).Draw(r, "table"), rapid.SampledFrom([]string{"x", "y"}).Draw(r, "column")}
	column := catalog.ColumnDomainAt{Column: at.column}
	table := m.tables[at.table]
	id, present := m.columns[at]
	was := m.domains[id]
	busy := present && was.change != nil
	operation := rapid.SampledFrom([]string{
		"set", "use", "remove", "add", "begin", "narrow", "withdraw", "end",
	}).Draw(r, "operation")
	switch operation {
	case "set":
		texts := rapid.SliceOfNDistinct(modelTexts, 0, 4, rapid.ID).Draw(r, "values")
		set, err := m.SetColumnDomain(m.ctx, m.viewer, table.ID, column, fixed(texts...), m.owner)
		if m.refused(r, busy, err) {
			return
		}
		ids := m.ids(set.Domain.ID)
		if present && id != m.shared {
			require.Equal(r, id, set.Domain.ID)
			for text, valueID := range was.ids {
				if _, stays := ids[text]; stays {
					require.Equal(r, valueID, ids[text], "a value that stays keeps its id")
				}
			}
		} else {
			require.NotContains(r, m.domains, set.Domain.ID)
		}
		require.ElementsMatch(r, texts, slices.Collect(maps.Keys(ids)))
		m.columns[at], m.domains[set.Domain.ID] = set.Domain.ID, &modelDomain{ids: ids}
		return
	case "use":
		_, err := m.UseDomain(m.ctx, m.viewer, table.ID, column, m.shared, m.owner)
		if !m.refused(r, busy || m.domains[m.shared].change != nil, err) {
			m.forget(at)
			m.columns[at] = m.shared
		}
		return
	case "remove":
		err := m.RemoveColumnDomain(m.ctx, m.viewer, table.ID, column)
		if !present {
			require.ErrorIs(r, err, catalog.ErrNotFound)
		} else if !m.refused(r, busy, err) {
			m.forget(at)
		}
		return
	}
	if present {
		m.stepValues(r, operation, at.table, id, was)
	}
}

// stepValues performs an operation on the values of a domain.
func (m *domainModel) stepValues(r *rapid.T, operation string, table int, id catalog.DomainID, d *modelDomain) {
	target := catalog.DomainTarget{Org: m.org, Viewer: m.viewer, Table: m.tables[table].ID, Domain: id}
	if id == m.shared {
		target.Table = ""
	}
	text := modelTexts.Draw(r, "text")
	_, taken := d.ids[text]
	if operation == "add" {
		_, added, err := m.AddDomainValues(m.ctx, target, newValues(text))
		if d.change == nil && taken {
			require.ErrorIs(r, err, catalog.ErrExists)
		} else if !m.refused(r, d.change != nil, err) {
			d.ids[text] = added[0].ID
		}
		return
	}
	if d.change != nil {
		m.stepChange(r, operation, d)
		return
	}
	if operation != "begin" || len(d.ids) == 0 {
		return
	}
	from := rapid.SampledFrom(slices.Sorted(maps.Keys(d.ids))).Draw(r, "from")
	value := d.ids[from]
	kind := rapid.SampledFrom([]catalog.ValueChangeKind{catalog.ValueRename, catalog.ValueReplace, catalog.ValueDelete}).Draw(r, "kind")
	if kind == catalog.ValueDelete {
		text = ""
	}
	change, err := m.BeginValueChange(m.ctx, target, catalog.ValueChange{Kind: kind, Value: value, To: text, By: m.owner})
	switch {
	case kind == catalog.ValueRename && taken:
		require.ErrorIs(r, err, catalog.ErrExists)
	case kind == catalog.ValueReplace && (!taken || from == text):
		require.ErrorIs(r, err, catalog.ErrInvalid)
	default:
		require.NoError(r, err)
		d.change = &change
		if kind == catalog.ValueDelete {
			delete(d.ids, from)
		}
	}
}

// stepChange performs an operation on a domain with a change under way.
func (m *domainModel) stepChange(r *rapid.T, operation string, d *modelDomain) {
	c := d.change
	switch operation {
	case "narrow":
		require.NoError(r, m.NarrowValueChange(m.ctx, c.ID))
		if !c.Narrowed {
			delete(d.ids, c.From)
			if c.Kind == catalog.ValueRename {
				d.ids[c.To] = c.Value
			}
		}
		c.Narrowed = true
	case "withdraw":
		err := m.WithdrawValueChange(m.ctx, c.ID)
		switch {
		case c.Kind == catalog.ValueDelete:
			d.change, d.ids[c.From] = nil, c.Value
		case c.Narrowed && !c.Withdrawn:
			require.ErrorIs(r, err, catalog.ErrValueChange)
			return
		case c.Kind == catalog.ValueReplace:
			d.change = nil
		}
		require.NoError(r, err)
		c.Narrowed, c.Withdrawn = true, true
	case "end":
		err := m.EndValueChange(m.ctx, c.ID)
		if !m.refused(r, !c.Narrowed, err) {
			d.change = nil
		}
	}
}

// refused checks that a change is refused exactly if a value change prevents it.
func (m *domainModel) refused(r *rapid.T, busy bool, err error) bool {
	if busy {
		require.ErrorIs(r, err, catalog.ErrValueChange)
	} else {
		require.NoError(r, err)
	}
	return busy
}

// forget removes the domain of a column from the model.
func (m *domainModel) forget(at place) {
	if id, present := m.columns[at]; present && id != m.shared {
		delete(m.domains, id)
	}
	delete(m.columns, at)
}

// compare checks that the store agrees with the model, and that the version of a table
// never falls.
func (m *domainModel) compare(r *rapid.T) {
	for i, table := range m.tables {
		found := m.domained.domains(table)
		require.GreaterOrEqual(r, found.Version, m.seen[i])
		m.seen[i] = found.Version
		got, want := map[string]catalog.DomainID{}, map[string]catalog.DomainID{}
		for _, c := range found.Columns {
			got[c.Column] = c.Domain.ID
		}
		for at, id := range m.columns {
			if at.table == i {
				want[at.column] = id
			}
		}
		require.Equal(r, want, got)
	}
	for id, d := range m.domains {
		require.Equal(r, d.ids, m.ids(id))
		want := map[string]bool{}
		for text := range d.ids {
			want[text] = true
		}
		if d.change != nil && !d.change.Narrowed {
			want[d.change.From], want[d.change.To] = true, true
		}
		got := map[string]bool{}
		for _, text := range m.allowed(id) {
			got[text] = true
		}
		require.Equal(r, want, got)
	}
}
