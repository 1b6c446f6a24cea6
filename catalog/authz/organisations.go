package authz

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

func isNotFound(err error) bool { return errors.Is(err, catalog.ErrNotFound) }

// CreateOrganisation is for the system.
func (s *Store) CreateOrganisation(ctx context.Context, org catalog.NewOrganisation) (catalog.Organisation, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Organisation{}, err
	}
	return s.inner.CreateOrganisation(ctx, org)
}

// Organisation needs org:read.
func (s *Store) Organisation(ctx context.Context, org catalog.OrgID) (catalog.Organisation, error) {
	if err := inOrg(ctx, org, auth.ScopeOrgRead, auth.ScopeOrgUpdate); err != nil {
		return catalog.Organisation{}, err
	}
	return s.inner.Organisation(ctx, org)
}

// ListOrganisations is for the system.
func (s *Store) ListOrganisations(ctx context.Context, page catalog.Page) (catalog.List[catalog.Organisation], error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.List[catalog.Organisation]{}, err
	}
	return s.inner.ListOrganisations(ctx, page)
}

// UpdateOrganisation needs org:update. Only the owner may name another owner.
func (s *Store) UpdateOrganisation(ctx context.Context, org catalog.OrgID, expectedVersion int64,
	change catalog.OrganisationChange) (none catalog.Organisation, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org, auth.ScopeOrgUpdate); err != nil {
		return none, err
	}
	if change.Owner != nil && !a.system {
		current, err := s.inner.Organisation(ctx, org)
		if err != nil {
			return none, err
		}
		if !a.isUser(current.Owner) {
			return none, &catalog.DeniedError{Reason: "not_owner"}
		}
	}
	return s.inner.UpdateOrganisation(ctx, org, expectedVersion, change)
}

// DeleteOrganisation is for the system.
func (s *Store) DeleteOrganisation(ctx context.Context, org catalog.OrgID, expectedVersion int64) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.DeleteOrganisation(ctx, org, expectedVersion)
}

// CreateUser is for the system.
func (s *Store) CreateUser(ctx context.Context, user catalog.NewUser) (catalog.User, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.User{}, err
	}
	return s.inner.CreateUser(ctx, user)
}

// User is for the user itself. Others are known through their memberships.
func (s *Store) User(ctx context.Context, user catalog.UserID) (catalog.User, error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return catalog.User{}, err
	}
	if !a.system && !a.isUser(user) {
		return catalog.User{}, catalog.ErrNotFound
	}
	return s.inner.User(ctx, user)
}

// UserByEmail is for the system, because it reveals whether an address is known.
func (s *Store) UserByEmail(ctx context.Context, email string) (catalog.User, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.User{}, err
	}
	return s.inner.UserByEmail(ctx, email)
}

// UpdateUser lets signed-in people change their own display name. The address
// identifies a user, so only the system changes it, after verification.
func (s *Store) UpdateUser(ctx context.Context, user catalog.UserID, expectedVersion int64, change catalog.UserChange) (catalog.User,
	error) {
	a, err := actorFrom(ctx)
	switch {
	case err != nil:
		return catalog.User{}, err
	case a.system:
	case !a.isUser(user):
		return catalog.User{}, catalog.ErrNotFound
	case change.Email != nil || a.principal.Method != auth.MethodJWT:
		return catalog.User{}, &catalog.DeniedError{Reason: "system_only"}
	}
	return s.inner.UpdateUser(ctx, user, expectedVersion, change)
}
