package access

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Column is a column of a table as a caller may see it.
type Column struct {
	Name string
	// Type is Delta's name of the type.
	Type        string
	Nullable    bool
	Comment     string
	IsPartition bool
	// IsPrimaryKey: part of the primary key. IsUnique: no two rows have the same value.
	IsPrimaryKey, IsUnique bool
	// Default is the value of new rows that do not name the column, in Spark's SQL. It
	// is empty if the value is NULL or if the column is masked.
	Default string
}

// HistoryEntry is one version of a table as its commit describes itself.
type HistoryEntry = delta.HistoryEntry

// Details is a table at its newest version.
type Details struct {
	catalog.LocatedTable
	TableVersion     int64
	TableTimestamp   time.Time
	Description      *string
	PartitionColumns []string
	Properties       map[string]string
	Columns          []Column
	// Files and Bytes are nil for a caller who does not see all of the table, Rows for a
	// caller whose rows are filtered: they would reveal hidden values.
	Files, Bytes, Rows *int64
}

// List lists the tables that the caller sees, by name.
func (o Tables) List(ctx context.Context, schema string, page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.List[catalog.LocatedTable]{}, err
	}
	var filter catalog.TableFilter
	if schema != "" {
		config, err := o.store.StorageConfigBySchema(ctx, a.Viewer, schema)
		if err != nil {
			return catalog.List[catalog.LocatedTable]{}, err
		}
		filter.Config = config.ID
	}
	return o.store.ListTables(ctx, a.Viewer, filter, page)
}

// EachVisible visits the tables that the caller sees.
func (o Tables) EachVisible(ctx context.Context, a caller.Identity, visit func(catalog.LocatedTable)) error {
	return catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.store.ListTables(ctx, a.Viewer, catalog.TableFilter{}, page)
	}, func(t catalog.LocatedTable) error {
		visit(t)
		return nil
	})
}

// ResolveNames returns what the caller sees under each of the names.
func (o Tables) ResolveNames(
	ctx context.Context, a caller.Identity, v *memo.EpochView, names []catalog.TableName,
) ([]catalog.Resolved, error) {
	fields := ViewerFields(a.Viewer)
	for _, n := range names {
		fields = append(fields, n.Schema, n.Table)
	}
	return memo.ReadAt(ctx, v, o.memory.tables, fields, func() ([]catalog.Resolved, error) {
		return o.store.ResolveTables(ctx, a.Viewer, names)
	})
}

// open opens the newest version of a table for the caller of ctx.
func (o Tables) open(ctx context.Context, path Path) (Table, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return Table{}, err
	}
	return o.Open(ctx, a, Ref{Path: path})
}

// Get describes a table at its newest version.
func (o Tables) Get(ctx context.Context, path Path) (Details, error) {
	t, err := o.open(ctx, path)
	if err != nil {
		return Details{}, err
	}
	at, err := t.snap.CommittedAt(ctx)
	if err != nil {
		return Details{}, err
	}
	out := Details{
		LocatedTable: t.located, TableVersion: t.snap.Version(), TableTimestamp: at, Description: t.snap.Metadata().Description,
		PartitionColumns: t.partitionColumns(), Properties: t.properties(), Columns: t.Columns(),
	}
	if t.Whole() {
		files, bytes := int64(t.snap.NumFiles()), t.snap.TotalBytes()
		out.Files, out.Bytes = &files, &bytes
	}
	if rows, ok := t.snap.Rows(); ok && !t.seen.Restricted {
		out.Rows = &rows
	}
	return out, nil
}

// Columns lists the columns of a table as the caller sees them.
func (o Tables) Columns(ctx context.Context, path Path) ([]Column, error) {
	t, err := o.open(ctx, path)
	if err != nil {
		return nil, err
	}
	return t.Columns(), nil
}

// History lists versions below before, newest first; before zero means all. A caller who
// does not see all of the table gets neither metrics nor parameters, nor whether a commit
// was a blind append, because these can reveal hidden rows. The same holds for a caller who
// would not see a dropped column, and for versions of a replaced table that the caller cannot
// read.
func (o Tables) History(ctx context.Context, path Path, limit int, before int64) ([]HistoryEntry, error) {
	t, err := o.open(ctx, path)
	if err != nil {
		return nil, err
	}
	entries, err := t.snap.History(ctx, limit, before)
	if err != nil {
		return nil, err
	}
	discloses := func(int) bool { return false }
	if t.Whole() && !t.seen.formerlyLess {
		if discloses, err = o.openVersions(ctx, t, entries); err != nil {
			return nil, err
		}
	}
	for i := range entries {
		if !discloses(i) {
			entries[i].OperationMetrics, entries[i].OperationParameters, entries[i].IsBlindAppend = nil, nil, nil
		}
	}
	return entries, nil
}

// EffectivePolicy is what the caller learns of a policy that applies to it: that it
// exists, but not its text.
type EffectivePolicy struct {
	Kind   catalog.PolicyKind
	Column string
}

// EffectivePolicies is what policies mean for the caller on a table.
type EffectivePolicies struct {
	// Restricted reports that they restrict its rows, WholeTable that the caller may change
	// the whole table: see [Changeable.Whole].
	Restricted, WholeTable bool
	Policies               []EffectivePolicy
}

// EffectivePolicies describes the policies that apply to the caller on a table.
func (o Tables) EffectivePolicies(ctx context.Context, path Path) (EffectivePolicies, error) {
	t, err := o.open(ctx, path)
	if err != nil {
		return EffectivePolicies{}, err
	}
	whole, err := t.MayChangeWhole(ctx)
	return EffectivePolicies{Restricted: t.seen.Restricted, WholeTable: whole, Policies: t.effectivePolicies()}, err
}

// effectivePolicies lists policies as the caller may learn of them: that one exists, and
// for which column, unless that column is hidden from the caller. A policy about nothing
// else is then left out.
func (t Table) effectivePolicies() []EffectivePolicy {
	out := []EffectivePolicy{}
	for _, p := range t.policies {
		if t.Hides(p.Column) {
			if p.Kind != catalog.PolicyRows {
				continue
			}
			p.Column = ""
		}
		out = append(out, EffectivePolicy{Kind: p.Kind, Column: p.Column})
	}
	return out
}

// partitionColumns returns the visible partition columns.
func (t Table) partitionColumns() []string {
	return slices.DeleteFunc(slices.Clone(t.snap.PartitionColumns()), t.Hides)
}

// properties returns the table's properties without those that name a hidden column, such
// as a key or a list of columns with statistics, and without constraints over a column
// that is hidden or masked.
func (t Table) properties() map[string]string {
	out := maps.Clone(t.snap.Properties())
	delete(out, propertyDropped) // names columns that can be hidden in historical versions
	mentionsHidden := func(text string) bool {
		return slices.ContainsFunc(t.seen.HiddenColumns, func(name string) bool { return Mentions(text, name) })
	}
	maps.DeleteFunc(out, func(key, value string) bool {
		switch {
		case mentionsHidden(key):
			return true
		case strings.HasPrefix(strings.ToLower(key), "delta.constraints."):
			check, err := constraint.ParseSpark(t.snap.Schema(), value)
			return t.Conceals(check, err, value)
		case key == constraint.PropertyPrimaryKey:
			return slices.ContainsFunc(keyColumns(t.snap, value), t.Hides)
		}
		return mentionsHidden(value)
	})
	return out
}

// keyColumns returns the columns of a primary key by the names that its property has and
// by their current names.
func keyColumns(snap *delta.Snapshot, value string) []string {
	var named []string
	_ = json.Unmarshal([]byte(value), &named) // anything else names no column
	return append(named, constraint.KeysOf(snap.Schema(), snap.Properties()).Primary...)
}

// Resolve finds the table with a Delta id.
func (o Tables) Resolve(ctx context.Context, id catalog.DeltaID) (catalog.LocatedTable, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	t, err := o.store.ResolveDelta(ctx, a.Viewer, id)
	if errors.Is(err, catalog.ErrAmbiguous) {
		return t, ErrTableAmbiguous
	}
	return t, err
}

// Rename gives a table another name in the catalog. Data and rules stay. Error:
// [ErrPartlyVisible].
func (o Tables) Rename(ctx context.Context, path Path, name string) (catalog.LocatedTable, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	t, err := path.Resolve(ctx, o.store, a.Viewer)
	if err != nil {
		return t, err
	}
	if err := o.Permit(ctx, a, t.Config, auth.ScopeTablesModify); err != nil {
		return t, err
	}
	if _, err := o.OpenRegistration(ctx, a, t); err != nil {
		return t, err
	}
	return o.store.RenameTable(ctx, a.Viewer, t.ID, catalog.AnyVersion, name)
}

// AdoptIdentity accepts the table that replaced another one in its folder. Error:
// [ErrPartlyVisible].
func (o Tables) AdoptIdentity(ctx context.Context, path Path, keepRules bool) (catalog.LocatedTable, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	t, err := path.Resolve(ctx, o.store, a.Viewer)
	if err != nil {
		return t, err
	}
	if _, err := o.OpenRegistration(ctx, a, t); err != nil {
		return t, err
	}
	return o.store.AdoptIdentity(ctx, a.Viewer, t.ID, catalog.AnyVersion, keepRules, a.User)
}
