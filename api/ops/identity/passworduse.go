package identity

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// MembershipLister lists the organisations of a person.
type MembershipLister interface {
	ListUserOrganisations(ctx context.Context, user catalog.UserID, page catalog.Page) (catalog.List[catalog.UserOrganisation], error)
}

// PasswordAccess implements [PasswordUse] by the organisations of a person.
type PasswordAccess struct {
	Store  MembershipLister
	Access Access
}

var errUsable = errors.New("a password is of use")

// PasswordUsable implements [PasswordUse]. A password is of use to a person in no
// organisation, who may create one, to the owner of a deleted organisation, who may restore
// it, and in an organisation without single sign-on. Only an organisation that has verified
// the domain of the person's address can take that away: others cannot sign the person in.
func (p PasswordAccess) PasswordUsable(ctx context.Context, user catalog.UserID) (bool, error) {
	ctx = authz.System(ctx, "password")
	id, err := uuid.Parse(string(user))
	if err != nil {
		return false, err
	}
	claimed := false
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.UserOrganisation], error) {
		return p.Store.ListUserOrganisations(ctx, user, page)
	}, func(o catalog.UserOrganisation) error {
		if !o.DeletedAt.IsZero() {
			return errUsable
		}
		org, err := uuid.Parse(string(o.ID))
		if err != nil {
			return err
		}
		_, err = p.Access.Allow(ctx, session.Session{User: id, Method: session.MethodPassword}, org)
		switch {
		case err == nil:
			return errUsable
		case errors.Is(err, auth.ErrForbidden):
			owns, err := p.Access.owns(ctx, o.ID, user)
			claimed = claimed || owns
			return err
		case errors.Is(err, auth.ErrNoMember):
			return nil
		}
		return err
	})
	if errors.Is(err, errUsable) {
		return true, nil
	}
	return !claimed, err
}
