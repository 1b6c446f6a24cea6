package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// FirstParty is the id of the built-in public client of command-line programs. It belongs
// to no organisation.
const FirstParty = session.FirstParty

// ErrUnknownClient is returned by [Clients] for an id that no client has.
var ErrUnknownClient = errors.New("unknown client")

// Client is a program that may request tokens.
type Client struct {
	ID string
	// Name is shown to people who are asked for their consent.
	Name string
	// Org is the organisation of the client and of its tokens; [uuid.Nil] for
	// [FirstParty] and for open clients.
	Org uuid.UUID
	// Open reports that nobody vouches for the client: it registered itself, or a document describes
	// it. Each of its sessions is for one organisation that allows such clients.
	Open bool
	// Publisher is the host of the document that describes the client; empty for other clients.
	Publisher string
	// SecretHash is the SHA-256 of the client's secret; nil for a public client.
	SecretHash []byte
	// RedirectURIs are compared exactly, except for the ports of addresses on the person's own machine
	// (RFC 8252 §7.3).
	RedirectURIs []string
	// Scopes bounds the scopes of the client's tokens.
	Scopes auth.ScopeSet
	// Service is the service account that the client acts as; [uuid.Nil] for a client
	// that acts for people.
	Service uuid.UUID
	// Ends is when the client or its secret ends, or zero. No token is valid longer.
	Ends time.Time
}

// Clients finds clients, also those that have ended. Implementations are safe for concurrent use.
type Clients interface {
	// Client returns the client with an id, or an error that wraps [ErrUnknownClient].
	Client(ctx context.Context, id string) (Client, error)
}

// firstParty returns the built-in client.
func firstParty() Client {
	return Client{ID: FirstParty, Name: "Lakewarden", Scopes: auth.AllScopes()}
}

// find returns a client by its id. One that has ended is unknown.
func (s *Server) find(ctx context.Context, id string) (Client, error) {
	switch {
	case id == FirstParty:
		return firstParty(), nil
	case describesItself(id):
		return s.describedBefore(id)
	}
	c, err := s.clients.Client(ctx, id)
	if err == nil && c.Open && s.documents == nil {
		c, err = Client{}, ErrUnknownClient
	}
	if err == nil && !c.Ends.IsZero() && !s.now().Before(c.Ends) {
		c, err = Client{}, ErrUnknownClient
	}
	if errors.Is(err, ErrUnknownClient) {
		return c, fosite.ErrInvalidClient.WithHint("The client does not exist.").WithWrap(err)
	}
	return c, err
}

// native matches redirect URIs to the person's own machine, in one spelling of each host. Any port
// is allowed (RFC 8252 §7.3), and for the built-in client any path.
var native = regexp.MustCompile(`^http://(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9][0-9]{0,4}))?(/[A-Za-z0-9._~/-]*)?$`)

// redirect returns the redirect URI of a request if the client may use it.
func (c Client) redirect(raw string) (*url.URL, error) {
	host, at, isNative := nativeRedirect(raw)
	known := c.ID == FirstParty && isNative || slices.ContainsFunc(c.RedirectURIs, func(registered string) bool {
		ownHost, ownPath, ok := nativeRedirect(registered)
		return registered == raw || ok && isNative && ownHost == host && ownPath == at
	})
	if u, err := url.Parse(raw); known && err == nil && fosite.IsValidRedirectURI(u) {
		return u, nil
	}
	return nil, fosite.ErrInvalidRequest.WithHint("The parameter redirect_uri is missing, or is not one of the client's redirect URIs.")
}

// nativeRedirect returns the host and the path of a redirect URI to the person's own machine. ok is
// false for any other URI.
func nativeRedirect(raw string) (host, at string, ok bool) {
	parts := native.FindStringSubmatch(raw)
	if parts == nil {
		return "", "", false
	}
	if port, _ := strconv.Atoi(parts[2]); port > 65535 {
		return "", "", false
	}
	at = parts[3]
	return parts[1], at, at == "" || at == "/" || path.Clean(at) == strings.TrimSuffix(at, "/")
}

// registered adapts a client to fosite.
type registered struct {
	Client
	// uri is the verified redirect URI of an authorization request.
	uri string
}

var _ fosite.ResponseModeClient = (*registered)(nil)

// GetID implements fosite.Client.
func (c *registered) GetID() string { return c.ID }

// GetHashedSecret implements fosite.Client.
func (c *registered) GetHashedSecret() []byte { return c.SecretHash }

// GetRedirectURIs implements fosite.Client. It returns the verified URI alone, so that
// fosite's rules for loopback addresses, which ignore ports and user names, do not apply.
func (c *registered) GetRedirectURIs() []string { return []string{c.uri} }

// GetGrantTypes implements fosite.Client.
func (c *registered) GetGrantTypes() fosite.Arguments {
	if c.Service != uuid.Nil {
		return fosite.Arguments{grantClient}
	}
	return fosite.Arguments{grantCode, grantRefresh}
}

// GetResponseTypes implements fosite.Client.
func (c *registered) GetResponseTypes() fosite.Arguments { return fosite.Arguments{"code"} }

// GetResponseModes implements fosite.ResponseModeClient.
func (c *registered) GetResponseModes() []fosite.ResponseModeType {
	return []fosite.ResponseModeType{fosite.ResponseModeQuery}
}

// GetScopes implements fosite.Client.
func (c *registered) GetScopes() fosite.Arguments { return c.Scopes.Strings() }

// IsPublic implements fosite.Client.
func (c *registered) IsPublic() bool { return c.SecretHash == nil }

// GetAudience implements fosite.Client.
func (c *registered) GetAudience() fosite.Arguments { return nil }

// sha256Hasher compares client secrets, which are random and need no slow hash.
type sha256Hasher struct{}

// Hash implements fosite.Hasher.
func (sha256Hasher) Hash(_ context.Context, data []byte) ([]byte, error) {
	return session.Hash(string(data)), nil
}

var errSecret = errors.New("client secret does not match")

// Compare implements fosite.Hasher.
func (sha256Hasher) Compare(_ context.Context, hash, data []byte) error {
	if subtle.ConstantTimeCompare(hash, session.Hash(string(data))) != 1 {
		return errSecret
	}
	return nil
}
