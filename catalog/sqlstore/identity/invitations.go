package identity

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const (
	invitationColumns = `i.id, i.org_id, i.email, i.role, i.invited_by, b.display_name,
		CASE WHEN b.kind = 'person' THEN b.email ELSE '' END, i.created_at, i.expires_at`
	fromInvitations  = " FROM invitations i JOIN users b ON b.id = i.invited_by"
	selectInvitation = "SELECT " + invitationColumns + fromInvitations
	invitationOpen   = "i.accepted_at IS NULL AND i.revoked_at IS NULL"
)

func invitationDest(i *catalog.Invitation) []any {
	return []any{&i.ID, &i.Org, &i.Email, &i.Role, &i.InvitedBy, &i.InviterName, &i.InviterEmail, sqldb.Time(&i.CreatedAt),
		sqldb.Time(&i.ExpiresAt)}
}

func scanInvitation(r sqldb.Row) (i catalog.Invitation, err error) {
	err = r.Scan(invitationDest(&i)...)
	return i, err
}

// CreateInvitation implements [catalog.Invitations]. The membership of the inviter is
// read in the transaction that serialises changes of memberships, which revoke
// invitations. So no open invitation is by somebody who is no administrator.
func (s *Store) CreateInvitation(ctx context.Context, n catalog.NewInvitation) (created catalog.Invitation, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.InvitationID]()
	}
	n.Email = catalog.NormaliseEmail(n.Email)
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, n.Org); err != nil {
			return err
		}
		_, err := sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT 1 FROM memberships m WHERE m.org_id = ? AND m.user_id = ? AND m.role = ?",
			n.Org, n.InvitedBy, catalog.RoleAdmin)
		if err != nil {
			return err
		}
		members, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM memberships m JOIN users u ON u.id = m.user_id
			WHERE m.org_id = ? AND u.email = ?`, n.Org, n.Email)
		switch {
		case err != nil:
			return err
		case members > 0:
			return &catalog.ExistsError{Field: "email"}
		}
		bound, err := lifetimes.Of(ctx, tx, s.db.Clock(), n.Maker)
		if err != nil {
			return err
		}
		n.ExpiresAt = bound.Cut(n.ExpiresAt)
		_, err = tx.Exec(ctx, `UPDATE invitations SET revoked_at = ?
			WHERE org_id = ? AND email = ? AND accepted_at IS NULL AND revoked_at IS NULL`, now, n.Org, n.Email)
		if err != nil {
			return err
		}
		err = tx.Insert(ctx, "token_hash", `INSERT INTO invitations (id, org_id, email, role, token_hash, invited_by, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			n.ID, n.Org, n.Email, n.Role, n.TokenHash[:], n.InvitedBy, now, sqldb.Micros(n.ExpiresAt))
		if err != nil {
			return err
		}
		if err := lifetimes.Bind(ctx, tx, lifetimes.Invitation, string(n.ID), bound); err != nil {
			return err
		}
		created, err = invitation(ctx, tx, n.Org, n.ID)
		return err
	})
	return created, err
}

func invitation(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.InvitationID) (catalog.Invitation, error) {
	return sqldb.One(ctx, s, scanInvitation, selectInvitation+" WHERE i.org_id = ? AND i.id = ? AND "+invitationOpen+" AND "+
		sqldb.LiveOrg("i.org_id"), org, id)
}

// Invitation implements [catalog.Invitations].
func (s *Store) Invitation(ctx context.Context, org catalog.OrgID, id catalog.InvitationID) (catalog.Invitation, error) {
	return invitation(ctx, s.db.Read(), org, id)
}

// ListInvitations implements [catalog.Invitations].
func (s *Store) ListInvitations(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Invitation], error) {
	order := sqldb.Paging[catalog.Invitation]{
		List: "invitations", Key: "i.created_at", ID: "i.id", Number: true,
		Position: func(i catalog.Invitation) (string, string) { return sqldb.TimeKey(i.CreatedAt), string(i.ID) },
	}
	var w sqldb.Where
	w.And("i.org_id = ? AND "+invitationOpen+" AND "+sqldb.LiveOrg("i.org_id"), org)
	return order.Fetch(ctx, s.db.Read(), page, scanInvitation, selectInvitation, w)
}

// RevokeInvitation implements [catalog.Invitations].
func (s *Store) RevokeInvitation(ctx context.Context, org catalog.OrgID, id catalog.InvitationID) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := invitation(ctx, tx, org, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE invitations SET revoked_at = ? WHERE org_id = ? AND id = ?", sqldb.Micros(s.db.Clock()), org, id)
		return err
	})
}

// InvitationByToken implements [catalog.Invitations].
func (s *Store) InvitationByToken(ctx context.Context, tokenHash [32]byte) (catalog.OpenInvitation, error) {
	return s.invitationByToken(ctx, s.db.Read(), tokenHash)
}

func (s *Store) invitationByToken(ctx context.Context, session sqldb.Session, tokenHash [32]byte) (catalog.OpenInvitation, error) {
	scan := func(r sqldb.Row) (i catalog.OpenInvitation, err error) {
		err = r.Scan(append(invitationDest(&i.Invitation), &i.Organisation, &i.Password)...)
		return i, err
	}
	return sqldb.One(ctx, session, scan, "SELECT "+invitationColumns+`, o.name,
		EXISTS (SELECT 1 FROM users u JOIN passwords p ON p.user_id = u.id WHERE u.email = i.email)
		`+fromInvitations+` JOIN organisations o ON o.id = i.org_id
		WHERE i.token_hash = ? AND i.expires_at > ? AND o.deleted_at IS NULL AND `+invitationOpen,
		tokenHash[:], sqldb.Micros(s.db.Clock()))
}

// AcceptInvitation implements [catalog.Invitations].
func (s *Store) AcceptInvitation(ctx context.Context, tokenHash [32]byte, user catalog.UserID) (accepted catalog.Invitation, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		open, err := s.invitationByToken(ctx, tx, tokenHash)
		if err != nil {
			return err
		}
		_, err = sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT 1 FROM users u WHERE u.id = ? AND u.email = ? AND u.kind = ?",
			user, open.Email, catalog.UserPerson)
		if err != nil {
			return err
		}
		accepted = open.Invitation
		return s.join(ctx, tx, accepted, user)
	})
	return accepted, err
}

// AcceptInvitationWithPassword implements [catalog.Invitations].
func (s *Store) AcceptInvitationWithPassword(ctx context.Context, tokenHash [32]byte, person catalog.NewPerson) (
	accepted catalog.Invitation, user catalog.UserID, err error) {
	if err := person.Validate(); err != nil {
		return accepted, "", err
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		open, err := s.invitationByToken(ctx, tx, tokenHash)
		switch {
		case err != nil:
			return err
		case open.Password:
			return &catalog.ExistsError{Field: "password"}
		}
		user, err = sqldb.One(ctx, tx, sqldb.Value[catalog.UserID], "SELECT u.id FROM users u WHERE u.email = ?", open.Email)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			n := catalog.NewUser{Email: open.Email}.Complete()
			user = n.ID
			err = tx.Insert(ctx, "email", `INSERT INTO users (id, kind, email, display_name, version, created_at, updated_at)
				VALUES (?, ?, ?, '', 1, ?, ?)`, user, n.Kind, n.Email, now, now)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE users SET display_name = ?, version = version + 1, updated_at = ? WHERE id = ? AND display_name = ''`,
			person.DisplayName, now, user)
		if err != nil {
			return err
		}
		err = tx.Insert(ctx, "password", "INSERT INTO passwords (user_id, hash, changed_at) VALUES (?, ?, ?)", user, person.PasswordHash, now)
		if err != nil {
			return err
		}
		accepted = open.Invitation
		return s.join(ctx, tx, accepted, user)
	})
	return accepted, user, err
}

// join makes a user a member and closes the invitation.
func (s *Store) join(ctx context.Context, tx sqldb.Session, i catalog.Invitation, user catalog.UserID) error {
	now := sqldb.Micros(s.db.Clock())
	_, err := tx.Exec(ctx, `INSERT INTO memberships (org_id, user_id, role, attributes, created_at, updated_at)
		VALUES (?, ?, ?, '{}', ?, ?) ON CONFLICT (org_id, user_id) DO NOTHING`, i.Org, user, i.Role, now, now)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE invitations SET accepted_at = ? WHERE org_id = ? AND id = ?", now, i.Org, i.ID)
	return err
}
