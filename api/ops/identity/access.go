package identity

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// AccessStore is the part of the catalog that [Access] reads.
type AccessStore interface {
	Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
	SSOConfig(ctx context.Context, org catalog.OrgID) (catalog.SSOConfig, error)
	EmailDomains(ctx context.Context, org catalog.OrgID) ([]catalog.EmailDomain, error)
	Organisation(ctx context.Context, org catalog.OrgID) (catalog.Organisation, error)
	IdentityBinding(ctx context.Context, org catalog.OrgID, issuer, subject string) (catalog.IdentityBinding, error)
	ListUserOrganisations(ctx context.Context, user catalog.UserID, page catalog.Page) (catalog.List[catalog.UserOrganisation], error)
}

// Access decides in which organisations a sign-in acts. It is asked when a code or token is
// issued, and at every refresh.
type Access struct{ Store AccessStore }

// AccessError is a refusal: 403.
type AccessError struct {
	code, text string
	// Org is the organisation that refused.
	Org uuid.UUID
	// Name is its name for a member who needs its single sign-on; otherwise empty.
	Name string
}

// Error implements error.
func (e *AccessError) Error() string { return e.text }

// ProblemCode names the line in the table of errors.
func (e *AccessError) ProblemCode() string { return e.code }

// FieldProblems yields the organisation with the reason, for the reply to a member.
func (e *AccessError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if e.Name != "" {
			yield("organisations."+e.Org.String(), e.text)
		}
	}
}

// Unwrap returns [auth.ErrForbidden].
func (e *AccessError) Unwrap() error { return auth.ErrForbidden }

// Allow returns the user's role in an organisation if a session may act there.
//
// It returns [auth.ErrNoMember] for a user who is not a member. It returns a [*AccessError] for a
// session of another organisation, for a password where single sign-on is required, and for a
// single sign-on that does not count any more. A single sign-on counts while the organisation's
// configuration names its issuer, the domain of the user's e-mail address is verified, and the
// subject is bound to the user. Other errors are those of the catalog; if it is unavailable, they
// also wrap [auth.ErrUnavailable].
func (a Access) Allow(ctx context.Context, of session.Session, org uuid.UUID) (auth.Role, error) {
	if of.Org != uuid.Nil && of.Org != org {
		return "", &AccessError{"forbidden", "the session is limited to another organisation", org, ""}
	}
	ctx = authz.System(ctx, "access")
	member, err := a.Store.Membership(ctx, catalog.OrgID(org.String()), catalog.UserID(of.User.String()))
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		err = auth.ErrNoMember
	case err == nil:
		err = a.decide(ctx, of, org, member)
	}
	if err != nil {
		return "", unavailable(err)
	}
	return auth.Role(member.Role), nil
}

// OpenTo returns the organisations in which a session may act and that allow open clients.
func (a Access) OpenTo(ctx context.Context, of session.Session) (open []session.Organisation, err error) {
	system := authz.System(ctx, "access")
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.UserOrganisation], error) {
		return a.Store.ListUserOrganisations(system, catalog.UserID(of.User.String()), page)
	}, func(o catalog.UserOrganisation) error {
		id, err := uuid.Parse(string(o.ID))
		if err != nil || !o.DeletedAt.IsZero() || of.Org != uuid.Nil && of.Org != id {
			return err
		}
		_, err = a.Allow(ctx, of, id)
		if errors.Is(err, auth.ErrForbidden) || errors.Is(err, auth.ErrUnauthenticated) {
			return nil
		}
		if err != nil {
			return err
		}
		found, err := a.Store.Organisation(system, o.ID)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		if err == nil && found.Config.ClientPolicy() == catalog.ClientsOpen {
			open = append(open, session.Organisation{ID: id, Name: o.Name})
		}
		return err
	})
	return open, unavailable(err)
}

// unavailable adds [auth.ErrUnavailable] to an error of a catalog that cannot be reached.
func unavailable(err error) error {
	if errors.Is(err, catalog.ErrUnavailable) {
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return err
}

func (a Access) decide(ctx context.Context, of session.Session, org uuid.UUID, member catalog.Membership) error {
	switch of.Method {
	case session.MethodClient:
		return nil
	case session.MethodPassword:
		_, domains, err := a.verified(ctx, member.Org)
		if err == nil && len(domains) > 0 {
			err = a.singleSignOnRequired(ctx, org, member, domains)
		}
		return err
	case session.MethodSSO:
		issuer, domains, err := a.verified(ctx, member.Org)
		current := err == nil && issuer == of.Issuer && domains[domainOf(member.Email)]
		if current { // a session of an earlier release may have found the user by the address alone
			var bound catalog.IdentityBinding
			bound, err = a.Store.IdentityBinding(ctx, member.Org, of.Issuer, of.Subject)
			current, err = bound.User == member.User, ignoreMissing(err)
		}
		if err == nil && !current {
			err = &AccessError{"sign_in_refused", "the organisation has ended this single sign-on", org, ""}
		}
		return err
	}
	return &AccessError{"forbidden", "unknown method of sign-in", org, ""}
}

// singleSignOnRequired returns the refusal of a password. A guest, whose address belongs to none of
// the organisation's domains, cannot use the single sign-on either.
func (a Access) singleSignOnRequired(ctx context.Context, org uuid.UUID, member catalog.Membership, domains map[string]bool) error {
	o, err := a.Store.Organisation(ctx, member.Org)
	if err != nil {
		return err
	}
	text := "the organisation " + o.Name + " (" + org.String() + ") requires single sign-on"
	if !domains[domainOf(member.Email)] {
		text += ", for which the e-mail address must belong to one of its domains; ask an administrator for such an account"
	}
	return &AccessError{"sso_required", text, org, o.Name}
}

// owns reports whether an organisation with a provider has verified the domain of a member's
// address.
func (a Access) owns(ctx context.Context, org catalog.OrgID, user catalog.UserID) (bool, error) {
	member, err := a.Store.Membership(ctx, org, user)
	if errors.Is(err, catalog.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, domains, err := a.verified(ctx, org)
	return domains[domainOf(member.Email)], err
}

// verified returns the issuer and the verified domains of an organisation that has a
// provider; otherwise none.
func (a Access) verified(ctx context.Context, org catalog.OrgID) (issuer string, verified map[string]bool, err error) {
	config, err := a.Store.SSOConfig(ctx, org)
	if errors.Is(err, catalog.ErrNotFound) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	domains, err := a.Store.EmailDomains(ctx, org)
	verified = map[string]bool{}
	for _, d := range domains {
		if d.Verified() {
			verified[d.Domain] = true
		}
	}
	return config.Issuer, verified, err
}

// domainOf returns the domain of a normalised e-mail address.
func domainOf(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }
