package principal

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

var _ oauth.Clients = Source{}

// Client implements oauth.Clients. Each client has one spelling of its id.
func (s Source) Client(ctx context.Context, text string) (oauth.Client, error) {
	id, err := catalog.ParseID[catalog.ClientID](text)
	if err != nil || string(id) != text {
		return oauth.Client{}, oauth.ErrUnknownClient
	}
	c, err := s.store.ClientByID(authz.System(ctx, authenticating), id)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return oauth.Client{}, oauth.ErrUnknownClient
	case err != nil:
		return oauth.Client{}, fmt.Errorf("%w: look up client: %w", auth.ErrUnavailable, err)
	}
	out := oauth.Client{ID: text, Name: c.Name, SecretHash: c.SecretHash, RedirectURIs: c.RedirectURIs, Scopes: auth.StoredScopes(c.Scopes),
		Ends: c.Ends(), Open: c.Kind == catalog.ClientOpen}
	var ids ids
	if !out.Open {
		out.Org = ids.parse(string(c.Org))
	}
	if c.User != "" {
		out.Service = ids.parse(string(c.User))
	}
	return out, ids.err
}
