package catalog

import (
	"context"
	"time"
)

// OpenClientLife is how long a client that registered itself is stored if nobody uses it.
const OpenClientLife = 7 * 24 * time.Hour

// maxOpenRedirectURIs bounds the redirect URIs of an open client, whose number nobody else bounds.
const maxOpenRedirectURIs = 10

// NewOpenClient describes a client that nobody vouches for: one that registers itself, or one that a
// document on the web describes. It is public and belongs to no organisation.
type NewOpenClient struct {
	Name         string
	RedirectURIs []string
	Scopes       []string
}

// Validate returns nil or [FieldErrors].
func (n NewOpenClient) Validate() error {
	var e FieldErrors
	e.clientName(n.Name)
	e.redirectURIs(n.RedirectURIs)
	if len(n.RedirectURIs) > maxOpenRedirectURIs {
		e.add("redirect_uris", "must have at most %d entries", maxOpenRedirectURIs)
	}
	e.clientScopes(n.Scopes)
	return e.Err()
}

// OpenClients stores the clients that registered themselves. [Clients.ClientByID] finds them, too.
type OpenClients interface {
	// CreateOpenClient creates a client without an organisation and a secret. If very many are
	// stored, the oldest ones that nobody uses make room.
	CreateOpenClient(ctx context.Context, client NewOpenClient) (Client, error)
	// ExpireOpenClients removes the clients that were created before the given time and that nobody
	// uses: they have no session.
	ExpireOpenClients(ctx context.Context, createdBefore time.Time) error
}

// ClientPolicy says which clients may act in an organisation.
type ClientPolicy string

// The policies.
const (
	// ClientsOwn allows the organisation's own clients and the built-in one.
	ClientsOwn ClientPolicy = "own"
	// ClientsOpen also allows those that nobody vouches for.
	ClientsOpen ClientPolicy = "open"
)

// Valid reports whether p is one of the policies.
func (p ClientPolicy) Valid() bool { return p == ClientsOwn || p == ClientsOpen }

// ClientPolicy returns the policy of the organisation, which is [ClientsOwn] unless it was set.
func (c OrganisationConfig) ClientPolicy() ClientPolicy {
	if c.Clients == "" {
		return ClientsOwn
	}
	return c.Clients
}
