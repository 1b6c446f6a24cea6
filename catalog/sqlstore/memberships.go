package sqlstore

import (
	"context"
	"maps"

	"github.com/lakewarden/lakewarden/catalog"
)

const selectMembership = `SELECT m.org_id, m.user_id, u.email, u.display_name, m.role, m.attributes, m.created_at, m.updated_at
	FROM memberships m JOIN users u ON u.id = m.user_id`

func scanMembership(r row) (m catalog.Membership, err error) {
	err = r.Scan(&m.Org, &m.User, &m.Email, &m.DisplayName, &m.Role, jsonAt(&m.Attributes),
		timeAt(&m.CreatedAt), timeAt(&m.UpdatedAt))
	return m, err
}

func membership(ctx context.Context, s session, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	return one(ctx, s, scanMembership,
		selectMembership+" WHERE m.org_id = ? AND m.user_id = ? AND "+liveOrg("m.org_id"), org, user)
}

func addMember(ctx context.Context, tx session, org catalog.OrgID, user catalog.UserID, role catalog.Role, now int64) error {
	return tx.insert(ctx, "user_id", `INSERT INTO memberships (org_id, user_id, role, attributes, created_at, updated_at)
		VALUES (?, ?, ?, '{}', ?, ?)`, org, user, role, now, now)
}

// AddMember implements [catalog.Memberships].
func (s *Store) AddMember(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (added catalog.Membership,
	err error) {
	if err := catalog.ValidateRole("role", role); err != nil {
		return added, err
	}
	err = s.db.change(ctx, func(tx session) error {
		if _, err := organisation(ctx, tx, org); err != nil {
			return err
		}
		if err := addMember(ctx, tx, org, user, role, micros(s.db.clock())); err != nil {
			return err
		}
		added, err = membership(ctx, tx, org, user)
		return err
	})
	return added, err
}

// Membership implements [catalog.Memberships].
func (s *Store) Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	return membership(ctx, s.db.read(), org, user)
}

// ListMembers implements [catalog.Memberships].
func (s *Store) ListMembers(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Membership], error) {
	var w where
	w.and("m.org_id = ? AND "+liveOrg("m.org_id"), org)
	return memberOrder().fetch(ctx, s.db.read(), page, scanMembership, selectMembership, w)
}

func memberOrder() paging[catalog.Membership] {
	return paging[catalog.Membership]{
		list: "members", key: "u.email", id: "m.user_id",
		position: func(m catalog.Membership) (string, string) { return m.Email, string(m.User) },
	}
}

// SetMemberRole implements [catalog.Memberships].
func (s *Store) SetMemberRole(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (updated catalog.Membership,
	err error) {
	if err := catalog.ValidateRole("role", role); err != nil {
		return updated, err
	}
	err = s.db.change(ctx, func(tx session) error {
		m, err := membership(ctx, tx, org, user)
		if err != nil {
			return err
		}
		if updated = m; m.Role == role {
			return errUnchanged
		}
		if m.Role == catalog.RoleAdmin {
			if err := spareAdmin(ctx, tx, org, user); err != nil {
				return err
			}
		}
		_, err = tx.exec(ctx, "UPDATE memberships SET role = ?, updated_at = ? WHERE org_id = ? AND user_id = ?",
			role, micros(s.db.clock()), org, user)
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
func spareAdmin(ctx context.Context, tx session, org catalog.OrgID, user catalog.UserID) error {
	o, err := organisation(ctx, tx, org)
	if err == nil && o.Owner == user {
		err = catalog.ErrLastAdmin
	}
	return err
}

// RemoveMember implements [catalog.Memberships].
func (s *Store) RemoveMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) error {
	return s.db.change(ctx, func(tx session) error {
		if _, err := membership(ctx, tx, org, user); err != nil {
			return err
		}
		if err := spareAdmin(ctx, tx, org, user); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `DELETE FROM workspace_members WHERE user_id = ?
			AND workspace_id IN (SELECT w.id FROM workspaces w WHERE w.org_id = ?)`, user, org)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, "UPDATE api_keys SET revoked_at = ? WHERE org_id = ? AND user_id = ? AND revoked_at IS NULL",
			micros(s.db.clock()), org, user)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, "DELETE FROM memberships WHERE org_id = ? AND user_id = ?", org, user)
		return err
	})
}

// ReplaceAttributes implements [catalog.Memberships].
func (s *Store) ReplaceAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	attributes map[string]string) (updated catalog.Membership, err error) {
	if err := catalog.ValidateAttributes(attributes); err != nil {
		return updated, err
	}
	if attributes == nil {
		attributes = map[string]string{}
	}
	err = s.db.change(ctx, func(tx session) error {
		if updated, err = membership(ctx, tx, org, user); err != nil {
			return err
		}
		if maps.Equal(updated.Attributes, attributes) {
			return errUnchanged
		}
		_, err = tx.exec(ctx, "UPDATE memberships SET attributes = ?, updated_at = ? WHERE org_id = ? AND user_id = ?",
			jsonText(attributes), micros(s.db.clock()), org, user)
		if err != nil {
			return err
		}
		updated, err = membership(ctx, tx, org, user)
		return err
	})
	return updated, err
}
