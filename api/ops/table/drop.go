package table

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/maintenance"
)

// Drop removes a table from the catalog. Its files stay, and discovery ignores it until it is
// asked to include dropped tables. With purge the files are deleted first, the log before the
// data, so that no version names a missing file; a failed purge can be repeated. A purge needs a
// caller who sees all of the table, because it destroys all rows. Errors: [TableInUseError],
// access.ErrRowsFiltered, those of the store.
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
	if err := o.unused(ctx, a, t); err != nil {
		return err
	}
	if purge {
		bucket, err := o.Tables.FolderToPurge(ctx, a, t)
		if err != nil {
			return err
		}
		if err := maintenance.Purge(ctx, bucket); err != nil {
			return err
		}
	}
	return o.Store.DropTable(ctx, a.Viewer, t.ID, catalog.AnyVersion)
}
