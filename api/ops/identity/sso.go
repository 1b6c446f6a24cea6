package identity

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
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
	Issuer    Issuer
	Audit     Recorder
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

// noOrg is the id of no organisation.
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

// Callback holds the parameters with which a provider returns, and the browser's cookie.
type Callback struct {
	State, Cookie, Code, Issuer string
	// Error is the provider's refusal, or empty.
	Error string
}

// SSOSignIn is a sign-in that succeeded.
type SSOSignIn struct {
	Session session.Session
	// ReturnTo is the path that the browser continues at, with the cookie Browser. It is
	// empty if Tokens is not.
	ReturnTo, Browser string
	Tokens            session.Tokens
}

// Finish ends a sign-in: it verifies the person with the provider, makes the person a
// member if necessary, and begins a session for this organisation only. Errors are
// [ErrState], [sso.ErrRefused], [sso.ErrUnavailable] and those of the stores.
func (s SSO) Finish(ctx context.Context, c Callback, from Origin) (SSOSignIn, error) {
	ctx = authz.System(ctx, "single sign-on")
	if c.State == "" || subtle.ConstantTimeCompare([]byte(c.State), []byte(c.Cookie)) != 1 {
		return SSOSignIn{}, ErrState // another browser's sign-in remains usable
	}
	var p pending
	err := s.Tokens.TakeToken(ctx, statePurpose, c.State, &p)
	if err == nil && p.Org == "" {
		err = ErrState
	}
	if err != nil {
		return SSOSignIn{}, stateError(err)
	}
	entry := catalog.AuditEntry{Org: p.Org, Action: "sign_in", RequestID: from.RequestID, Remote: from.Remote, Outcome: catalog.OutcomeAllow}
	begun, who, err := s.finish(ctx, p, c, entry)
	done := SSOSignIn{Session: begun, ReturnTo: p.ReturnTo}
	if err == nil {
		err = s.hand(ctx, &done)
	}
	entry.Details = details("method", string(session.MethodSSO), "email", who.Email)
	if err != nil {
		entry.Action, entry.Outcome = "sign_in.refused", catalog.OutcomeError
		var refused *sso.RefusedError
		if errors.As(err, &refused) {
			entry.Outcome, entry.Details = catalog.OutcomeDeny, details("method", string(session.MethodSSO), "reason", refused.Reason,
				"email", who.Email)
		}
	} else {
		entry.User = catalog.UserID(begun.User.String())
	}
	s.Audit.Record(entry)
	if err != nil {
		return SSOSignIn{}, err
	}
	return done, nil
}

// hand adds what the browser or the client gets for a session. If it fails, the session
// ends.
func (s SSO) hand(ctx context.Context, done *SSOSignIn) (err error) {
	if done.ReturnTo != "" {
		done.Browser, err = s.Browsers.CreateBrowser(ctx, done.Session.ID)
	} else {
		done.Tokens, err = s.Issuer.Issue(ctx, done.Session)
	}
	if err != nil {
		cleanup, cancel := caller.CleanupContext(ctx)
		defer cancel()
		err = errors.Join(err, s.Sessions.RevokeSession(cleanup, done.Session.ID))
	}
	return err
}

func (s SSO) finish(ctx context.Context, p pending, c Callback,
	entry catalog.AuditEntry) (none session.Session, who sso.Identity, err error) {
	config, err := s.Store.SSOConfig(ctx, p.Org)
	if errors.Is(err, catalog.ErrNotFound) || err == nil && (config.Issuer != p.Issuer || config.ClientID != p.ClientID) {
		return none, who, ErrState // the configuration has changed since
	}
	if err != nil {
		return none, who, err
	}
	provider, client, err := s.client(ctx, config)
	if err != nil {
		return none, who, err
	}
	if c.Error != "" {
		c.Code = ""
	}
	who, err = provider.SignIn(ctx, client, sso.Attempt{State: c.State, Nonce: p.Nonce, Verifier: p.Verifier},
		sso.Response{Code: c.Code, Issuer: c.Issuer}, wantedClaims(config))
	if err != nil {
		return none, who, err
	}
	user, err := s.admit(ctx, config, who, entry)
	if err != nil {
		return none, who, err
	}
	id, err := uuid.Parse(string(user))
	if err != nil {
		return none, who, err
	}
	org, err := uuid.Parse(string(config.Org))
	if err != nil {
		return none, who, err
	}
	begun := session.Session{User: id, Org: org, Method: session.MethodSSO, Issuer: config.Issuer, Subject: who.Subject,
		ProviderSession: who.Session, ExpiresAt: clock(s.Now).Add(browserLife)}
	if p.ReturnTo == "" {
		begun.Client, begun.ExpiresAt = session.FirstParty, clock(s.Now).Add(programLife)
	}
	if begun, err = s.Sessions.CreateSession(ctx, begun); err != nil {
		return none, who, err
	}
	// A change of the configuration ends the sessions that it finds. This one may be younger.
	now, err := s.Store.SSOConfig(ctx, p.Org)
	if err == nil && now.Issuer == p.Issuer && now.ClientID == p.ClientID {
		return begun, who, nil
	}
	if err == nil || errors.Is(err, catalog.ErrNotFound) {
		err = ErrState
	}
	cleanup, cancel := caller.CleanupContext(ctx)
	defer cancel()
	return none, who, errors.Join(err, s.Sessions.RevokeSession(cleanup, begun.ID))
}

// client returns the provider of a configuration, and the registration there.
func (s SSO) client(ctx context.Context, config catalog.SSOConfig) (*sso.Provider, sso.Client, error) {
	client := sso.Client{ID: config.ClientID, RedirectURL: s.PublicURL + SSOCallbackPath}
	sealed, err := s.Store.SSOSecret(ctx, config.Org)
	if err != nil {
		return nil, client, err
	}
	secret, err := s.Keys.Open(ssoBinding(config.Org, config.Issuer), sealed)
	if err != nil {
		return nil, client, err
	}
	client.Secret = string(secret)
	provider, err := s.Providers.Provider(ctx, config.Issuer)
	return provider, client, err
}
