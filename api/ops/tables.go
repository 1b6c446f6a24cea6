package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Tables reads and names tables.
type Tables struct {
	Store  catalog.Store
	Lake   *Lake
	Opener Opener
	Keys   MaskKeys
	// Permissions tells who may modify tables.
	Permissions Permissions
}

// Column is a column of a table as a caller may see it.
type Column struct {
	Name string
	// Type is Delta's name of the type.
	Type        string
	Nullable    bool
	Comment     string
	IsPartition bool
	// IsPrimaryKey: part of the primary key. IsUnique: no value stands twice.
	IsPrimaryKey, IsUnique bool
	// Default is the value of new rows that do not name the column, in Spark's SQL. It
	// is empty if the value is NULL or if the column is masked.
	Default string
}

// TableVersion is one version of a table as its commit describes itself.
type TableVersion = delta.HistoryEntry

// TableDetails is a table at its newest version.
type TableDetails struct {
	catalog.LocatedTable
	TableVersion     int64
	TableTimestamp   time.Time
	Description      *string
	PartitionColumns []string
	Properties       map[string]string
	Columns          []Column
	// Files and Bytes are nil for a caller who does not see all of the table, Rows
	// for one whose rows are filtered: they would tell of the rest.
	Files, Bytes, Rows *int64
}

// List lists the tables that the caller sees, by name.
func (o Tables) List(ctx context.Context, schema string, page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.List[catalog.LocatedTable]{}, err
	}
	var filter catalog.TableFilter
	if schema != "" {
		config, err := o.Store.StorageConfigBySchema(ctx, a.Viewer, schema)
		if err != nil {
			return catalog.List[catalog.LocatedTable]{}, err
		}
		filter.Config = config.ID
	}
	return o.Store.ListTables(ctx, a.Viewer, filter, page)
}

// Get describes a table at its newest version.
func (o Tables) Get(ctx context.Context, path TablePath) (TableDetails, error) {
	a, t, snap, err := o.find(ctx, path)
	if err != nil {
		return TableDetails{}, err
	}
	v, err := o.viewOf(ctx, a, t, snap)
	if err != nil {
		return TableDetails{}, err
	}
	at, err := snap.CommittedAt(ctx)
	if err != nil {
		return TableDetails{}, err
	}
	meta := snap.Metadata()
	out := TableDetails{
		LocatedTable: t, TableVersion: snap.Version(), TableTimestamp: at, Description: meta.Description,
		PartitionColumns: v.partitionColumns(snap), Properties: v.properties(snap), Columns: v.tableColumns(snap),
	}
	if v.whole() {
		files, bytes := int64(snap.NumFiles()), snap.TotalBytes()
		out.Files, out.Bytes = &files, &bytes
	}
	if rows, ok := snap.Rows(); ok && !v.Restricted {
		out.Rows = &rows
	}
	return out, nil
}

// Columns lists the columns of a table as the caller sees them.
func (o Tables) Columns(ctx context.Context, path TablePath) ([]Column, error) {
	a, t, snap, err := o.find(ctx, path)
	if err != nil {
		return nil, err
	}
	v, err := o.viewOf(ctx, a, t, snap)
	if err != nil {
		return nil, err
	}
	return v.tableColumns(snap), nil
}

// History lists versions below before, newest first; before zero means all. A caller who
// does not see all of the table gets neither metrics nor parameters, nor whether a commit
// was a blind append, because these can reveal hidden rows. The same holds for versions
// of a replaced table that the caller cannot read.
func (o Tables) History(ctx context.Context, path TablePath, limit int, before int64) ([]TableVersion, error) {
	a, t, snap, err := o.find(ctx, path)
	if err != nil {
		return nil, err
	}
	v, err := o.viewOf(ctx, a, t, snap)
	if err != nil {
		return nil, err
	}
	entries, err := snap.History(ctx, limit, before)
	if err != nil {
		return nil, err
	}
	discloses := func(int) bool { return v.whole() }
	if v.whole() {
		if discloses, err = o.openVersions(ctx, a, t, snap, entries); err != nil {
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

// EffectivePolicy is what the caller learns of a policy that applies to it: that
// there is one, not what it says.
type EffectivePolicy struct {
	Kind   catalog.PolicyKind
	Column string
}

// EffectivePolicies lists the policies that apply to the caller on a table, and
// whether they restrict its rows.
func (o Tables) EffectivePolicies(ctx context.Context, path TablePath) (restricted bool, list []EffectivePolicy, err error) {
	a, t, snap, err := o.find(ctx, path)
	if err != nil {
		return false, nil, err
	}
	policies, err := policiesFor(ctx, o.Store, a.Org, []catalog.LocatedTable{t})
	if err != nil {
		return false, nil, err
	}
	v, err := o.viewOf(ctx, a, t, snap)
	if err != nil {
		return false, nil, err
	}
	return v.Restricted, v.effective(policies.on(t.DeltaID, columnsOf(snap))), nil
}

// Resolve finds the table with a Delta id.
func (o Tables) Resolve(ctx context.Context, id catalog.DeltaID) (catalog.LocatedTable, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	t, err := o.Store.ResolveDelta(ctx, a.Viewer, id)
	if errors.Is(err, catalog.ErrAmbiguous) {
		return t, ErrTableAmbiguous
	}
	return t, err
}

// Rename gives a table another name in the catalog. Data and rules stay.
func (o Tables) Rename(ctx context.Context, path TablePath, name string) (catalog.LocatedTable, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	t, err := path.resolve(ctx, o.Store, a.Viewer)
	if err != nil {
		return t, err
	}
	return o.Store.RenameTable(ctx, a.Viewer, t.ID, catalog.AnyVersion, name)
}

// Drop takes a table out of the catalog; its files stay, and discovery leaves
// it alone until asked to bring it back.
func (o Tables) Drop(ctx context.Context, path TablePath) error {
	a, err := ActorFrom(ctx)
	if err != nil {
		return err
	}
	t, err := path.resolve(ctx, o.Store, a.Viewer)
	if err != nil {
		return err
	}
	return o.Store.DropTable(ctx, a.Viewer, t.ID, catalog.AnyVersion)
}

// AdoptIdentity accepts the table that stands where another one stood.
func (o Tables) AdoptIdentity(ctx context.Context, path TablePath, keepRules bool) (catalog.LocatedTable, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	t, err := path.resolve(ctx, o.Store, a.Viewer)
	if err != nil {
		return t, err
	}
	return o.Store.AdoptIdentity(ctx, a.Viewer, t.ID, catalog.AnyVersion, keepRules, a.User)
}

// find resolves a path for the caller and opens the table.
func (o Tables) find(ctx context.Context, path TablePath) (Actor, catalog.LocatedTable, *delta.Snapshot, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return a, catalog.LocatedTable{}, nil, err
	}
	t, err := path.resolve(ctx, o.Store, a.Viewer)
	if err != nil {
		return a, t, nil, err
	}
	t, snap, err := o.open(ctx, t)
	return a, t, snap, err
}

// open opens a table at its newest version. When another table is found in its
// place, the catalog is told: one without rules just takes the new identity, a
// governed one stays closed.
func (o Tables) open(ctx context.Context, t catalog.LocatedTable) (catalog.LocatedTable, *delta.Snapshot, error) {
	return o.openWithin(ctx, t, nil)
}

// openWithin is open with another bound on how long ago a remote log was looked
// at; nil means [RemoteAge].
func (o Tables) openWithin(ctx context.Context, t catalog.LocatedTable, age *time.Duration) (catalog.LocatedTable, *delta.Snapshot, error) {
	return o.openBy(ctx, t, func(ctx context.Context, t catalog.LocatedTable) (*delta.Snapshot, error) {
		return o.Lake.recent(ctx, t, age)
	})
}

// openNewest is open at the version that is the newest now, also where others
// look at the log once a second.
func (o Tables) openNewest(ctx context.Context, t catalog.LocatedTable) (catalog.LocatedTable, *delta.Snapshot, error) {
	return o.openBy(ctx, t, func(ctx context.Context, t catalog.LocatedTable) (*delta.Snapshot, error) {
		return o.Lake.SnapshotWithin(ctx, t, 0)
	})
}

func (o Tables) openBy(ctx context.Context, t catalog.LocatedTable, snapshot func(context.Context, catalog.LocatedTable) (*delta.Snapshot, error)) (catalog.LocatedTable, *delta.Snapshot, error) {
	snap, err := snapshot(ctx, t)
	if !errors.Is(err, ErrTableIdentity) || t.State == catalog.TableIdentityChanged {
		return t, snap, o.refuseHead(ctx, t, snap, err)
	}
	caller := ctx
	// The identity of the table in the folder does not depend on the caller.
	ctx, system := authz.System(ctx, "table identity"), catalog.SystemViewer(t.Org)
	governed, err := o.orgWideRules(ctx, t.Org)
	if err != nil {
		return t, nil, err
	}
	seen := catalog.Discovery{Found: []catalog.FoundTable{{Path: t.Path, DeltaID: catalog.DeltaID(snap.TableID()), Governed: governed}}}
	if _, err := o.Store.SyncTables(ctx, system, t.Config, seen); err != nil {
		return t, nil, err
	}
	if t, err = o.Store.Table(ctx, system, t.ID); err != nil {
		return t, nil, err
	}
	snap, err = snapshot(ctx, t)
	return t, snap, o.refuseHead(caller, t, snap, err)
}

// openRows is [Tables.open], and also refuses a version whose rows cannot be read.
func (o Tables) openRows(ctx context.Context, t catalog.LocatedTable) (catalog.LocatedTable, *delta.Snapshot, error) {
	t, snap, err := o.open(ctx, t)
	if err != nil {
		return t, snap, err
	}
	return t, snap, o.refuseHead(ctx, t, snap, checkRows(ctx, snap))
}

// concealed removes the name of the column from a delta.PartitionError if a policy hides
// or masks columns of the table. It does not compare names, because the caller's view is
// unknown here, and an older version may have another name for the policy's column.
func (o Tables) concealed(ctx context.Context, t catalog.LocatedTable, err error) error {
	var unreadable *delta.PartitionError
	if !errors.As(err, &unreadable) {
		return err
	}
	policies, failed := policiesFor(authz.System(ctx, "names of columns in errors"), o.Store, t.Org, []catalog.LocatedTable{t})
	if failed != nil {
		return failed
	}
	if slices.ContainsFunc(policies, func(p catalog.Policy) bool { return p.Kind != catalog.PolicyRows }) {
		return unreadable.Unnamed()
	}
	return err
}

// viewOf compiles what the caller sees of a table at its newest version.
func (o Tables) viewOf(ctx context.Context, a Actor, t catalog.LocatedTable, snap *delta.Snapshot) (view, error) {
	return o.viewAt(ctx, a, usedTable{located: t, snap: snap, head: snap})
}

func (o Tables) viewAt(ctx context.Context, a Actor, u usedTable) (view, error) {
	v, _, err := o.viewWithBasis(ctx, a, u)
	return v, err
}

// viewWithBasis is like viewAt and also returns the basis of the view.
func (o Tables) viewWithBasis(ctx context.Context, a Actor, u usedTable) (view, basis, error) {
	m, err := newMoment(ctx, o.Store)
	if err != nil {
		return view{}, basis{}, err
	}
	held, err := rulesFor(ctx, o.Store, a, m, u.governed(), nil)
	if err != nil {
		return view{}, basis{}, err
	}
	if u, err = o.openReplaced(ctx, a, m, held, u); err != nil {
		return view{}, basis{}, err
	}
	v, err := u.view(held.policies, held.subject)
	return v, basis{subject: held.subject, tables: []usedPolicies{{u, u.applied(held.policies)}}}, err
}
