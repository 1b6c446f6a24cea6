package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// AddMember needs users:write, and a role that exceeds neither the actor's nor the scopes of
// its credential.
func (s *Store) AddMember(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (catalog.Membership,
	error) {
	if _, err := mayAdd(ctx, org, role); err != nil {
		return catalog.Membership{}, err
	}
	return s.inner.AddMember(ctx, org, user, role)
}

// AddPerson needs users:write, and a role as for AddMember.
func (s *Store) AddPerson(ctx context.Context, org catalog.OrgID, person catalog.NewUser, role catalog.Role) (none catalog.Membership,
	err error) {
	a, err := mayAdd(ctx, org, role)
	if err != nil {
		return none, err
	}
	m, err := s.inner.AddPerson(ctx, org, person, role)
	return a.redact(m), err
}

// mayAdd checks that the actor may add members with a role.
func mayAdd(ctx context.Context, org catalog.OrgID, role catalog.Role) (actor, error) {
	a, err := actorFrom(ctx)
	if err == nil {
		err = a.in(org, auth.ScopeUsersWrite)
	}
	if err == nil {
		err = a.confers(auth.Role(role), "")
	}
	return a, err
}

// Membership needs org:read, or a scope that implies decisions about members. Policies
// use attributes, so the attributes of others are omitted without rls_policies:read.
func (s *Store) Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (none catalog.Membership, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if a.isUser(user) {
		err = a.in(org)
	} else {
		err = a.in(org, auth.ScopeOrgRead, auth.ScopeUsersWrite, auth.ScopePoliciesRead, auth.ScopePoliciesWrite)
	}
	if err != nil {
		return none, err
	}
	m, err := s.inner.Membership(ctx, org, user)
	return a.redact(m), err
}

// ListMembers needs org:read; see Membership for attributes.
func (s *Store) ListMembers(ctx context.Context, org catalog.OrgID, page catalog.Page) (none catalog.List[catalog.Membership], err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org, auth.ScopeOrgRead, auth.ScopeUsersWrite); err != nil {
		return none, err
	}
	members, err := s.inner.ListMembers(ctx, org, page)
	for i, m := range members.Items {
		members.Items[i] = a.redact(m)
	}
	return members, err
}

// redact returns a membership as the actor may see it.
func (a actor) redact(m catalog.Membership) catalog.Membership {
	if !a.isUser(m.User) && a.in(m.Org, auth.ScopePoliciesRead, auth.ScopePoliciesWrite) != nil {
		m.Attributes = map[string]string{}
	}
	return m
}

// SetMemberRole needs users:write. Neither the new nor the current role may exceed the
// actor's, and the member gets no scopes that the actor's credential lacks.
func (s *Store) SetMemberRole(ctx context.Context, org catalog.OrgID, user catalog.UserID, role catalog.Role) (none catalog.Membership,
	err error) {
	a, before, err := s.overMember(ctx, org, user)
	if err != nil {
		return none, err
	}
	if err := a.confers(auth.Role(role), before); err != nil {
		return none, err
	}
	return s.inner.SetMemberRole(ctx, org, user, role)
}

// RemoveMember needs users:write, and a member whose role does not exceed the actor's. A person
// who has signed in may leave without users:write.
func (s *Store) RemoveMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	if a.isUser(user) && a.in(org) == nil && a.in(org, auth.ScopeUsersWrite) != nil {
		err = s.signedIn(ctx, a, user)
	} else {
		_, _, err = s.overMember(ctx, org, user)
	}
	if err != nil {
		return err
	}
	return s.inner.RemoveMember(ctx, org, user)
}

// overMember checks that the actor may manage a member, and returns the member's role.
func (s *Store) overMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) (a actor, role auth.Role, err error) {
	a, err = actorFrom(ctx)
	if err != nil || a.system {
		return a, "", err
	}
	if err := a.in(org, auth.ScopeUsersWrite); err != nil {
		return a, "", err
	}
	m, err := s.inner.Membership(ctx, org, user)
	if err != nil {
		return a, "", err
	}
	role = auth.Role(m.Role)
	return a, role, a.grants(role, a.principal.Role)
}

// ReplaceAttributes needs rls_policies:write, even for the actor's own attributes.
func (s *Store) ReplaceAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	attributes map[string]string) (catalog.Membership, error) {
	if err := inOrg(ctx, org, auth.ScopePoliciesWrite); err != nil {
		return catalog.Membership{}, err
	}
	return s.inner.ReplaceAttributes(ctx, org, user, attributes)
}

// ChangeAttributes is for the system, which has the claims of a sign-in.
func (s *Store) ChangeAttributes(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	changes map[string]*string) (catalog.Membership, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Membership{}, err
	}
	return s.inner.ChangeAttributes(ctx, org, user, changes)
}
