package authz

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

func isNotFound(err error) bool { return errors.Is(err, catalog.ErrNotFound) }

// CreateOrganisation is for people who have signed in, who become the owners.
func (s *Store) CreateOrganisation(ctx context.Context, org catalog.NewOrganisation) (none catalog.Organisation, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := s.signedInFreely(ctx, a, org.Owner); err != nil {
		return none, err
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

// ListUserOrganisations lists those of the actor. A person who has signed in sees all of
// them. A credential for one organisation, such as an API key, sees only that one, so
// that a page can be shorter than requested.
func (s *Store) ListUserOrganisations(ctx context.Context, user catalog.UserID,
	page catalog.Page) (none catalog.List[catalog.UserOrganisation], err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.signs(user); err != nil {
		return none, err
	}
	list, err := s.inner.ListUserOrganisations(ctx, user, page)
	if !a.system && (!a.principal.SignedIn() || a.principal.Confined) {
		list.Items = slices.DeleteFunc(list.Items, func(o catalog.UserOrganisation) bool { return o.ID != a.viewer.Org })
	}
	return list, err
}

// FirstOrganisation is for the system.
func (s *Store) FirstOrganisation(ctx context.Context) (catalog.OrgID, error) {
	if err := systemOnly(ctx); err != nil {
		return "", err
	}
	return s.inner.FirstOrganisation(ctx)
}

// UpdateOrganisation needs org:update. Only the owner, signed in, may name another owner.
func (s *Store) UpdateOrganisation(ctx context.Context, org catalog.OrgID, expectedVersion int64,
	change catalog.OrganisationChange) (none catalog.Organisation, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org, auth.ScopeOrgUpdate); err != nil {
		return none, err
	}
	if change.Owner != nil {
		if err := s.signedInOwner(ctx, a, org); err != nil {
			return none, err
		}
	}
	return s.inner.UpdateOrganisation(ctx, org, expectedVersion, change)
}

// DeleteOrganisation is for the owner, signed in.
func (s *Store) DeleteOrganisation(ctx context.Context, org catalog.OrgID, expectedVersion int64) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	if err := a.in(org, auth.ScopeOrgUpdate); err != nil {
		return err
	}
	if err := s.signedInOwner(ctx, a, org); err != nil {
		return err
	}
	return s.inner.DeleteOrganisation(ctx, org, expectedVersion)
}

// signedInOwner denies every actor but the system and the owner of an organisation, signed
// in.
func (s *Store) signedInOwner(ctx context.Context, a actor, org catalog.OrgID) error {
	if a.system {
		return nil
	}
	current, err := s.inner.Organisation(ctx, org)
	if err != nil {
		return err
	}
	if !a.isUser(current.Owner) {
		return &catalog.DeniedError{Reason: "not_owner"}
	}
	return s.signedIn(ctx, a, current.Owner)
}

// UndeleteOrganisation is for the owner, signed in. To others the organisation does not
// exist.
func (s *Store) UndeleteOrganisation(ctx context.Context, org catalog.OrgID, owner catalog.UserID,
	since time.Time) (none catalog.Organisation, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := s.signedInFreely(ctx, a, owner); err != nil {
		return none, err
	}
	return s.inner.UndeleteOrganisation(ctx, org, owner, since)
}

// PurgeOrganisation is for the system.
func (s *Store) PurgeOrganisation(ctx context.Context, deletedBefore time.Time) (catalog.OrgID, error) {
	if err := systemOnly(ctx); err != nil {
		return "", err
	}
	return s.inner.PurgeOrganisation(ctx, deletedBefore)
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
	case change.Email != nil:
		return catalog.User{}, &catalog.DeniedError{Reason: "system_only"}
	default:
		if err := s.signedIn(ctx, a, user); err != nil {
			return catalog.User{}, err
		}
	}
	return s.inner.UpdateUser(ctx, user, expectedVersion, change)
}

// Holdings is for the person, signed in. They are those of all organisations.
func (s *Store) Holdings(ctx context.Context, user catalog.UserID) (none catalog.Holdings, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := s.signedInFreely(ctx, a, user); err != nil {
		return none, err
	}
	return s.inner.Holdings(ctx, user)
}

// DeletePerson is for the person, signed in.
func (s *Store) DeletePerson(ctx context.Context, user catalog.UserID) (none catalog.Holdings, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := s.signedInFreely(ctx, a, user); err != nil {
		return none, err
	}
	return s.inner.DeletePerson(ctx, user)
}
