package program

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

// clientSecretPrefix is the start of every client secret, by which scanners of source code
// recognise it.
const clientSecretPrefix = "lwcs_"

// newClientSecret returns a secret of 256 random bits, and the hash that is stored.
func newClientSecret() (secret string, hash []byte) {
	secret = clientSecretPrefix + session.NewSecret()
	return secret, session.Hash(secret)
}

// Clients manages the OAuth clients of an organisation.
type Clients struct{ Store catalog.Clients }

// NewClient is the input of [Clients.Create].
type NewClient struct {
	Name string
	// Public reports that the client cannot keep a secret.
	Public       bool
	RedirectURIs []string
	// Scopes may hold presets. Empty means the viewer's scopes.
	Scopes []string
}

// Create creates an application. The secret is returned only here; it is empty for a public
// client. The scopes are bounded by the caller's (auth.ErrScopeEscalation).
func (o Clients) Create(ctx context.Context, org catalog.OrgID, in NewClient) (catalog.Client, string, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.Client{}, "", err
	}
	scopes, err := auth.ExpandScopes(in.Scopes)
	if err != nil {
		return catalog.Client{}, "", err
	}
	n := catalog.NewClient{Org: org, Name: in.Name, RedirectURIs: in.RedirectURIs, Scopes: scopes.Strings(), By: a.User}
	secret := ""
	if !in.Public {
		secret, n.SecretHash = newClientSecret()
	}
	created, err := o.Store.CreateClient(ctx, n)
	if err != nil {
		return catalog.Client{}, "", err
	}
	return created, secret, nil
}

// List lists the applications of an organisation.
func (o Clients) List(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Client], error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.List[catalog.Client]{}, err
	}
	return o.Store.ListClients(ctx, org, page)
}

// Get returns an application.
func (o Clients) Get(ctx context.Context, org catalog.OrgID, id catalog.ClientID) (catalog.Client, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.Client{}, err
	}
	return o.Store.Client(ctx, org, id)
}

// ClientChange holds the fields to change. Nil fields keep their value.
type ClientChange struct {
	Name         *string
	RedirectURIs *[]string
	Scopes       *[]string
}

// Update changes an application. If it loses a scope, its sessions end.
func (o Clients) Update(ctx context.Context, org catalog.OrgID, id catalog.ClientID, expectedVersion int64,
	change ClientChange) (catalog.Client, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.Client{}, err
	}
	scopes, err := expand(change.Scopes)
	if err != nil {
		return catalog.Client{}, err
	}
	return o.Store.UpdateClient(ctx, org, id, expectedVersion,
		catalog.ClientChange{Name: change.Name, RedirectURIs: change.RedirectURIs, Scopes: scopes})
}

// expand returns granular scopes for optional ones.
func expand(names *[]string) (*[]string, error) {
	if names == nil {
		return nil, nil
	}
	set, err := auth.ExpandScopes(*names)
	scopes := set.Strings()
	return &scopes, err
}

// RotateSecret replaces the secret of an application at once. Issued tokens end after grace. The secret
// is returned only here.
func (o Clients) RotateSecret(ctx context.Context, org catalog.OrgID, id catalog.ClientID,
	grace time.Duration) (catalog.Client, string, error) {
	if _, err := o.Get(ctx, org, id); err != nil {
		return catalog.Client{}, "", err
	}
	secret, hash := newClientSecret()
	if err := o.Store.ReplaceClientSecret(ctx, org, id, hash, grace, catalog.Maker{}); err != nil {
		return catalog.Client{}, "", err
	}
	changed, err := o.Get(ctx, org, id)
	return changed, secret, err
}

// Delete removes an application and ends its sessions.
func (o Clients) Delete(ctx context.Context, org catalog.OrgID, id catalog.ClientID) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return o.Store.DeleteClient(ctx, org, id)
}
