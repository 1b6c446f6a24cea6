package catalogtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// domained is an organisation with a table, whose columns get domains.
type domained struct {
	*world
	org    catalog.OrgID
	owner  catalog.UserID
	config catalog.StorageConfig
	table  catalog.Table
	viewer catalog.Viewer
}

func (w *world) domained() domained {
	w.Helper()
	org, owner := w.org()
	config := w.config(org, owner, w.defaultWorkspace(org), "c")
	return domained{w, org, owner, config, w.table(config, "t"), catalog.MemberViewer(org, owner)}
}

func (d domained) set(column string, n catalog.NewDomain) catalog.ColumnDomain {
	d.Helper()
	return d.setOn(d.table, catalog.ColumnDomainAt{Column: column}, n)
}

func (d domained) setOn(table catalog.Table, at catalog.ColumnDomainAt, n catalog.NewDomain) catalog.ColumnDomain {
	d.Helper()
	set, err := d.SetColumnDomain(d.ctx, d.viewer, table.ID, at, n, d.owner)
	require.NoError(d, err)
	return set
}

// try returns the error of setting a domain.
func (d domained) try(at catalog.ColumnDomainAt, n catalog.NewDomain) error {
	_, err := d.SetColumnDomain(d.ctx, d.viewer, d.table.ID, at, n, d.owner)
	return err
}

func (d domained) domains(table catalog.Table) catalog.TableDomains {
	d.Helper()
	found, err := d.TableDomains(d.ctx, d.org, table.DeltaID)
	require.NoError(d, err)
	return found
}

func (d domained) values(id catalog.DomainID) []catalog.DomainValue {
	d.Helper()
	found, err := d.DomainValues(d.ctx, d.org, id)
	require.NoError(d, err)
	return found.Values
}

// texts returns "value" or "parent/value" of each value of a domain.
func (d domained) texts(id catalog.DomainID) []string {
	d.Helper()
	texts, byID := []string{}, map[catalog.ValueID]string{}
	for _, v := range d.values(id) {
		byID[v.ID] = v.Value
		if v.Parent != "" {
			require.Contains(d, byID, v.Parent, "parents come first")
			texts = append(texts, byID[v.Parent]+"/"+v.Value)
			continue
		}
		texts = append(texts, v.Value)
	}
	return texts
}

// ids maps the texts of a domain to ids.
func (d domained) ids(id catalog.DomainID) map[string]catalog.ValueID {
	d.Helper()
	ids := map[string]catalog.ValueID{}
	values := d.values(id)
	for i, text := range d.texts(id) {
		ids[text] = values[i].ID
	}
	return ids
}

// target returns the target of a domain of the table's own.
func (d domained) target(id catalog.DomainID) catalog.DomainTarget {
	return catalog.DomainTarget{Org: d.org, Viewer: d.viewer, Table: d.table.ID, Domain: id}
}

// shared returns the target of a shared domain.
func (d domained) shared(id catalog.DomainID, version int64) catalog.DomainTarget {
	return catalog.DomainTarget{Org: d.org, Domain: id, ExpectedVersion: version}
}

func newValues(texts ...string) []catalog.NewDomainValue {
	values := []catalog.NewDomainValue{}
	for _, text := range texts {
		v := catalog.NewDomainValue{Value: text}
		if parent, child, below := strings.Cut(text, "/"); below {
			v.Parent, v.Value = parent, child
		}
		values = append(values, v)
	}
	return values
}

func fixed(texts ...string) catalog.NewDomain {
	return catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainFixed}, Values: newValues(texts...)}
}

func hierarchical(texts ...string) catalog.NewDomain {
	return catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainHierarchical}, Values: newValues(texts...)}
}

// from returns a reference domain, or a hierarchical one if parentKey is set.
func from(source catalog.Table, column, parentKey string) catalog.NewDomain {
	n := catalog.NewDomain{DomainSpec: catalog.DomainSpec{
		Kind:   catalog.DomainReference,
		Source: &catalog.DomainSource{Config: source.Config, Table: source.DeltaID, Column: column, ParentKey: parentKey},
	}}
	if parentKey != "" {
		n.Kind = catalog.DomainHierarchical
	}
	return n
}

func named(name string, n catalog.NewDomain) catalog.NewDomain {
	n.Name = name
	return n
}

func columnDomains(t *testing.T, w *world) {
	d := w.domained()
	other := w.table(d.config, "u")
	w.same(catalog.TableDomains{}, d.domains(d.table))
	before := w.epochNow()
	set := d.set("é", fixed("b", "a", " 漢 "))
	require.Equal(t, before+1, w.epochNow())
	require.Equal(t, d.table.DeltaID, set.Table)
	require.Equal(t, d.org, set.Org)
	require.Equal(t, "é", set.Column)
	require.Equal(t, d.owner, set.Domain.CreatedBy)
	require.EqualValues(t, 1, set.Domain.Version)
	require.False(t, set.Domain.Shared())
	require.False(t, set.Domain.CreatedAt.IsZero())
	require.Equal(t, []string{"b", "a", " 漢 "}, d.texts(set.Domain.ID), "values keep their order")
	uses, err := w.DomainUses(w.ctx, d.org, set.Domain.ID)
	require.NoError(t, err)
	w.same([]catalog.ColumnDomain{set}, uses)

	spans := d.set("n", catalog.NewDomain{DomainSpec: catalog.DomainSpec{
		Kind: catalog.DomainRange, Range: &catalog.DomainRangeBounds{Min: "1", Inclusive: true},
	}})
	refers := d.set("r", from(other, "key", ""))
	pairs := d.setOn(d.table, catalog.ColumnDomainAt{Column: "child", Parent: "n"}, from(other, "model", "maker"))
	inline := d.setOn(d.table, catalog.ColumnDomainAt{Column: "city", Parent: "country"}, hierarchical("FR", "FR/Paris", "DE", "FR/Lyon"))
	require.Equal(t, []string{"FR", "DE", "FR/Paris", "FR/Lyon"}, d.texts(inline.Domain.ID))
	found := d.domains(d.table)
	w.same([]catalog.ColumnDomain{pairs, inline, spans, refers, set}, found.Columns)
	require.Positive(t, found.Version)
	w.same(catalog.DomainRangeBounds{Min: "1", Inclusive: true}, *found.Columns[2].Domain.Range)
	w.same(catalog.DomainSource{Config: other.Config, Table: other.DeltaID, Column: "model", ParentKey: "maker"},
		*found.Columns[0].Domain.Source)
	sourced, err := w.DomainsFrom(w.ctx, d.org, other.DeltaID)
	require.NoError(t, err)
	w.same([]catalog.ColumnDomain{pairs, refers}, sourced)
	require.Empty(t, d.values(refers.Domain.ID))
	w.same(catalog.TableDomains{}, d.domains(other))

	foreign, _ := w.org()
	nothing, err := w.TableDomains(w.ctx, foreign, d.table.DeltaID)
	require.NoError(t, err)
	w.same(catalog.TableDomains{}, nothing)
	_, err = w.DomainValues(w.ctx, foreign, set.Domain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	stranger := catalog.MemberViewer(d.org, w.user())
	_, err = w.SetColumnDomain(w.ctx, stranger, d.table.ID, catalog.ColumnDomainAt{Column: "x"}, fixed("a"), d.owner)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	require.ErrorIs(t, w.RemoveColumnDomain(w.ctx, stranger, d.table.ID, catalog.ColumnDomainAt{Column: "é"}), catalog.ErrNotFound)
	require.NoError(t, w.RemoveColumnDomain(w.ctx, d.viewer, d.table.ID, catalog.ColumnDomainAt{Column: "é"}))
	require.ErrorIs(t, w.RemoveColumnDomain(w.ctx, d.viewer, d.table.ID, catalog.ColumnDomainAt{Column: "é"}), catalog.ErrNotFound)
	_, err = w.DomainValues(w.ctx, d.org, set.Domain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.Equal(t, found.Version+1, d.domains(d.table).Version)
	require.Len(t, d.domains(d.table).Columns, 4)
}

// replacedDomains checks which ids and versions survive the replacement of a domain, and
// that a change that expects another domain is refused.
func replacedDomains(t *testing.T, w *world) {
	d := w.domained()
	first := d.set("c", fixed("a", "b", "c"))
	ids := d.ids(first.Domain.ID)
	second := d.set("c", fixed("c", "x", "a"))
	require.Equal(t, first.Domain.ID, second.Domain.ID)
	require.EqualValues(t, 2, second.Domain.Version)
	require.Equal(t, first.Domain.CreatedAt, second.Domain.CreatedAt)
	now := d.ids(second.Domain.ID)
	require.Equal(t, []string{"c", "x", "a"}, d.texts(second.Domain.ID))
	require.Equal(t, ids["a"], now["a"])
	require.Equal(t, ids["c"], now["c"])

	// The undo of a replacement restores the ids.
	undo := fixed("a", "b", "c")
	for i, text := range []string{"a", "b", "c"} {
		undo.Values[i].ID = ids[text]
	}
	at := catalog.ColumnDomainAt{Column: "c", Expected: second.Domain.ID, ExpectedVersion: 1}
	stale(w, d.try(at, undo), 2)
	at.ExpectedVersion = 2
	require.NoError(t, d.try(at, undo))
	require.Equal(t, ids, d.ids(first.Domain.ID))
	stale(w, w.RemoveColumnDomain(w.ctx, d.viewer, d.table.ID, at), 3)
	stale(w, d.try(catalog.ColumnDomainAt{Column: "c", ExpectNone: true}, undo), 3)
	require.NoError(t, d.try(catalog.ColumnDomainAt{Column: "new", ExpectNone: true}, fixed("a")))

	// A domain of another kind has no values in common.
	tree := d.setOn(d.table, catalog.ColumnDomainAt{Column: "c", Parent: "p"}, hierarchical("a", "a/1", "a/2", "b", "b/1"))
	require.Equal(t, first.Domain.ID, tree.Domain.ID)
	ids = d.ids(tree.Domain.ID)
	d.setOn(d.table, catalog.ColumnDomainAt{Column: "c", Parent: "p"}, hierarchical("b", "b/2", "a", "b/1"))
	now = d.ids(tree.Domain.ID)
	for _, text := range []string{"a", "b", "b/1"} {
		require.Equal(t, ids[text], now[text], text)
	}
	require.NotContains(t, ids, "b/2")

	// A shared domain outlives its replacement, a domain of the column's own does not.
	shared, err := w.CreateDomain(w.ctx, d.org, named("s", fixed("a")), d.owner)
	require.NoError(t, err)
	use := catalog.ColumnDomainAt{Column: "c"}
	used, err := w.UseDomain(w.ctx, d.viewer, d.table.ID, use, shared.ID, d.owner)
	require.NoError(t, err)
	w.same(shared, used.Domain)
	_, err = w.DomainValues(w.ctx, d.org, first.Domain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	use.Expected = first.Domain.ID
	stale(w, d.try(use, fixed("z")), shared.Version)
	own := d.set("c", fixed("z"))
	require.NotEqual(t, shared.ID, own.Domain.ID)
	again, err := w.Domain(w.ctx, d.org, shared.ID)
	require.NoError(t, err)
	w.same(shared, again)
	use.Column = "none"
	require.ErrorIs(t, d.try(use, fixed("z")), catalog.ErrVersionConflict)
}

func invalidDomains(t *testing.T, w *world) {
	d := w.domained()
	source := w.table(d.config, "s")
	long := strings.Repeat("x", catalog.MaxDomainValueBytes+1)
	many := make([]string, catalog.MaxDomainValues+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	child := catalog.ColumnDomainAt{Column: "c", Parent: "p"}
	column := catalog.ColumnDomainAt{Column: "c"}
	with := func(n catalog.NewDomain, change func(*catalog.NewDomain)) catalog.NewDomain {
		change(&n)
		return n
	}
	bounded := func(bounds catalog.DomainRangeBounds) catalog.NewDomain {
		return catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainRange, Range: &bounds}}
	}
	for name, c := range map[string]struct {
		at     catalog.ColumnDomainAt
		domain catalog.NewDomain
		fields []string
	}{
		"no column":              {catalog.ColumnDomainAt{}, fixed("a"), []string{"column_name"}},
		"no kind":                {column, catalog.NewDomain{}, []string{"kind"}},
		"blank values":           {column, fixed("a", "", " \t\u2003"), []string{"values[1].value", "values[2].value"}},
		"duplicate":              {column, fixed("a", "b", "a"), []string{"values[2].value"}},
		"long value":             {column, fixed(long), []string{"values[0].value"}},
		"value not storable":     {column, fixed("a\x00b"), []string{"values[0].value"}},
		"too many values":        {column, fixed(many...), []string{"values"}},
		"parent in a fixed one":  {column, fixed("a", "a/b"), []string{"values[1].parent"}},
		"parent column of fixed": {child, fixed("a"), []string{"parent_column"}},
		"no parent column":       {column, hierarchical("a"), []string{"parent_column"}},
		"own parent":             {catalog.ColumnDomainAt{Column: "c", Parent: "c"}, hierarchical("a"), []string{"parent_column"}},
		"unknown parent":         {child, hierarchical("a", "b/1"), []string{"values[1].parent"}},
		"parent after child":     {child, hierarchical("a/1", "a"), []string{"values[0].parent"}},
		"child twice":            {child, hierarchical("a", "a/1", "b", "b/1", "a/1"), []string{"values[4].value"}},
		"label": {column, with(fixed("a"), func(n *catalog.NewDomain) {
			n.Values[0].Label = strings.Repeat("x", catalog.MaxDomainLabelBytes+1)
			n.Values[0].Description = "\xff"
		}), []string{"values[0].label", "values[0].description"}},
		"name":              {column, named("n", fixed("a")), []string{"name"}},
		"fixed with source": {column, with(fixed(), func(n *catalog.NewDomain) { n.Source = from(source, "x", "").Source }), []string{"source"}},
		"no source":         {column, catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainReference}}, []string{"source"}},
		"reference with parent key": {column, with(from(source, "x", "y"), func(n *catalog.NewDomain) { n.Kind = catalog.DomainReference }),
			[]string{"source.parent_key"}},
		"lookup without parent key": {child, with(from(source, "x", ""), func(n *catalog.NewDomain) { n.Kind = catalog.DomainHierarchical }),
			[]string{"source.parent_key"}},
		"lookup of one column": {child, from(source, "x", "x"), []string{"source.parent_key"}},
		"source without table": {column, from(catalog.Table{}, "", ""), []string{"source.config_id", "source.table_id", "source.column"}},
		"reference with values": {column, with(from(source, "x", ""), func(n *catalog.NewDomain) { n.Values = newValues("a") }),
			[]string{"values"}},
		"no range":    {column, catalog.NewDomain{DomainSpec: catalog.DomainSpec{Kind: catalog.DomainRange}}, []string{"range"}},
		"empty range": {column, bounded(catalog.DomainRangeBounds{Inclusive: true}), []string{"range"}},
		"long bound":  {column, bounded(catalog.DomainRangeBounds{Min: "1", Max: long}), []string{"range.max"}},
		"fixed with range": {column, with(fixed(), func(n *catalog.NewDomain) { n.Range = &catalog.DomainRangeBounds{Min: "1"} }),
			[]string{"range"}},
	} {
		before := w.epochNow()
		require.Equal(t, c.fields, fieldsOf(w, d.try(c.at, c.domain)), name)
		require.Equal(t, before, w.epochNow(), name)
	}
	require.Empty(t, d.domains(d.table).Columns)
	set := d.set("c", fixed(many[1:]...))
	require.Len(t, d.values(set.Domain.ID), catalog.MaxDomainValues)
	_, _, err := w.AddDomainValues(w.ctx, d.target(set.Domain.ID), newValues("one more"))
	require.Equal(t, []string{"values"}, fieldsOf(w, err))
	require.Len(t, d.values(set.Domain.ID), catalog.MaxDomainValues)
}

// domainCycles checks that the allowed values of a column never depend on the column.
func domainCycles(t *testing.T, w *world) {
	d := w.domained()
	other := w.table(d.config, "u")
	require.ErrorIs(t, d.try(catalog.ColumnDomainAt{Column: "a"}, from(d.table, "a", "")), catalog.ErrDomainCycle)
	d.set("manager", from(d.table, "id", ""))
	require.ErrorIs(t, d.try(catalog.ColumnDomainAt{Column: "id"}, from(d.table, "manager", "")), catalog.ErrDomainCycle)
	d.set("x", from(other, "y", ""))
	d.setOn(other, catalog.ColumnDomainAt{Column: "y", Parent: "z"}, hierarchical("p"))
	shared, err := w.CreateDomain(w.ctx, d.org, named("shared", from(other, "w", "")), d.owner)
	require.NoError(t, err)
	_, err = w.UseDomain(w.ctx, d.viewer, other.ID, catalog.ColumnDomainAt{Column: "z"}, shared.ID, d.owner)
	require.NoError(t, err)
	_, err = w.ReplaceDomain(w.ctx, d.shared(shared.ID, 1), named("shared", from(d.table, "x", "")))
	require.ErrorIs(t, err, catalog.ErrDomainCycle)
	_, err = w.UseDomain(w.ctx, d.viewer, other.ID, catalog.ColumnDomainAt{Column: "w"}, shared.ID, d.owner)
	require.ErrorIs(t, err, catalog.ErrDomainCycle)
	for _, c := range d.domains(other).Columns {
		require.NotEqual(t, "w", c.Column, "a refused change leaves nothing")
	}
	again, err := w.Domain(w.ctx, d.org, shared.ID)
	require.NoError(t, err)
	w.same(shared, again)
	// Two columns may take their values from one place.
	d.set("x2", from(other, "y", ""))
}
