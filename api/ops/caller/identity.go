package caller

import (
	"context"

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
