package sqlstore

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/people"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectMembership = `SELECT m.org_id, m.user_id, u.kind, u.email, u.display_name, m.role, m.attributes, m.created_at, m.updated_at
	FROM memberships m JOIN users u ON u.id = m.user_id`

func scanMembership(r sqldb.Row) (m catalog.Membership, err error) {
	err = r.Scan(&m.Org, &m.User, &m.Kind, &m.Email, &m.DisplayName, &m.Role, sqldb.JSON(&m.Attributes),
		sqldb.Time(&m.CreatedAt), sqldb.Time(&m.UpdatedAt))
	return m, err
}

func membership(ctx context.Context, s sqldb.Session, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	return sqldb.One(ctx, s, scanMembership,
		selectMembership+" WHERE m.org_id = ? AND m.user_id = ? AND "+sqldb.LiveOrg("m.org_id"), org, user)
}

func addMember(ctx context.Context, tx sqldb.Session, org catalog.OrgID, user catalog.UserID, role catalog.Role, now int64) error {
	if _, err := sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT 1 FROM users u WHERE u.id = ? AND u.deleted_at IS NULL", user); err != nil {
		return err
	}
	return tx.Insert(ctx, "user_id", `INSERT INTO memberships (org_id, user_id, role, attributes, created_at, updated_at)
		VALUES (?, ?, ?, '{}', ?, ?)`, org, user, role, now, now)
}

// AddMember implements [catalog.Memberships].
func (s *Store) AddMember(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (added catalog.Membership,
	err error) {
	if err := catalog.ValidateRole("role", role); err != nil {
		return added, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := organisation(ctx, tx, org); err != nil {
			return err
		}
		if err := addMember(ctx, tx, org, user, role, sqldb.Micros(s.db.Clock())); err != nil {
			return err
		}
		added, err = membership(ctx, tx, org, user)
		return err
	})
	return added, err
}

// AddPerson implements [catalog.Memberships].
func (s *Store) AddPerson(ctx context.Context, org catalog.OrgID, person catalog.NewUser, role catalog.Role) (added catalog.Membership,
	err error) {
	if err := catalog.ValidateMailbox("email", person.Email); err != nil {
		return added, err
	}
	if err := person.Validate(); err != nil {
		return added, err
	}
	if err := catalog.ValidateRole("role", role); err != nil {
		return added, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, org); err != nil {
			return err
		}
		email := catalog.NormaliseEmail(person.Email)
		members, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM memberships m JOIN users u ON u.id = m.user_id
			WHERE m.org_id = ? AND u.email = ?`, org, email)
		switch {
		case err != nil:
			return err
		case members > 0:
			return &catalog.ExistsError{Field: "email"}
		}
		if err := requireOwnAddress(ctx, tx, org, email); err != nil {
			return err
		}
		u, err := userByEmail(ctx, tx, email)
		if errors.Is(err, catalog.ErrNotFound) {
			u, err = s.insertUser(ctx, tx, person)
		}
		if err != nil {
			return err
		}
		if err := addMember(ctx, tx, org, u.ID, role, sqldb.Micros(s.db.Clock())); err != nil {
			return err
		}
		added, err = membership(ctx, tx, org, u.ID)
		return err
	})
	return added, err
}

// requireOwnAddress returns [catalog.ErrConsent] if a normalised address may be that of a
// person of others: the organisation has not verified its domain, and is not the only one.
func requireOwnAddress(ctx context.Context, tx sqldb.Session, org catalog.OrgID, email string) error {
	_, domain, _ := strings.Cut(email, "@")
	_, err := sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT 1 WHERE "+sqldb.OwnDomain, org, org, domain)
	if errors.Is(err, catalog.ErrNotFound) {
		return catalog.ErrConsent
	}
	return err
}

// Membership implements [catalog.Memberships].
func (s *Store) Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	return membership(ctx, s.db.Read(), org, user)
}

// ListMembers implements [catalog.Memberships].
func (s *Store) ListMembers(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Membership], error) {
	var w sqldb.Where
	w.And("m.org_id = ? AND "+sqldb.LiveOrg("m.org_id"), org)
	return memberOrder().Fetch(ctx, s.db.Read(), page, scanMembership, selectMembership, w)
}

func memberOrder() sqldb.Paging[catalog.Membership] {
	return sqldb.Paging[catalog.Membership]{
		List: "members", Key: "u.email", ID: "m.user_id",
		Position: func(m catalog.Membership) (string, string) { return m.Email, string(m.User) },
	}
}

// SetMemberRole implements [catalog.Memberships].
func (s *Store) SetMemberRole(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (updated catalog.Membership,
	err error) {
	if err := catalog.ValidateRole("role", role); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		m, err := membership(ctx, tx, org, user)
		if err != nil {
			return err
		}
		if updated = m; m.Role == role {
			return sqldb.ErrUnchanged
		}
		if m.Role == catalog.RoleAdmin {
			if err := spareAdmin(ctx, tx, org, user); err != nil {
				return err
			}
			if err := people.RevokeInvitations(ctx, tx, s.db.Clock(), org, user); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "UPDATE memberships SET role = ?, updated_at = ? WHERE org_id = ? AND user_id = ?",
			role, sqldb.Micros(s.db.Clock()), org, user)
		if err != nil {
			return err
		}
		updated, err = membership(ctx, tx, org, user)
		return err
	})
	return updated, err
}

// spareAdmin returns ErrLastAdmin for the owner. An owner is always an administrator
// and can be neither demoted nor removed, so an administrator always exists. The
// transaction holds the row of the epoch, so the ownership cannot change concurrently.
func spareAdmin(ctx context.Context, tx sqldb.Session, org catalog.OrgID, user catalog.UserID) error {
	o, err := organisation(ctx, tx, org)
	if err == nil && o.Owner == user {
		err = catalog.ErrLastAdmin
	}
	return err
}

// RemoveMember implements [catalog.Memberships].
func (s *Store) RemoveMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := membership(ctx, tx, org, user); err != nil {
			return err
		}
		if err := spareAdmin(ctx, tx, org, user); err != nil {
			return err
		}
		return people.EndMembership(ctx, tx, s.db.Clock(), org, user)
	})
}

// ReplaceAttributes implements [catalog.Memberships].
func (s *Store) ReplaceAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	attributes map[string]string) (catalog.Membership, error) {
	if err := catalog.ValidateAttributes(attributes); err != nil {
		return catalog.Membership{}, err
	}
	after := map[string]string{} // never nil
	maps.Copy(after, attributes)
	return s.changeAttributes(ctx, org, user, func(map[string]string) (map[string]string, error) { return after, nil })
}

// ChangeAttributes implements [catalog.Memberships].
func (s *Store) ChangeAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	changes map[string]*string) (catalog.Membership, error) {
	return s.changeAttributes(ctx, org, user, func(before map[string]string) (map[string]string, error) {
		after := maps.Clone(before)
		for name, value := range changes {
			if value == nil {
				delete(after, name)
			} else {
				after[name] = *value
			}
		}
		return after, catalog.ValidateAttributes(after)
	})
}

// changeAttributes replaces the attributes of a member with what change makes of them. The
// transaction holds the row of the epoch, so attributes cannot change in between.
func (s *Store) changeAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	change func(before map[string]string) (after map[string]string, err error)) (updated catalog.Membership, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if updated, err = membership(ctx, tx, org, user); err != nil {
			return err
		}
		after, err := change(updated.Attributes)
		if err != nil {
			return err
		}
		if maps.Equal(updated.Attributes, after) {
			return sqldb.ErrUnchanged
		}
		_, err = tx.Exec(ctx, "UPDATE memberships SET attributes = ?, updated_at = ? WHERE org_id = ? AND user_id = ?",
			sqldb.JSONText(after), sqldb.Micros(s.db.Clock()), org, user)
		if err != nil {
			return err
		}
		updated, err = membership(ctx, tx, org, user)
		return err
	})
	return updated, err
}
