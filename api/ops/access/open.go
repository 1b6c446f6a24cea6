package access

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Tables opens tables for callers. It is the only way to a table's snapshot, except for
// the server's own work on tables. Its operations describe tables.
type Tables struct {
	store       catalog.Store
	lake        *lake.Lake
	memory      memory
	keys        MaskKeys
	permissions Permissions
	dropped     func() uint64
	readLog     func(catalog.LocatedTable) bool
	// denials and audit are nil in tests that need neither.
	denials prometheus.Counter
	audit   Recorder
}

// Options are what [New] needs in addition to the catalog and the lake.
type Options struct {
	Keys        MaskKeys
	Permissions Permissions
	// Dropped returns an epoch: this replica has cached nothing of files that were deleted up to
	// it. Nil means that no files are deleted.
	Dropped func() uint64
	// Registerer and Audit learn of changes of tables that the caller sees only in part. They
	// may be nil.
	Registerer prometheus.Registerer
	Audit      Recorder
	// ReadLog, if not nil, selects tables that the engine reads through their logs where
	// it can, although they could be read as lists of files. It is for tests only.
	ReadLog func(catalog.LocatedTable) bool
}

// New returns the tables of a catalog, whose logs are in data.
func New(store catalog.Store, data *lake.Lake, options Options) Tables {
	if options.Dropped == nil {
		options.Dropped = func() uint64 { return math.MaxUint64 }
	}
	t := Tables{
		store: store, lake: data, memory: newMemory(), keys: options.Keys, permissions: options.Permissions, dropped: options.Dropped,
		readLog: options.ReadLog, audit: options.Audit,
	}
	if options.Registerer != nil {
		t.denials = newDenials(options.Registerer)
	}
	return t
}

// Recorder records entries of the audit log.
type Recorder interface {
	Record(entry catalog.AuditEntry)
}

// MaskKeys returns the secret by which values of a table's columns are hashed. It is the
// same for everybody and at any time, so that equal values have equal hashes, and differs
// between registrations, also of tables with the same id in their logs.
type MaskKeys interface {
	MaskKey(org catalog.OrgID, table catalog.TableID) ([]byte, error)
}

// Permissions reports whether a caller may work on the files of a configuration.
type Permissions interface {
	Permits(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, anyOf ...auth.Scope) error
}

// Ref says which version of a table to open, and how. The zero value of each option is the
// usual case.
type Ref struct {
	// Path names the table, unless Table is set.
	Path Path
	// Table is a table that the catalog resolved for the caller.
	Table *catalog.LocatedTable
	// At is the version; nil means the newest one.
	At *delta.At
	// MaxAge bounds the age of what is known of a remote log; nil means [lake.RemoteAge].
	MaxAge *time.Duration
	// Newest reads the log now: it is a MaxAge of zero.
	Newest bool
	// Rows refuses versions whose rows cannot be read.
	Rows bool
	// Scope is required where the table is, unless it is empty.
	Scope auth.Scope
}

// Open returns a version of a table as the caller may see it, for reading. Errors: catalog.ErrNotFound
// for a table that does not exist or is not visible, [lake.ErrTableVanished],
// [ErrTableIdentity], catalog.ErrDenied, delta.ErrVersionNotFound, those of versions that
// cannot be read, and [ErrRowsFiltered] for versions of a replaced table.
func (o Tables) Open(ctx context.Context, a caller.Identity, ref Ref) (Table, error) {
	v, err := o.openRef(ctx, a, ref)
	if err != nil {
		return Table{}, err
	}
	t, err := o.seen(ctx, a, v)
	if err != nil || !ref.Rows || !t.opened {
		return t, err
	}
	return t, t.CheckRows(ctx)
}

// Permit returns an error unless the caller has one of the scopes where a configuration is.
func (o Tables) Permit(ctx context.Context, a caller.Identity, config catalog.ConfigID, anyOf ...auth.Scope) error {
	return o.permissions.Permits(ctx, a.Viewer, config, anyOf...)
}

// Version returns the newest version of a table.
func (o Tables) Version(ctx context.Context, a caller.Identity, path Path, maxAge *time.Duration) (int64, error) {
	v, err := o.openRef(ctx, a, Ref{Path: path, MaxAge: maxAge})
	if err != nil {
		return 0, err
	}
	return v.snap.Version(), nil
}

// OpenAs returns the newest version of a table that the caller sees, as another subject
// would see it.
func (o Tables) OpenAs(ctx context.Context, a caller.Identity, located catalog.LocatedTable, subject Subject) (Table, error) {
	t, err := o.openRef(ctx, a, Ref{Table: &located, Rows: true})
	if err != nil {
		return Table{}, err
	}
	return o.seenAs(ctx, a, t, &subject)
}

// OpenAll opens tables that the catalog resolved for the caller at v, concurrently and
// under the same policies.
func (o Tables) OpenAll(ctx context.Context, a caller.Identity, v *memo.EpochView, refs []Ref) ([]Table, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	if err := o.boundAge(ctx, a, v, refs); err != nil {
		return nil, err
	}
	versions := make([]tableVersion, len(refs))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, ref := range refs {
		group.Go(func() (err error) {
			versions[i], err = o.openRef(groupCtx, a, ref)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var governed []catalog.LocatedTable
	for _, version := range versions {
		governed = append(governed, version.governed()...)
	}
	held, err := rulesAt(ctx, o.store, a, v, governed, o.memory.rules)
	if err != nil {
		return nil, err
	}
	opened := make([]Table, len(refs))
	for i, version := range versions {
		if opened[i], err = o.openUnder(ctx, a, v, held, version); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// openUnder returns the table under rules that are held.
func (o Tables) openUnder(ctx context.Context, a caller.Identity, v *memo.EpochView, held rules, version tableVersion) (Table, error) {
	version, err := o.openReplaced(ctx, a, v, held, version)
	if err != nil {
		return Table{}, err
	}
	if version.opened {
		if err := o.refuse(ctx, version, lake.CheckRows(ctx, version.snap)); err != nil {
			return Table{}, err
		}
	}
	applied, err := held.viewOf(version)
	if err != nil {
		return Table{}, err
	}
	return Table{
		tableVersion: version, tables: o, caller: a, own: held.subject, policies: applied.policies,
		seen: applied.view, exposure: &applied.exposure,
	}, nil
}

// OpenReadable opens those of the tables whose newest version can be read.
func (o Tables) OpenReadable(ctx context.Context, a caller.Identity, v *memo.EpochView, located []catalog.LocatedTable) ([]Table, error) {
	versions := make([]*tableVersion, len(located))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, t := range located {
		group.Go(func() error {
			if snap, err := o.lake.Snapshot(groupCtx, t); err == nil {
				versions[i] = &tableVersion{located: t, snap: snap, head: snap}
			}
			return groupCtx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	held, err := rulesAt(ctx, o.store, a, v, located, nil)
	if err != nil {
		return nil, err
	}
	var out []Table
	for _, version := range versions {
		if version == nil {
			continue
		}
		seen, err := version.view(held.policies, held.subject)
		if err != nil {
			continue // a policy that cannot be compiled closes its table
		}
		out = append(out, Table{tableVersion: *version, tables: o, caller: a, own: held.subject, policies: version.applicable(held.policies),
			seen: seen})
	}
	return out, nil
}

// boundAge drops bounds above [lake.RemoteAge] if policies apply to any of the tables. Policies
// name columns: one that was made for the current names would not find its column in a log
// that was read before another writer renamed it, so what a statement may read under
// policies is never older than usual.
func (o Tables) boundAge(ctx context.Context, a caller.Identity, v *memo.EpochView, refs []Ref) error {
	if !slices.ContainsFunc(refs, func(r Ref) bool { return r.MaxAge != nil && *r.MaxAge > lake.RemoteAge }) {
		return nil
	}
	located := make([]catalog.LocatedTable, len(refs))
	for i, r := range refs {
		located[i] = *r.Table
	}
	held, err := rulesAt(ctx, o.store, a, v, located, o.memory.rules)
	if err != nil || len(held.policies) == 0 {
		return err
	}
	for i := range refs {
		refs[i].MaxAge = nil
	}
	return nil
}

// openRef opens the version that ref names. It leaves versions of replaced tables to
// [Tables.openReplaced].
func (o Tables) openRef(ctx context.Context, a caller.Identity, ref Ref) (tableVersion, error) {
	located, err := ref.locate(ctx, o.store, a)
	if err != nil {
		return tableVersion{}, err
	}
	maxAge := ref.MaxAge
	if ref.Newest {
		maxAge = new(time.Duration)
	}
	emptied := o.dropped()
	located, head, err := o.openHead(ctx, located, maxAge)
	v := tableVersion{located: located, snap: head, head: head, emptied: emptied}
	if err != nil {
		return v, err
	}
	if ref.Scope != "" {
		if err := o.Permit(ctx, a, located.Config, ref.Scope); err != nil {
			return v, err
		}
	}
	if ref.At != nil && !ref.At.Is(head.Version()) {
		v.snap, err = o.lake.At(ctx, located, *ref.At)
	}
	if err == nil && ref.Rows && !v.replaced() {
		err = lake.CheckRows(ctx, v.snap)
	}
	return v, o.refuse(ctx, v, err)
}

func (r Ref) locate(ctx context.Context, store catalog.Tables, a caller.Identity) (catalog.LocatedTable, error) {
	if r.Table != nil {
		return *r.Table, nil
	}
	return r.Path.Resolve(ctx, store, a.Viewer)
}

// openHead opens a table at its newest version. If another table is found in its place,
// the catalog is told: a table without rules takes the new identity, a governed one stays
// closed.
func (o Tables) openHead(
	ctx context.Context, t catalog.LocatedTable, maxAge *time.Duration,
) (catalog.LocatedTable, *delta.Snapshot, error) {
	if err := o.used(ctx, t); err != nil {
		return t, nil, err
	}
	snap, err := o.lake.Recent(ctx, t, maxAge)
	if !errors.Is(err, lake.ErrTableIdentity) || t.State == catalog.TableIdentityChanged {
		return t, snap, o.refuseHead(ctx, t, snap, err)
	}
	caller := ctx
	// The identity of the table in the folder does not depend on the caller.
	ctx, system := authz.System(ctx, "table identity"), catalog.SystemViewer(t.Org)
	governed, err := Governs(ctx, o.store, t.Org)
	if err != nil {
		return t, nil, err
	}
	seen := catalog.Discovery{Found: []catalog.FoundTable{{Path: t.Path, DeltaID: catalog.DeltaID(snap.TableID()), Governed: governed}}}
	if _, err := o.store.SyncTables(ctx, system, t.Config, seen); err != nil {
		return t, nil, err
	}
	if t, err = o.store.Table(ctx, system, t.ID); err != nil {
		return t, nil, err
	}
	snap, err = o.lake.Recent(ctx, t, maxAge)
	return t, snap, o.refuseHead(caller, t, snap, err)
}

// Governs reports whether a policy of every table is enabled in an organisation. It
// governs each table, so the replacement of any table must not pass unnoticed.
func Governs(ctx context.Context, store catalog.Policies, org catalog.OrgID) (bool, error) {
	policies, err := policiesFor(authz.System(ctx, "table identity"), store, org, nil)
	return len(policies) > 0, err
}

// seen compiles what the caller sees of a version.
func (o Tables) seen(ctx context.Context, a caller.Identity, version tableVersion) (Table, error) {
	return o.seenAs(ctx, a, version, nil)
}

// seenAs is seen for another subject, unless subject is nil.
func (o Tables) seenAs(ctx context.Context, a caller.Identity, version tableVersion, subject *Subject) (Table, error) {
	v, err := memo.NewEpochView(ctx, o.store)
	if err != nil {
		return Table{}, err
	}
	held, err := rulesAt(ctx, o.store, a, v, version.governed(), nil)
	if err != nil {
		return Table{}, err
	}
	if version, err = o.openReplaced(ctx, a, v, held, version); err != nil {
		return Table{}, err
	}
	t := Table{tableVersion: version, tables: o, caller: a, own: held.subject, policies: version.applicable(held.policies)}
	if subject == nil {
		subject = &held.subject
	}
	t.seen, err = version.view(held.policies, *subject)
	return t, err
}
