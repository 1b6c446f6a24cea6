package sqlstore

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/operations"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/people"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// FirstOrganisation implements [catalog.Organisations].
func (s *Store) FirstOrganisation(ctx context.Context) (catalog.OrgID, error) {
	return sqldb.One(ctx, s.db.Read(), sqldb.Value[catalog.OrgID], `SELECT f.id FROM (SELECT o.id, o.created_at FROM organisations o
		UNION ALL SELECT p.id, p.created_at FROM purged_organisations p) f ORDER BY f.created_at, f.id LIMIT 1`)
}

// ListUserOrganisations implements [catalog.Organisations].
func (s *Store) ListUserOrganisations(ctx context.Context, user catalog.UserID,
	page catalog.Page) (catalog.List[catalog.UserOrganisation], error) {
	return people.ListOrganisations(ctx, s.db.Read(), user, page)
}

// UndeleteOrganisation implements [catalog.Organisations].
func (s *Store) UndeleteOrganisation(ctx context.Context, org catalog.OrgID, owner catalog.UserID,
	since time.Time) (restored catalog.Organisation, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		n, err := tx.Exec(ctx, `UPDATE organisations SET deleted_at = NULL, version = version + 1, updated_at = ?
			WHERE id = ? AND owner_user_id = ? AND deleted_at >= ?`, sqldb.Micros(s.db.Clock()), org, owner, sqldb.Micros(since))
		if err != nil {
			return err
		}
		restored, err = organisation(ctx, tx, org)
		switch {
		case err != nil:
			return err
		case restored.Owner != owner:
			restored = catalog.Organisation{}
			return catalog.ErrNotFound
		case n == 0:
			return sqldb.ErrUnchanged
		}
		// Nobody has checked the domains meanwhile, so they are due now. Sign-outs at the
		// provider were not followed, so the sign-ins from there end.
		if _, err = tx.Exec(ctx, "UPDATE email_domains SET checked_at = NULL WHERE org_id = ?", org); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE token_sessions SET revoked_at = ? WHERE org_id = ? AND method = 'sso' AND revoked_at IS NULL",
			sqldb.Micros(s.db.Clock()), org)
		if err != nil {
			return err
		}
		return s.wakeSandbox(ctx, tx, org)
	})
	return restored, err
}

// purgedTables lists the tables whose rows name an organisation in org_id, in an order
// that references allow. The rows of other tables go with these by their references.
var purgedTables = []string{
	"analysis_providers", "analysis_rates", "analysis_use", "unbound_credentials",
	"identity_bindings", "provider_links", "provider_apps", "email_domains", "sso_configs", "oauth_clients", "invitations", "token_sessions",
	"value_changes", "column_domains", "domains", "table_domain_versions", "table_constraints", "policy_revisions", "policies",
	"write_keys", "write_leases", "file_deletions", "moves", "operations", "api_keys", "delta_tables", "storage_configs", "workspaces",
	"memberships",
}

// deleteServices removes the service accounts of which no organisation has a record: a
// removed account leaves its keys, operations and configurations behind.
const deleteServices = `DELETE FROM users WHERE kind = ?
	AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = users.id)
	AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.user_id = users.id)
	AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.user_id = users.id)
	AND NOT EXISTS (SELECT 1 FROM storage_configs c WHERE c.owner_user_id = users.id)`

// PurgeOrganisation implements [catalog.Organisations]. Service accounts belong to the
// organisation, people do not.
func (s *Store) PurgeOrganisation(ctx context.Context, deletedBefore time.Time) (purged catalog.OrgID, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		purged, err = sqldb.One(ctx, tx, sqldb.Value[catalog.OrgID], `SELECT g.id FROM organisations g WHERE g.deleted_at < ?
			AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.org_id = g.id AND (o.stored_bytes > 0 OR `+operations.Live+`))
			ORDER BY g.deleted_at, g.id LIMIT 1`, sqldb.Micros(deletedBefore))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO purged_organisations (id, created_at, purged_at, sandbox)
			SELECT o.id, o.created_at, ?, COALESCE((SELECT c.location FROM storage_configs c WHERE c.org_id = o.id AND c.sandbox <> ''), '')
			FROM organisations o WHERE o.id = ?`, sqldb.Micros(s.db.Clock()), purged); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM token_sessions WHERE client_id IN
			(SELECT c.id FROM oauth_clients c WHERE c.org_id = ?)`, purged); err != nil {
			return err
		}
		for _, table := range purgedTables {
			if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE org_id = ?", purged); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, deleteServices, catalog.UserService); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM organisations WHERE id = ?", purged)
		return err
	})
	return purged, err
}
