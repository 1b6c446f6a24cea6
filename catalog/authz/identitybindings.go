package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// IdentifySubject is for the system, which has verified the claim.
func (s *Store) IdentifySubject(ctx context.Context, org catalog.OrgID, claim catalog.SubjectClaim) (catalog.IdentifiedSubject, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.IdentifiedSubject{}, err
	}
	return s.inner.IdentifySubject(ctx, org, claim)
}

// IdentityBinding is for the system, which decides about sign-ins.
func (s *Store) IdentityBinding(ctx context.Context, org catalog.OrgID, issuer, subject string) (catalog.IdentityBinding, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.IdentityBinding{}, err
	}
	return s.inner.IdentityBinding(ctx, org, issuer, subject)
}

// BindIdentity needs users:write, and a member whose role does not exceed the actor's. Whoever
// signs in as the subject is the member from then on, for good: so the credential must hold all
// scopes of its role and must not be a program's, and nobody but the owner binds the owner.
func (s *Store) BindIdentity(ctx context.Context, n catalog.NewIdentityBinding) (none catalog.IdentityBinding, err error) {
	a, _, err := s.overMember(ctx, n.Org, n.User)
	if err != nil {
		return none, err
	}
	if !a.system {
		if err := s.mayBind(ctx, a, n); err != nil {
			return none, err
		}
		n.Method, n.By, n.Maker = catalog.BoundByAdministrator, a.viewer.User, a.maker()
	}
	return s.inner.BindIdentity(ctx, n)
}

func (s *Store) mayBind(ctx context.Context, a actor, n catalog.NewIdentityBinding) error {
	if err := a.holdsRole(); err != nil {
		return err
	}
	if a.principal.Method != auth.MethodAPIKey {
		if err := s.signedIn(ctx, a, a.viewer.User); err != nil {
			return err
		}
	}
	org, err := s.inner.Organisation(ctx, n.Org)
	if err == nil && org.Owner == n.User && !a.isUser(n.User) {
		err = &catalog.DeniedError{Reason: "not_owner"}
	}
	return err
}

// ListIdentityBindings needs users:write.
func (s *Store) ListIdentityBindings(ctx context.Context, org catalog.OrgID, user catalog.UserID) ([]catalog.IdentityBinding, error) {
	if err := inOrg(ctx, org, auth.ScopeUsersWrite); err != nil {
		return nil, err
	}
	return s.inner.ListIdentityBindings(ctx, org, user)
}

// ReleaseIdentityBinding needs users:write. The role of the user, if it is a member, must not exceed
// that of the actor.
func (s *Store) ReleaseIdentityBinding(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	binding catalog.IdentityID) (none catalog.IdentityBinding, err error) {
	if err := inOrg(ctx, org, auth.ScopeUsersWrite); err != nil {
		return none, err
	}
	if _, _, err := s.overMember(ctx, org, user); err != nil && !isNotFound(err) {
		return none, err
	}
	return s.inner.ReleaseIdentityBinding(ctx, org, user, binding)
}

// ReleaseIdentityBindings needs users:write, and the strongest role, because it is about members
// of every role.
func (s *Store) ReleaseIdentityBindings(ctx context.Context, org catalog.OrgID, issuer string, dryRun bool) (int64, error) {
	a, err := actorFrom(ctx)
	if err == nil {
		err = a.in(org, auth.ScopeUsersWrite)
	}
	if err == nil {
		err = a.grants(auth.RoleAdmin, a.principal.Role)
	}
	if err != nil {
		return 0, err
	}
	return s.inner.ReleaseIdentityBindings(ctx, org, issuer, dryRun)
}
