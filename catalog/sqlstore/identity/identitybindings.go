package identity

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectBinding = `SELECT b.id, b.org_id, b.user_id, b.issuer, b.subject, b.method, b.bound_by, b.created_at FROM identity_bindings b
	WHERE b.org_id = ? AND `

func scanBinding(r sqldb.Row) (b catalog.IdentityBinding, err error) {
	err = r.Scan(&b.ID, &b.Org, &b.User, &b.Issuer, &b.Subject, &b.Method, &b.By, sqldb.Time(&b.CreatedAt))
	return b, err
}

func binding(ctx context.Context, s sqldb.Session, org catalog.OrgID, issuer, subject string) (catalog.IdentityBinding, error) {
	return sqldb.One(ctx, s, scanBinding, selectBinding+"b.issuer = ? AND b.subject = ? AND "+sqldb.LiveOrg("b.org_id"), org,
		issuer, subject)
}

// IdentityBinding implements [catalog.IdentityBindings].
func (s *Store) IdentityBinding(ctx context.Context, org catalog.OrgID, issuer, subject string) (catalog.IdentityBinding, error) {
	return binding(ctx, s.db.Read(), org, issuer, subject)
}

// BindIdentity implements [catalog.IdentityBindings].
func (s *Store) BindIdentity(ctx context.Context, n catalog.NewIdentityBinding) (bound catalog.IdentityBinding, err error) {
	if err := n.Validate(); err != nil {
		return bound, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, n.Org); err != nil {
			return err
		}
		_, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id
			WHERE m.org_id = ? AND m.user_id = ? AND u.kind = ?`, n.Org, n.User, catalog.UserPerson)
		if err != nil {
			return err
		}
		made, err := lifetimes.Of(ctx, tx, s.db.Clock(), n.Maker)
		switch {
		case err != nil:
			return err
		case !made.Free():
			return &catalog.DeniedError{Reason: "sign_in_required"}
		}
		bound, err = binding(ctx, tx, n.Org, n.Issuer, n.Subject)
		switch {
		case err == nil && bound.User != n.User:
			bound = catalog.IdentityBinding{}
			return &catalog.ExistsError{Field: "subject"}
		case err == nil:
			return sqldb.ErrUnchanged
		case !errors.Is(err, catalog.ErrNotFound):
			return err
		}
		bindings, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT COUNT(*) FROM identity_bindings b
			WHERE b.org_id = ? AND b.user_id = ?`, n.Org, n.User)
		switch {
		case err != nil:
			return err
		case bindings >= catalog.MaxIdentityBindings:
			return catalog.FieldErrors{{Field: "subject", Message: "is one too many: release another identity of the member first"}}
		}
		bound, err = s.insertBinding(ctx, tx, n)
		return err
	})
	return bound, err
}

func (s *Store) insertBinding(ctx context.Context, tx sqldb.Session, n catalog.NewIdentityBinding) (none catalog.IdentityBinding,
	err error) {
	err = tx.Insert(ctx, "subject", `INSERT INTO identity_bindings (id, org_id, user_id, issuer, subject, method, bound_by, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, catalog.NewID[catalog.IdentityID](), n.Org, n.User, n.Issuer, n.Subject, n.Method, n.By,
		sqldb.Micros(s.db.Clock()))
	if err != nil {
		return none, err
	}
	return binding(ctx, tx, n.Org, n.Issuer, n.Subject)
}

// ListIdentityBindings implements [catalog.IdentityBindings].
func (s *Store) ListIdentityBindings(ctx context.Context, org catalog.OrgID, user catalog.UserID) ([]catalog.IdentityBinding, error) {
	found, err := sqldb.List(ctx, s.db.Read(), scanBinding, selectBinding+"b.user_id = ? AND "+sqldb.LiveOrg("b.org_id")+
		" ORDER BY b.created_at, b.id", org, user)
	if err == nil && len(found) == 0 {
		_, err = sqldb.One(ctx, s.db.Read(), sqldb.Value[int64], "SELECT 1 FROM memberships m WHERE m.org_id = ? AND m.user_id = ? AND "+
			sqldb.LiveOrg("m.org_id"), org, user)
	}
	return found, err
}

// ReleaseIdentityBinding implements [catalog.IdentityBindings].
func (s *Store) ReleaseIdentityBinding(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	id catalog.IdentityID) (released catalog.IdentityBinding, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		released, err = sqldb.One(ctx, tx, scanBinding, selectBinding+"b.user_id = ? AND b.id = ? AND "+sqldb.LiveOrg("b.org_id"),
			org, user, id)
		if err != nil {
			return err
		}
		return s.release(ctx, tx, org, "b.id = ?", id)
	})
	return released, err
}

// ReleaseIdentityBindings implements [catalog.IdentityBindings].
func (s *Store) ReleaseIdentityBindings(ctx context.Context, org catalog.OrgID, issuer string, dryRun bool) (count int64, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, org); err != nil {
			return err
		}
		count, err = sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT COUNT(*) FROM identity_bindings b WHERE b.org_id = ? AND b.issuer = ?",
			org, issuer)
		switch {
		case err != nil:
			return err
		case dryRun || count == 0:
			return sqldb.ErrUnchanged
		}
		return s.release(ctx, tx, org, "b.issuer = ?", issuer)
	})
	return count, err
}

// release removes the bindings of an organisation that satisfy a condition, and ends the sessions
// of their subjects there.
func (s *Store) release(ctx context.Context, tx sqldb.Session, org catalog.OrgID, condition string, value any) error {
	_, err := tx.Exec(ctx, `UPDATE token_sessions SET revoked_at = ? WHERE org_id = ? AND method = 'sso' AND revoked_at IS NULL
		AND EXISTS (SELECT 1 FROM identity_bindings b WHERE b.org_id = token_sessions.org_id AND b.issuer = token_sessions.issuer
		AND b.subject = token_sessions.subject AND `+condition+")", sqldb.Micros(s.db.Clock()), org, value)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "DELETE FROM identity_bindings AS b WHERE b.org_id = ? AND "+condition, org, value)
	return err
}
