package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// AddMember needs users:write, and no role above the actor's.
func (s *Store) AddMember(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (none catalog.Membership, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org, auth.ScopeUsersWrite); err != nil {
		return none, err
	}
	if err := a.grants(auth.Role(role), a.principal.Role); err != nil {
		return none, err
	}
	return s.inner.AddMember(ctx, org, user, role)
}

// Membership is open to the member itself; that of others needs users:write or
// rls_policies:read, because attributes decide about data.
func (s *Store) Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (none catalog.Membership, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org); err != nil {
		return none, err
	}
	if !a.isUser(user) {
		if err := a.in(org, auth.ScopePoliciesRead, auth.ScopePoliciesWrite, auth.ScopeUsersWrite); err != nil {
			return none, err
		}
	}
	return s.inner.Membership(ctx, org, user)
}

// ListMembers needs users:write or rls_policies:read.
func (s *Store) ListMembers(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Membership], error) {
	if err := inOrg(ctx, org, auth.ScopePoliciesRead, auth.ScopePoliciesWrite, auth.ScopeUsersWrite); err != nil {
		return catalog.List[catalog.Membership]{}, err
	}
	return s.inner.ListMembers(ctx, org, page)
}

// SetMemberRole needs users:write, and neither the new nor the present role
// above the actor's.
func (s *Store) SetMemberRole(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (none catalog.Membership, err error) {
	a, err := s.overMember(ctx, org, user)
	if err != nil {
		return none, err
	}
	if err := a.grants(auth.Role(role), a.principal.Role); err != nil {
		return none, err
	}
	return s.inner.SetMemberRole(ctx, org, user, role)
}

// RemoveMember needs users:write, and no member above the actor.
func (s *Store) RemoveMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) error {
	if _, err := s.overMember(ctx, org, user); err != nil {
		return err
	}
	return s.inner.RemoveMember(ctx, org, user)
}

// overMember checks that the actor may manage a member.
func (s *Store) overMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) (actor, error) {
	a, err := actorFrom(ctx)
	if err != nil || a.system {
		return a, err
	}
	if err := a.in(org, auth.ScopeUsersWrite); err != nil {
		return a, err
	}
	m, err := s.inner.Membership(ctx, org, user)
	if err != nil {
		return a, err
	}
	return a, a.grants(auth.Role(m.Role), a.principal.Role)
}

// ReplaceAttributes needs rls_policies:write, also for the actor's own.
func (s *Store) ReplaceAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID, attributes map[string]string) (catalog.Membership, error) {
	if err := inOrg(ctx, org, auth.ScopePoliciesWrite); err != nil {
		return catalog.Membership{}, err
	}
	return s.inner.ReplaceAttributes(ctx, org, user, attributes)
}
