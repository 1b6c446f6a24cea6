package identity

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

const (
	statePurpose = "sso_state"
	// programLife is the life of the session of a program that gets its tokens from the
	// callback. A browser's session lasts for browserLife.
	programLife = 30 * 24 * time.Hour
)

// SSOStore is the part of the catalog that [SSO] uses.
type SSOStore interface {
	catalog.SingleSignOn
	catalog.Users
	catalog.Memberships
	IdentifySubject(ctx context.Context, org catalog.OrgID, claim catalog.SubjectClaim) (catalog.IdentifiedSubject, error)
	IdentityBinding(ctx context.Context, org catalog.OrgID, issuer, subject string) (catalog.IdentityBinding, error)
}

// ProviderSource returns the provider of an issuer: [sso.Providers].
type ProviderSource interface {
	Provider(ctx context.Context, issuer string) (*sso.Provider, error)
}

// Issuer issues the tokens of a session to its client.
type Issuer interface {
	Issue(ctx context.Context, of session.Session) (session.Tokens, error)
}

// SSO signs people in at the identity providers of organisations.
type SSO struct {
	Store     SSOStore
	Providers ProviderSource
	Keys      Keyring
	Tokens    session.OneTimeTokens
	Sessions  session.Sessions
	Browsers  session.Browsers
	Once      Once
	Issuer    Issuer
	Audit     Recorder
	// Refusals limits the entries of Audit about refused sign-ins.
	Refusals *throttle.Refusals
	// PublicURL is the base of the server's own URLs.
	PublicURL string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// pending is what is remembered of a sign-in until the provider returns.
type pending struct {
	// Org is empty for a sign-in at the server's own page.
	Org      catalog.OrgID `json:"org"`
	Issuer   string        `json:"issuer"`
	ClientID string        `json:"client_id"`
	Nonce    string        `json:"nonce"`
	Verifier string        `json:"verifier"`
	ReturnTo string        `json:"return_to"`
}

// Begin starts a sign-in and returns the URL at which it continues: that of the provider
// for an e-mail address of a verified domain, otherwise that of the server's own page, in
// the same form and after the same work. The caller binds the sign-in to the browser by a
// cookie with the [StateOf] the URL. Errors are [catalog.FieldErrors], [sso.ErrUnavailable]
// and those of the stores.
func (s SSO) Begin(ctx context.Context, email string) (authorizationURL string, err error) {
	email, config, err := s.configOf(ctx, email)
	if err != nil {
		return "", err
	}
	return s.begin(ctx, config, email, "")
}

// BeginAtProvider is Begin for the server's own pages. The sign-in continues at returnTo,
// which is [SignedInPath] or an authorization request; see [ReturnTo]. It returns "" if the
// domain of the e-mail address has no provider.
func (s SSO) BeginAtProvider(ctx context.Context, email, returnTo string) (authorizationURL string, err error) {
	if returnTo != SignedInPath && ReturnTo(returnTo) == "" {
		return "", fault.Invalid("return_to", "must be an authorization request")
	}
	email, config, err := s.configOf(ctx, email)
	if err != nil || config.Org == "" {
		return "", err
	}
	if strings.HasPrefix(returnTo, SSOCallbackPath) {
		returnTo = "" // the provider's callback returns the tokens for which the program began the sign-in
	}
	return s.begin(ctx, config, email, returnTo)
}

func (s SSO) begin(ctx context.Context, config catalog.SSOConfig, email, returnTo string) (authorizationURL string, err error) {
	ctx = authz.System(ctx, "single sign-on")
	client := sso.Client{ID: session.FirstParty, RedirectURL: s.PublicURL + SSOCallbackPath}
	var provider *sso.Provider
	if config.Org != "" {
		client.ID = config.ClientID
		if provider, err = s.Providers.Provider(ctx, config.Issuer); err != nil {
			return "", err
		}
	}
	attempt := sso.NewAttempt()
	attempt.State, err = s.Tokens.CreateToken(ctx, statePurpose, string(config.Org), pending{
		Org: config.Org, Issuer: config.Issuer, ClientID: config.ClientID, Nonce: attempt.Nonce, Verifier: attempt.Verifier, ReturnTo: returnTo,
	}, StateLife)
	if err != nil {
		return "", err
	}
	if provider != nil {
		return provider.AuthorizationURL(client, attempt, email), nil
	}
	return sso.AuthorizationURL(s.PublicURL+SignInPath, client, attempt, email), nil
}

// noOrg is an id that no organisation has.
var noOrg = catalog.OrgID(uuid.Nil.String())

// configOf returns a normalised e-mail address, and the configuration of the organisation that has
// verified its domain, or none after the same calls of the store.
func (s SSO) configOf(ctx context.Context, email string) (_ string, none catalog.SSOConfig, err error) {
	if email, err = mailbox(email); err != nil {
		return "", none, err
	}
	ctx = authz.System(ctx, "single sign-on")
	d, err := s.Store.VerifiedDomain(ctx, domainOf(email))
	if errors.Is(err, catalog.ErrNotFound) {
		d.Org, err = noOrg, nil
	}
	if err != nil {
		return email, none, err
	}
	config, err := s.Store.SSOConfig(ctx, d.Org)
	return email, config, ignoreMissing(err)
}

// StateOf returns the state in the URL at which a sign-in continues. The browser sends it
// back in the callback and as a cookie.
func StateOf(authorizationURL string) string {
	u, err := url.Parse(authorizationURL)
	if err != nil {
		return ""
	}
	return u.Query().Get("state")
}
