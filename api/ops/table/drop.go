package table

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/maintenance"
)

// Drop removes a table from the catalog. Its files stay, and discovery ignores it until it is
// asked to include dropped tables. With purge the files are deleted first, the log before the
// data, so that no version names a missing file; a failed purge can be repeated. The domains of
// the columns go with the files. Both are changes of the whole table. Errors: [TableInUseError],
// access.ErrPartlyVisible, [ErrVacuumRunning], catalog.ErrTableMoving, those of the store.
func (o Files) Drop(ctx context.Context, path access.Path, purge bool) error {
	a, err := caller.From(ctx)
	if err != nil {
		return err
	}
	t, err := path.Resolve(ctx, o.Store, a.Viewer)
	if err != nil {
		return err
	}
	if err := o.Tables.Permit(ctx, a, t.Config, auth.ScopeTablesModify); err != nil {
		return err
	}
	whole, err := o.Tables.OpenRegistration(ctx, a, t)
	if err != nil {
		return err
	}
	if err := o.unused(ctx, a, t); err != nil {
		return err
	}
	if purge {
		return o.purge(ctx, a, whole)
	}
	return o.Store.DropTable(ctx, a.Viewer, t.ID, catalog.AnyVersion)
}

// purge deletes the files of a table and drops the table. A move of the table that begins
// meanwhile waits for it. It is refused during another purge, which could end first: a new table
// in the same place would have files of the same names.
func (o Files) purge(ctx context.Context, a caller.Identity, whole access.Registration) error {
	t := whole.Located()
	deleting, lease, err := o.Leases.Begin(ctx, whole, catalog.WriteVacuum)
	if err != nil {
		return err
	}
	defer lease.End()
	under, err := lease.VacuumUnderWay(deleting)
	if err == nil && under {
		err = ErrVacuumRunning
	}
	if err != nil {
		return err
	}
	bucket, err := whole.Folder(deleting)
	if err == nil {
		err = whole.Judge(deleting)
	}
	if err == nil {
		err = lease.Deleting(deleting, deletion.Purged(t))
	}
	if err == nil {
		err = errors.Join(maintenance.Purge(deleting, bucket), lease.Deleted(o.Deletions.Record(ctx, deletion.Purged(t))))
	}
	if err != nil {
		return write.LeaseError(deleting, err)
	}
	// The table may have been dropped meanwhile, and a new table have its place and its row.
	now, err := o.Store.Table(ctx, a.Viewer, t.ID)
	if err == nil && now.DeltaID != t.DeltaID {
		err = catalog.ErrNotFound
	}
	if err != nil {
		return err
	}
	return o.Store.PurgeTable(ctx, a.Viewer, t.ID, now.Version)
}
