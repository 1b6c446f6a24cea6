package people

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Holdings returns what a person has.
func Holdings(ctx context.Context, session sqldb.Session, now time.Time, id catalog.UserID) (h catalog.Holdings, err error) {
	_, err = sqldb.One(ctx, session, sqldb.Value[int64], "SELECT 1 FROM users u WHERE u.id = ? AND u.kind = ? AND u.deleted_at IS NULL",
		id, catalog.UserPerson)
	if err != nil {
		return h, err
	}
	const limit = " LIMIT ?"
	h.Owned, err = sqldb.List(ctx, session, scanOrganisation, selectOrganisation+
		" WHERE m.user_id = ? AND o.owner_user_id = m.user_id ORDER BY COALESCE(o.deleted_at, 0), o.created_at, o.id"+limit,
		id, catalog.MaxHoldings)
	if err != nil {
		return h, err
	}
	h.Memberships, err = sqldb.List(ctx, session, scanOrganisation, selectOrganisation+
		" WHERE m.user_id = ? AND o.deleted_at IS NULL ORDER BY o.created_at, o.id"+limit, id, catalog.MaxHoldings)
	if err != nil {
		return h, err
	}
	h.Configs, err = sqldb.List(ctx, session, func(r sqldb.Row) (c catalog.HeldConfig, err error) {
		err = r.Scan(&c.ID, &c.Org, &c.Name)
		return c, err
	}, `SELECT c.id, c.org_id, c.name FROM storage_configs c WHERE c.owner_user_id = ? AND c.workspace_id IS NULL
		AND c.sandbox = '' ORDER BY c.created_at, c.id`+limit, id, catalog.MaxHoldings)
	if err != nil {
		return h, err
	}
	h.Keys, err = sqldb.List(ctx, session, func(r sqldb.Row) (k catalog.HeldKey, err error) {
		err = r.Scan(&k.ID, &k.Org, &k.Name)
		return k, err
	}, `SELECT k.id, k.org_id, k.name FROM api_keys k WHERE k.user_id = ? AND k.revoked_at IS NULL AND k.expires_at > ?
		ORDER BY k.created_at, k.id`+limit, id, sqldb.Micros(now), catalog.MaxHoldings)
	return h, err
}

// Delete deletes a person and returns the former holdings, as [catalog.Users.DeletePerson] does.
func Delete(ctx context.Context, tx sqldb.Session, now time.Time, id catalog.UserID) (former catalog.Holdings, err error) {
	if former, err = Holdings(ctx, tx, now, id); err != nil {
		return former, err
	}
	var owned []catalog.UserOrganisation
	for _, o := range former.Owned {
		if o.DeletedAt.IsZero() {
			owned = append(owned, o)
		}
	}
	if len(owned) > 0 {
		return former, &catalog.OwnerError{Organisations: owned}
	}
	joined, err := sqldb.List(ctx, tx, sqldb.Value[catalog.OrgID], "SELECT m.org_id FROM memberships m WHERE m.user_id = ?", id)
	if err != nil {
		return former, err
	}
	for _, org := range joined {
		if err := EndMembership(ctx, tx, now, org, id); err != nil {
			return former, err
		}
	}
	return former, erase(ctx, tx, sqldb.Micros(now), id)
}

// erase removes the name and the address from the record of a person, what a credential of the person
// would be compared with, and the credentials of the personal configurations. Others refer to the id
// of the record, which stays. So do the configurations, because a person who sees a part of their rows
// could not remove them either, and invitations, which belong to their organisations.
func erase(ctx context.Context, tx sqldb.Session, now int64, id catalog.UserID) error {
	for _, statement := range []string{
		"DELETE FROM passwords WHERE user_id = ?",
		"DELETE FROM identity_bindings WHERE user_id = ?",
		"DELETE FROM one_time_tokens WHERE subject = ?",
		`DELETE FROM storage_secrets WHERE config_id IN
			(SELECT c.id FROM storage_configs c WHERE c.owner_user_id = ? AND c.workspace_id IS NULL)`,
	} {
		if _, err := tx.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "UPDATE token_sessions SET revoked_at = ? WHERE user_id = ? AND revoked_at IS NULL", now, id)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE users SET email = ?, display_name = '', deleted_at = ?, version = version + 1, updated_at = ?
		WHERE id = ?`, catalog.DeletedEmail(id), now, now, id)
	return err
}
