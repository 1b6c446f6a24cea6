package catalog

import (
	"context"
	"time"
)

// SandboxName is the name of the storage configuration of a sandbox.
const SandboxName = "Sandbox"

// PurgedSandbox is the location of the sandbox of a purged organisation, whose files are
// to be deleted.
type PurgedSandbox struct {
	Org      OrgID
	Location Location
}

// TableSize is the size of the files that a version of a table consists of.
type TableSize struct{ Version, Bytes int64 }

// Sandboxes stores the sandboxes of organisations. A sandbox is a storage configuration in
// the default workspace that only the server makes and changes. It is visible while the
// organisation has [FeatureSandbox] on, see [Organisations.UpdateOrganisation]; its data
// remains while it is not.
//
// The person who registers a table of a sandbox is its creator, to whose quota its files
// count. All tables that service accounts register count to one quota of the organisation,
// because each administrator can make any number of service accounts. No method but
// CreateSandbox and DropIdleTable raises the epoch.
type Sandboxes interface {
	// CreateSandbox creates the configuration of an organisation's sandbox, or returns the
	// existing one. It takes over the ordinary configuration that an older schema has made
	// of a sandbox at the location. It returns [ErrLocationTaken].
	CreateSandbox(ctx context.Context, org OrgID, location Location) (StorageConfig, error)
	// UseTable records that a table is used now.
	UseTable(ctx context.Context, table TableID) error
	// ReserveGrowth records that the write of a lease is about to enlarge a table of a
	// sandbox. It returns [ErrQuota] if the tables of its creator, dropped ones included
	// until they are forgotten, together with what was reserved by leases that were renewed
	// since the given time, would exceed limit. A later call of the same lease replaces an
	// earlier one. It returns [ErrNotFound] if the lease was removed. size is that of the
	// version that the write is based on.
	ReserveGrowth(ctx context.Context, lease WriteLeaseID, table TableID, size TableSize, growth, limit int64, since time.Time) error
	// SettleGrowth ends the reservation of a lease and records the size of a table, unless
	// that of a later version is known.
	SettleGrowth(ctx context.Context, lease WriteLeaseID, table TableID, size TableSize) error
	// MeasureTable records the size of the table at a path after a commit of another
	// writer, unless that of a later version is known.
	MeasureTable(ctx context.Context, config ConfigID, path string, size TableSize) error
	// IdleTables lists up to limit tables, of all organisations whose sandbox is on, that
	// were neither used nor changed since the given time. A sandbox that was switched on
	// or restored with its organisation since then has none.
	IdleTables(ctx context.Context, since time.Time, limit int) ([]LocatedTable, error)
	// DropIdleTable drops a table. It returns [ErrNotFound] if the table was used or
	// changed since the given time.
	DropIdleTable(ctx context.Context, table TableID, since time.Time) error
	// ClaimDroppedTables returns up to limit dropped tables of all sandboxes that have not
	// changed since the given time, for the removal of their files. A table that was
	// returned counts as changed. Until it is forgotten, it cannot be restored and no
	// table can be registered at its path, because its files may vanish at any time.
	ClaimDroppedTables(ctx context.Context, since time.Time, limit int) ([]LocatedTable, error)
	// ForgetTable removes the tombstone of a table whose files are gone, and the domains of
	// its columns as [Tables.PurgeTable] does. It returns [*VersionConflictError] if the
	// table has changed.
	ForgetTable(ctx context.Context, table TableID, expectedVersion int64) error
	// PurgedSandboxes returns up to limit sandboxes of purged organisations that were not
	// forgotten, ordered by organisation, beginning behind after. Nobody else can use their
	// locations.
	PurgedSandboxes(ctx context.Context, after OrgID, limit int) ([]PurgedSandbox, error)
	// ForgetSandbox frees the location of a purged sandbox whose files are gone.
	// Idempotent.
	ForgetSandbox(ctx context.Context, org OrgID) error
}
