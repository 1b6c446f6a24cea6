package ops

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Actor is the caller of an operation in the catalog's terms.
type Actor struct {
	auth.Principal
	Org    catalog.OrgID
	User   catalog.UserID
	Viewer catalog.Viewer
}

// ActorFrom returns the caller of ctx, or auth.ErrNoPrincipal.
func ActorFrom(ctx context.Context) (Actor, error) {
	p, err := auth.PrincipalFrom(ctx)
	if err != nil {
		return Actor{}, err
	}
	viewer := authz.ViewerOf(p)
	a := Actor{Principal: p, Org: viewer.Org, User: viewer.User, Viewer: viewer}
	return a, nil
}

// in returns the caller if it acts in org. Another organisation is not told
// from one that does not exist.
func in(ctx context.Context, org catalog.OrgID) (Actor, error) {
	a, err := ActorFrom(ctx)
	if err != nil {
		return a, err
	}
	if a.Org != org {
		return a, catalog.ErrNotFound
	}
	return a, nil
}
