package people

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// EndMembership removes a membership and what ends with it.
func EndMembership(ctx context.Context, tx sqldb.Session, now time.Time, org catalog.OrgID, user catalog.UserID) error {
	if err := RevokeInvitations(ctx, tx, now, org, user); err != nil {
		return err
	}
	for _, table := range []string{"api_keys", "token_sessions"} {
		_, err := tx.Exec(ctx, "UPDATE "+table+" SET revoked_at = ? WHERE org_id = ? AND user_id = ? AND revoked_at IS NULL",
			sqldb.Micros(now), org, user)
		if err != nil {
			return err
		}
	}
	if err := lifetimes.End(ctx, tx, now, org); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM credential_bindings WHERE kind IN ('client', 'client_secret') AND id IN
				(SELECT c.id FROM oauth_clients c WHERE c.org_id = ? AND c.user_id = ?)`,
		"DELETE FROM workspace_members WHERE workspace_id IN (SELECT w.id FROM workspaces w WHERE w.org_id = ?) AND user_id = ?",
		"DELETE FROM provider_links WHERE org_id = ? AND user_id = ?",
		"DELETE FROM oauth_clients WHERE org_id = ? AND user_id = ?",
		"DELETE FROM memberships WHERE org_id = ? AND user_id = ?",
	} {
		if _, err := tx.Exec(ctx, statement, org, user); err != nil {
			return err
		}
	}
	return nil
}

// RevokeInvitations revokes the open invitations by a member who is no longer an
// administrator.
func RevokeInvitations(ctx context.Context, tx sqldb.Session, now time.Time, org catalog.OrgID, user catalog.UserID) error {
	_, err := tx.Exec(ctx, `UPDATE invitations SET revoked_at = ?
		WHERE org_id = ? AND invited_by = ? AND accepted_at IS NULL AND revoked_at IS NULL`, sqldb.Micros(now), org, user)
	return err
}
