package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// CreateInvitation needs users:write, and a role that does not exceed the actor's.
func (s *Store) CreateInvitation(ctx context.Context, invitation catalog.NewInvitation) (none catalog.Invitation, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(invitation.Org, auth.ScopeUsersWrite); err != nil {
		return none, err
	}
	if err := a.signs(invitation.InvitedBy); err != nil {
		return none, err
	}
	if err := a.confers(auth.Role(invitation.Role), ""); err != nil {
		return none, err
	}
	if !a.system {
		invitation.Maker = a.maker()
	}
	return s.inner.CreateInvitation(ctx, invitation)
}

// Invitation needs users:write.
func (s *Store) Invitation(ctx context.Context, org catalog.OrgID, invitation catalog.InvitationID) (catalog.Invitation, error) {
	if err := inOrg(ctx, org, auth.ScopeUsersWrite); err != nil {
		return catalog.Invitation{}, err
	}
	return s.inner.Invitation(ctx, org, invitation)
}

// ListInvitations needs users:write.
func (s *Store) ListInvitations(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Invitation], error) {
	if err := inOrg(ctx, org, auth.ScopeUsersWrite); err != nil {
		return catalog.List[catalog.Invitation]{}, err
	}
	return s.inner.ListInvitations(ctx, org, page)
}

// RevokeInvitation needs users:write.
func (s *Store) RevokeInvitation(ctx context.Context, org catalog.OrgID, invitation catalog.InvitationID) error {
	if err := inOrg(ctx, org, auth.ScopeUsersWrite); err != nil {
		return err
	}
	return s.inner.RevokeInvitation(ctx, org, invitation)
}

// InvitationByToken is for the system: whoever has the token is not signed in yet.
func (s *Store) InvitationByToken(ctx context.Context, tokenHash [32]byte) (catalog.OpenInvitation, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.OpenInvitation{}, err
	}
	return s.inner.InvitationByToken(ctx, tokenHash)
}

// AcceptInvitation is for the invited person, signed in. The store compares the address.
func (s *Store) AcceptInvitation(ctx context.Context, tokenHash [32]byte, user catalog.UserID) (none catalog.Invitation, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := s.signedInFreely(ctx, a, user); err != nil {
		return none, err
	}
	return s.inner.AcceptInvitation(ctx, tokenHash, user)
}

// AcceptInvitationWithPassword is for the system: whoever has the token is not signed in
// yet.
func (s *Store) AcceptInvitationWithPassword(ctx context.Context, tokenHash [32]byte, person catalog.NewPerson) (catalog.Invitation,
	catalog.UserID, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Invitation{}, "", err
	}
	return s.inner.AcceptInvitationWithPassword(ctx, tokenHash, person)
}
