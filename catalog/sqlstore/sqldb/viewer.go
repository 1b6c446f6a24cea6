package sqldb

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// Visible adds the condition that a viewer sees the storage configuration c. No other
// code decides visibility. A sandbox that is switched off is visible to the server only.
func (w *Where) Visible(v catalog.Viewer) {
	w.And("c.org_id = ? AND "+LiveOrg("c.org_id"), v.Org)
	if v.Everything {
		return
	}
	w.And("c.sandbox <> 'off'")
	w.And("EXISTS (SELECT 1 FROM memberships vm WHERE vm.org_id = c.org_id AND vm.user_id = ?)", v.User)
	reach := "TRUE"
	args := []any{v.User, v.User}
	if v.Limited {
		reach = "(vw.is_default OR vw.id = ?)"
		args = append(args, v.Workspace)
	}
	w.And(`((c.workspace_id IS NULL AND c.owner_user_id = ?) OR EXISTS (
		SELECT 1 FROM workspaces vw WHERE vw.id = c.workspace_id AND vw.org_id = c.org_id
		AND (vw.is_default OR EXISTS (
			SELECT 1 FROM workspace_members vwm WHERE vwm.workspace_id = vw.id AND vwm.user_id = ?))
		AND `+reach+`))`, args...)
}

// LiveOrg is the condition that the organisation of a column is not deleted.
func LiveOrg(column string) string {
	return "EXISTS (SELECT 1 FROM organisations lo WHERE lo.id = " + column + " AND lo.deleted_at IS NULL)"
}

// OwnDomain is the condition that people with addresses of an e-mail domain are an organisation's own:
// it is the only one, or has verified the domain. Its arguments are the organisation, again the
// organisation, and the domain.
const OwnDomain = `(NOT EXISTS (SELECT 1 FROM organisations oo WHERE oo.id <> ?)
	OR EXISTS (SELECT 1 FROM email_domains od WHERE od.org_id = ? AND od.domain = ? AND od.method <> ''))`

// RequireOrg returns ErrNotFound if an organisation does not exist or is deleted.
func RequireOrg(ctx context.Context, s Session, org catalog.OrgID) error {
	_, err := One(ctx, s, Value[int64], "SELECT 1 FROM organisations g WHERE g.id = ? AND "+LiveOrg("g.id"), org)
	return err
}
