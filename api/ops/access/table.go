package access

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/pruning"
	"github.com/lakewarden/lakewarden/sessions"
)

// Table is a version of a table as one caller may see it. Only [Tables] makes one. The
// snapshot is unfiltered: what it holds must not reach the caller except through the
// view, which the other methods apply.
type Table struct {
	tableVersion
	tables Tables
	caller caller.Identity
	// own is the caller as policies see it. seen is the view of the caller, or of
	// another subject: see [Tables.OpenAs].
	own      Subject
	policies policySet // that govern the version
	seen     view
	exposure *pruning.Exposure // nil until it is needed
}

// Caller returns the caller that opened the table.
func (t Table) Caller() caller.Identity { return t.caller }

// Located returns the table's record in the catalog.
func (t Table) Located() catalog.LocatedTable { return t.located }

// Snapshot returns the version that is read, unfiltered.
func (t Table) Snapshot() *delta.Snapshot { return t.snap }

// Historical reports whether the version is not the newest one.
func (t Table) Historical() bool { return t.snap.Version() < t.head.Version() }

// Replaced returns the id of the replaced table that the version belongs to, or "".
func (t Table) Replaced() catalog.DeltaID {
	if !t.replaced() {
		return ""
	}
	return catalog.DeltaID(t.snap.TableID())
}

// Policies returns the policies that govern the version.
func (t Table) Policies() []catalog.Policy { return t.policies }

// SameRules reports whether what the caller sees of two tables follows from the same policies,
// role and attributes.
func (t Table) SameRules(o Table) bool {
	return t.policies.equal(o.policies) && t.own.User == o.own.User && t.own.Role == o.own.Role &&
		maps.Equal(t.own.Attributes, o.own.Attributes)
}

// Filter returns the row filter, masks and hidden columns.
func (t Table) Filter() sqlfilter.Filter { return t.seen.Filter }

// FilterOver returns the filter with another alias for the table.
func (t Table) FilterOver(alias string) (sqlfilter.Filter, error) {
	return t.policies.filterOver(t.own, t.AllColumns(), alias)
}

// Whole reports whether the caller sees every value of the table, unmasked.
func (t Table) Whole() bool { return t.seen.whole() }

// Filtered reports whether the layout of rows in files is secret from the caller.
func (t Table) Filtered() bool { return t.seen.filtered() }

// HidesRows reports whether some policy hides rows of the table from anybody.
func (t Table) HidesRows() bool { return t.policies.hideRows() }

// Hides reports whether name names a hidden column, in any case.
func (t Table) Hides(name string) bool { return t.seen.hides(name) }

// Masks reports whether the column is masked for the caller.
func (t Table) Masks(column string) bool { return t.seen.masked(column) }

// Conceals reports whether a condition is about a column that is hidden or masked. err is
// the error of parsing it, text its source.
func (t Table) Conceals(check constraint.Check, err error, text string) bool {
	return t.seen.conceals(check, err, text)
}

// VisibleColumns returns the visible columns, with their types after masking.
func (t Table) VisibleColumns() []engine.Column { return t.seen.columns }

// AllColumns returns the columns of the version, the hidden ones too.
func (t Table) AllColumns() []engine.Column { return lake.Columns(t.snap) }

// UnhiddenColumns returns the columns that are not hidden, with their own types.
func (t Table) UnhiddenColumns() []engine.Column {
	return slices.DeleteFunc(t.AllColumns(), func(c engine.Column) bool { return t.Hides(c.Name) })
}

// Column returns a visible column by its name, exactly or else in any case.
func (t Table) Column(name string) (delta.Field, bool) {
	fields := t.snap.Schema().Fields
	i := slices.IndexFunc(fields, func(f delta.Field) bool { return f.Name == name })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f delta.Field) bool { return strings.EqualFold(f.Name, name) })
	}
	if i < 0 || t.Hides(fields[i].Name) {
		return delta.Field{}, false
	}
	return fields[i], true
}

// PhysicalName returns the name of a column that no rename changes.
func (t Table) PhysicalName(f delta.Field) string { return fileName(t.snap, f) }

// PhysicalColumn returns a column by the name that no rename changes, also a hidden one.
func (t Table) PhysicalColumn(name string) (delta.Field, bool) {
	fields := t.snap.Schema().Fields
	i := slices.IndexFunc(fields, func(f delta.Field) bool { return fileName(t.snap, f) == name })
	if i < 0 {
		return delta.Field{}, false
	}
	return fields[i], true
}

// FileName returns the name of a column that no rename changes: see [Table.PhysicalColumn].
func (t Table) FileName(f delta.Field) string { return fileName(t.snap, f) }

// Columns describes the visible columns.
func (t Table) Columns() []Column {
	keys := constraint.KeysOf(t.snap.Schema(), t.snap.Properties())
	out := make([]Column, len(t.seen.columns))
	for i, c := range t.seen.columns {
		f, _ := t.snap.Schema().Field(c.Name)
		out[i] = Column{
			Name: c.Name, Type: f.Type.String(), Nullable: c.Nullable, Comment: f.Comment(),
			IsPartition:  slices.Contains(t.snap.PartitionColumns(), c.Name),
			IsPrimaryKey: keys.IsPrimary(c.Name), IsUnique: keys.IsUnique(c.Name),
			Default: t.seen.defaultText(f),
		}
		if t.seen.Masks[c.Name] == policy.MaskHash {
			out[i].Type = delta.String.String()
		}
	}
	return out
}

// DefaultText returns the default of a visible column as the log holds it, or "" for a
// masked column.
func (t Table) DefaultText(column string) string {
	f, _ := t.snap.Schema().Field(column)
	return t.seen.defaultText(f)
}

// Source names the version for the engine, unfiltered.
func (t Table) Source() engine.Source { return lake.Source(t.located, t.snap) }

// WholeSource is [Table.Source] as a list of all files, if the table can be read as one.
func (t Table) WholeSource() engine.Source { return lake.WholeSource(t.located, t.snap) }

// SourceAt is [Table.Source] at another version of the table.
func (t Table) SourceAt(snap *delta.Snapshot) engine.Source { return lake.Source(t.located, snap) }

// ServiceKey returns the key of a session that reads the table's configuration on behalf
// of the caller.
func (t Table) ServiceKey() sessions.Key {
	return sessions.Key{Org: string(t.caller.Org), User: string(t.caller.User), Roots: []string{lake.SessionRoot(t.located.StorageConfig)}}
}

// Local reports whether the table is in a directory of this server.
func (t Table) Local() bool {
	_, local := lake.LocalRoot(t.located.StorageConfig)
	return local
}

// CheckRows refuses a version whose rows cannot be read.
func (t Table) CheckRows(ctx context.Context) error {
	return t.tables.refuse(ctx, t.tableVersion, lake.CheckRows(ctx, t.snap))
}

// Conceal removes what the caller may not learn from an error of a commit to the table.
func (t Table) Conceal(ctx context.Context, err error) error {
	return t.tables.conceal(ctx, t.located, err)
}

// Committed announces a version that a commit has made: the next statement of anybody
// sees it, on every replica.
func (t Table) Committed(ctx context.Context, snap *delta.Snapshot) {
	t.tables.lake.Committed(ctx, t.located, snap)
}

// Changed has the next statement of anybody, on every replica, refresh the table's log.
func (t Table) Changed(ctx context.Context) { t.tables.lake.Changed(ctx, t.located) }

// At returns an older version of the table for the same caller, without checking that its
// rows can be read. Errors: delta.ErrVersionNotFound, [ErrRowsFiltered], those of opening
// a table.
func (t Table) At(ctx context.Context, at delta.At) (Table, error) {
	snap, err := t.tables.lake.At(ctx, t.located, at)
	v := tableVersion{located: t.located, snap: snap, head: t.head}
	if err != nil {
		return Table{}, t.tables.refuse(ctx, v, err)
	}
	if snap.Version() == t.snap.Version() {
		return t, nil
	}
	// What is wrong with the version is for callers who see all of it.
	then, err := t.tables.seen(ctx, t.caller, v)
	if err != nil {
		return Table{}, t.tables.refuse(ctx, v, err)
	}
	return then, nil
}

// After returns the table for the same caller at a version that a commit has just made.
// A policy that was made meanwhile can close the table: then the error wraps
// sqlfilter.ErrPolicy, and the table has no columns.
func (t Table) After(ctx context.Context, snap *delta.Snapshot) (Table, error) {
	v := tableVersion{located: t.located, snap: snap, head: snap}
	after, err := t.tables.seen(ctx, t.caller, v)
	if err != nil {
		return Table{tableVersion: v}, err
	}
	return after, nil
}
