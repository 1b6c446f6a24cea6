package sqlstore

import "github.com/lakewarden/lakewarden/catalog"

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
