package identity

import (
	"context"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// NameStore reads the names of people and organisations.
type NameStore interface {
	User(ctx context.Context, user catalog.UserID) (catalog.User, error)
	Organisation(ctx context.Context, org catalog.OrgID) (catalog.Organisation, error)
}

// Names returns the names that consent pages and programs show.
type Names struct{ Store NameStore }

// Names returns the e-mail address of a person and the name of an organisation, which is empty for
// [uuid.Nil]. It is for pages that only this person sees, about an organisation that the person
// belongs to.
func (n Names) Names(ctx context.Context, user, org uuid.UUID) (email, organisation string, err error) {
	ctx = authz.System(ctx, "names")
	u, err := n.Store.User(ctx, catalog.UserID(user.String()))
	if err != nil || org == uuid.Nil {
		return u.Email, "", err
	}
	o, err := n.Store.Organisation(ctx, catalog.OrgID(org.String()))
	return u.Email, o.Name, err
}

// Person returns the e-mail address and the display name of a person, for programs that the person has
// allowed to know them.
func (n Names) Person(ctx context.Context, user uuid.UUID) (email, name string, err error) {
	u, err := n.Store.User(authz.System(ctx, "names"), catalog.UserID(user.String()))
	return u.Email, u.DisplayName, unavailable(err)
}
