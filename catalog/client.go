package catalog

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ClientKind distinguishes OAuth clients.
type ClientKind string

// The kinds of clients.
const (
	// ClientApplication acts for people who have agreed to it.
	ClientApplication ClientKind = "application"
	// ClientService acts as a service account.
	ClientService ClientKind = "service"
	// ClientOpen acts for people who have agreed to it. It registered itself, belongs to no
	// organisation, and acts in those that allow it: see [ClientPolicy].
	ClientOpen ClientKind = "open"
)

// Client is an OAuth client.
type Client struct {
	ID ClientID
	// Org is empty for a client that registered itself.
	Org  OrgID
	Name string
	Kind ClientKind
	// SecretHash is the SHA-256 of the client's secret; nil for a public client. The
	// secret itself is not stored.
	SecretHash []byte
	// RedirectURIs are compared exactly, except for ports on the person's own machine. A service
	// account's client has none.
	RedirectURIs []string
	// Scopes are granular, sorted and free of duplicates. They bound those of the client's
	// tokens.
	Scopes []string
	// User is the service account; empty for an application.
	User      UserID
	CreatedBy UserID
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// EndsAt is when the client ends with the API key that it was made with, and
	// SecretEndsAt the same for its secret. They are zero for one that is bound to no key.
	EndsAt, SecretEndsAt time.Time
}

// Ends returns the earlier of EndsAt and SecretEndsAt, or zero.
func (c Client) Ends() time.Time {
	if c.EndsAt.IsZero() || !c.SecretEndsAt.IsZero() && c.SecretEndsAt.Before(c.EndsAt) {
		return c.SecretEndsAt
	}
	return c.EndsAt
}

// Public reports whether the client has no secret.
func (c Client) Public() bool { return c.SecretHash == nil }

// NewClient is the input of [Clients.CreateClient].
type NewClient struct {
	Org  OrgID
	Name string
	// SecretHash is nil for a public client.
	SecretHash   []byte
	RedirectURIs []string
	Scopes       []string
	By           UserID
	// Maker is what the client is made with.
	Maker Maker
}

// The bounds of a client.
const (
	MaxRedirectURIs        = 20
	maxRedirectURILength   = 2000
	maxClientScopes        = 100
	clientSecretHashLength = 32
)

// Validate returns nil or [FieldErrors]. It does not check whether the scopes exist;
// package auth does.
func (n NewClient) Validate() error {
	var e FieldErrors
	e.clientName(n.Name)
	e.secretHash(n.SecretHash)
	e.redirectURIs(n.RedirectURIs)
	e.clientScopes(n.Scopes)
	return e.Err()
}

// ClientChange holds the fields to change. Nil fields keep their value.
type ClientChange struct {
	Name         *string
	RedirectURIs *[]string
	Scopes       *[]string
	// Maker is what the change is made with.
	Maker Maker
}

// Validate returns nil or [FieldErrors].
func (c ClientChange) Validate() error {
	var e FieldErrors
	if c.Name != nil {
		e.clientName(*c.Name)
	}
	if c.RedirectURIs != nil {
		e.redirectURIs(*c.RedirectURIs)
	}
	if c.Scopes != nil {
		e.clientScopes(*c.Scopes)
	}
	return e.Err()
}

func (e *FieldErrors) secretHash(hash []byte) {
	if hash != nil && len(hash) != clientSecretHashLength {
		e.add("secret_hash", "must be a SHA-256")
	}
}

func (e *FieldErrors) clientScopes(scopes []string) {
	if len(scopes) == 0 || len(scopes) > maxClientScopes {
		e.add("scopes", "must have 1 to %d entries", maxClientScopes)
	}
	for _, s := range scopes {
		if s == "" || len(s) > 100 || strings.ContainsAny(s, " \t\r\n\x00") {
			e.add("scopes", "must be non-empty words")
			break
		}
	}
}

func (e *FieldErrors) redirectURIs(uris []string) {
	if len(uris) == 0 || len(uris) > MaxRedirectURIs {
		e.add("redirect_uris", "must have 1 to %d entries", MaxRedirectURIs)
	}
	for i, uri := range uris {
		if !validRedirectURI(uri) {
			e.add(fmt.Sprintf("redirect_uris[%d]", i),
				"must be an https URL, or an http URL of localhost, with no user name, fragment, or . and .. segments")
		}
	}
}

// validRedirectURI reports whether codes may be sent to a URI: https, or http on the
// user's own machine, in its normal spelling.
func validRedirectURI(uri string) bool {
	u, err := url.Parse(uri)
	switch {
	case err != nil, len(uri) > maxRedirectURILength, u.String() != uri, u.Hostname() == "", u.User != nil, u.Opaque != "",
		u.Host != strings.ToLower(u.Host), strings.HasSuffix(u.Host, ":"), strings.Contains(uri, "#"), strings.Contains(u.RawPath, "%"),
		strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }),
		slices.ContainsFunc(strings.Split(u.Path, "/"), func(segment string) bool { return segment == "." || segment == ".." }):
		return false
	}
	local := slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && local
}

// ServiceAccount is a member of an organisation that stands for a program, with the client
// by which the program gets its tokens.
type ServiceAccount struct {
	// ID is the user's.
	ID   UserID
	Org  OrgID
	Name string
	Role Role
	// Client is the client's id, and Scopes bound its tokens. They do not bound API keys.
	Client    ClientID
	Scopes    []string
	CreatedBy UserID
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// EndsAt and SecretEndsAt are those of the client; see [Client].
	EndsAt, SecretEndsAt time.Time
}

// NewServiceAccount is the input of [ServiceAccounts.CreateServiceAccount].
type NewServiceAccount struct {
	Org        OrgID
	Name       string
	Role       Role
	SecretHash []byte
	Scopes     []string
	By         UserID
	// Maker is what the account is made with.
	Maker Maker
}

// Validate returns nil or [FieldErrors].
func (n NewServiceAccount) Validate() error {
	var e FieldErrors
	e.text("name", n.Name, 1, 100)
	if !n.Role.Valid() {
		e.add("role", "must be viewer, editor, builder or admin")
	}
	if n.SecretHash == nil {
		e.add("secret_hash", "must not be empty")
	}
	e.secretHash(n.SecretHash)
	e.clientScopes(n.Scopes)
	return e.Err()
}

// ServiceAccountChange holds the fields to change. Nil fields keep their value.
type ServiceAccountChange struct {
	Name   *string
	Scopes *[]string
	// Maker is what the change is made with.
	Maker Maker
}

// Validate returns nil or [FieldErrors].
func (c ServiceAccountChange) Validate() error {
	var e FieldErrors
	if c.Name != nil {
		e.text("name", *c.Name, 1, 100)
	}
	if c.Scopes != nil {
		e.clientScopes(*c.Scopes)
	}
	return e.Err()
}
