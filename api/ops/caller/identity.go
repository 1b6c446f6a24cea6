package caller

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Identity is the caller of an operation, with the catalog's types.
type Identity struct {
	auth.Principal
	// Org is empty for a person whose token names no organisation.
	Org    catalog.OrgID
	User   catalog.UserID
	Viewer catalog.Viewer
}

// From returns the caller of ctx, or auth.ErrNoPrincipal.
func From(ctx context.Context) (Identity, error) {
	p, err := auth.PrincipalFrom(ctx)
	if err != nil {
		return Identity{}, err
	}
	viewer := authz.ViewerOf(p)
	a := Identity{Principal: p, Org: viewer.Org, User: viewer.User, Viewer: viewer}
	return a, nil
}

// In returns the caller if it acts in org. Other organisations are reported as missing,
// whether or not they exist.
func In(ctx context.Context, org catalog.OrgID) (Identity, error) {
	a, err := From(ctx)
	if err != nil {
		return a, err
	}
	if a.Org == "" || a.Org != org {
		return a, catalog.ErrNotFound
	}
	return a, nil
}

// memberships reads members.
type memberships interface {
	Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
}

// Author returns the member who began work that another replica resumes, with the rights of its
// role now, except rls_policies:write: the credential, which may have lacked it, is not recorded.
// A former member has no rights. Whether the scopes permit the work must be checked in a context
// with the principal, because a system context permits everything.
func Author(ctx context.Context, store memberships, org catalog.OrgID, user catalog.UserID) (Identity, error) {
	a := Identity{Org: org, User: user, Viewer: catalog.MemberViewer(org, user)}
	member, err := store.Membership(authz.System(ctx, "author of resumed work"), org, user)
	if errors.Is(err, catalog.ErrNotFound) {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	a.Method, a.AllWorkspaces, a.Role = auth.MethodAPIKey, true, auth.Role(member.Role)
	a.Granted = auth.RoleAdmin.Scopes().Minus(auth.NewScopeSet(auth.ScopePoliciesWrite))
	a.Scopes = a.Granted.Intersect(a.Role.Scopes())
	if a.OrgID, err = uuid.Parse(string(org)); err == nil {
		a.UserID, err = uuid.Parse(string(user))
	}
	return a, err
}
