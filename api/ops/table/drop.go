package table

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/maintenance"
)

// Drop takes a table out of the catalog. Its files stay, and discovery leaves it
// alone until asked to bring it back. With purge the files go first, the log
// before the data, so that no version names what is not there; a purge that
// failed can be asked for again. It takes a caller who sees all of the table:
// rows of others are not theirs to destroy.
func (o Files) Drop(ctx context.Context, path access.Path, purge bool) error {
	if !purge {
		return o.Tables.Drop(ctx, path)
	}
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
	bucket, err := o.Tables.FolderToPurge(ctx, a, t)
	if err != nil {
		return err
	}
	if err := maintenance.Purge(ctx, bucket); err != nil {
		return err
	}
	return o.Store.DropTable(ctx, a.Viewer, t.ID, catalog.AnyVersion)
}
