package sqlstore

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// visible adds the condition that a viewer sees the storage configuration c. No other
// code decides visibility.
func (w *where) visible(v catalog.Viewer) {
	w.and("c.org_id = ? AND "+liveOrg("c.org_id"), v.Org)
	if v.Everything {
		return
	}
	w.and("EXISTS (SELECT 1 FROM memberships vm WHERE vm.org_id = c.org_id AND vm.user_id = ?)", v.User)
	reach := "TRUE"
	args := []any{v.User, v.User}
	if v.Limited {
		reach = "(vw.is_default OR vw.id = ?)"
		args = append(args, v.Workspace)
	}
	w.and(`((c.workspace_id IS NULL AND c.owner_user_id = ?) OR EXISTS (
		SELECT 1 FROM workspaces vw WHERE vw.id = c.workspace_id AND vw.org_id = c.org_id
		AND (vw.is_default OR EXISTS (
			SELECT 1 FROM workspace_members vwm WHERE vwm.workspace_id = vw.id AND vwm.user_id = ?))
		AND `+reach+`))`, args...)
}

// liveOrg is the condition that the organisation of a column is not deleted.
func liveOrg(column string) string {
	return "EXISTS (SELECT 1 FROM organisations lo WHERE lo.id = " + column + " AND lo.deleted_at IS NULL)"
}

// requireOrg returns ErrNotFound if an organisation does not exist or is deleted.
func requireOrg(ctx context.Context, s session, org catalog.OrgID) error {
	_, err := one(ctx, s, value[int64], "SELECT 1 FROM organisations g WHERE g.id = ? AND "+liveOrg("g.id"), org)
	return err
}
