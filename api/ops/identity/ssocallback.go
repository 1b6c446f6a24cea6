package identity

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

const (
	// codePurpose is the purpose under which the codes of providers are remembered.
	codePurpose = "sso_code"
	// codeMemory is how long a code is remembered. It is longer than a provider accepts a
	// code, which is ten minutes at most (RFC 6749 §4.1.2).
	codeMemory = time.Hour
)

// Callback holds the parameters with which a provider returns, and the browser's cookies.
type Callback struct {
	State, Cookie, Code, Issuer string
	// Browser is the cookie of a browser that is signed in at the server's own pages, or empty.
	Browser string
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
// member if necessary, and begins a session for this organisation only. A sign-in that began
// without a provider ends with the session of the browser, which has signed in at the server's
// own page. Errors are
// [ErrState], [sso.ErrRefused], [sso.ErrUnavailable] and those of the stores.
func (s SSO) Finish(ctx context.Context, c Callback, from Origin) (SSOSignIn, error) {
	ctx = authz.System(ctx, "single sign-on")
	if c.State == "" || subtle.ConstantTimeCompare([]byte(c.State), []byte(c.Cookie)) != 1 {
		return SSOSignIn{}, ErrState // another browser's sign-in remains usable
	}
	var p pending
	err := s.Tokens.TakeToken(ctx, statePurpose, c.State, &p)
	if err != nil {
		return SSOSignIn{}, stateError(err)
	}
	if p.Org == "" {
		got, done, err := s.finishAtOwnPage(ctx, c.Browser)
		s.record(got.org(), got, from, err)
		return done, err
	}
	got, err := s.finish(ctx, p, c, from)
	done := SSOSignIn{Session: got.session, ReturnTo: p.ReturnTo}
	if err == nil {
		err = s.deliver(ctx, &done)
	}
	s.record(p.Org, got, from, err)
	if err != nil {
		return SSOSignIn{}, err
	}
	return done, nil
}

// finishAtOwnPage ends a sign-in that began for an address without a provider, after the person has
// signed in at the server's own page. The tokens belong to a new session, which has the method and
// the organisation of the browser's session.
func (s SSO) finishAtOwnPage(ctx context.Context, cookie string) (got progress, done SSOSignIn, err error) {
	of, err := s.Browsers.Browser(ctx, cookie)
	if err != nil {
		return got, done, stateError(err)
	}
	got.session, err = s.Sessions.CreateSession(ctx, session.Session{User: of.User, Org: of.Org, Client: session.FirstParty,
		Method: of.Method, Parent: of.ID, Issuer: of.Issuer, Subject: of.Subject, ProviderSession: of.ProviderSession,
		ExpiresAt: clock(s.Now).Add(programLife)})
	if err != nil {
		return got, done, err
	}
	// An event that ended the user's sessions before this one existed has ended the browser's, too.
	if _, err = s.Browsers.Browser(ctx, cookie); err != nil {
		cleanup, cancel := caller.CleanupContext(ctx)
		defer cancel()
		return got, done, errors.Join(stateError(err), s.Sessions.RevokeSession(cleanup, got.session.ID))
	}
	done = SSOSignIn{Session: got.session}
	if err := s.deliver(ctx, &done); err != nil {
		return got, SSOSignIn{}, err
	}
	return got, done, nil
}

// record writes an audit entry about a sign-in that has succeeded or failed, unless it is one
// of a flood of failures: anybody can begin sign-ins and bring back made-up codes.
func (s SSO) record(org catalog.OrgID, got progress, from Origin, err error) {
	entry := catalog.AuditEntry{Org: org, Action: "sign_in", RequestID: from.RequestID, Remote: from.Remote, Outcome: catalog.OutcomeAllow}
	texts := []string{"method", string(cmp.Or(got.session.Method, session.MethodSSO))}
	if got.who.Email != "" {
		texts = append(texts, "email", got.who.Email)
	}
	if err == nil {
		entry.User = catalog.UserID(got.session.User.String())
		if got.role != "" {
			texts = append(texts, "role", string(got.role))
		}
		texts = append(texts, "session", got.session.ID.String())
	} else {
		limited, audited := s.Refusals.Add("", from.Remote)
		if !audited {
			return
		}
		entry.Action, entry.Outcome = "sign_in.refused", catalog.OutcomeError
		var refused *sso.RefusedError
		if errors.As(err, &refused) {
			entry.Outcome, texts = catalog.OutcomeDeny, append(texts, "reason", refused.Reason)
		}
		var unconfirmed *ConfirmationError
		if errors.As(err, &unconfirmed) {
			entry.Resource = "user/" + string(unconfirmed.Cause.User)
			texts = append(texts, "subject", got.who.Subject, "identity", unconfirmed.Cause.Reason)
		}
		if limited != "" {
			texts = append(texts, "rate_limited", limited)
		}
	}
	entry.Details = details(texts...)
	s.Audit.Record(entry)
}

// deliver adds what the browser or the client gets for a session. If it fails, the session
// ends.
func (s SSO) deliver(ctx context.Context, done *SSOSignIn) (err error) {
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

// progress is what a sign-in has found out and stored, also if it fails in the end.
type progress struct {
	who     sso.Identity
	role    catalog.Role
	session session.Session
}

// org returns the organisation that the session is limited to; "" means none.
func (p progress) org() catalog.OrgID {
	if p.session.Org == uuid.Nil {
		return ""
	}
	return catalog.OrgID(p.session.Org.String())
}

// finish verifies the person, makes the person a member and begins a session.
func (s SSO) finish(ctx context.Context, p pending, c Callback, from Origin) (got progress, err error) {
	if got.who, err = s.verify(ctx, p, c); err != nil {
		return got, err
	}
	// The provider decides how long its replies take. The configuration may have been
	// replaced meanwhile, and the person must get no more than the present one allows.
	config, err := s.current(ctx, p)
	if err != nil {
		return got, err
	}
	member, err := s.admit(ctx, p, config, got.who, from)
	if err != nil {
		return got, err
	}
	got.role = member.Role
	user, err := uuid.Parse(string(member.User))
	if err != nil {
		return got, err
	}
	org, err := uuid.Parse(string(config.Org))
	if err != nil {
		return got, err
	}
	n := session.Session{User: user, Org: org, Method: session.MethodSSO, Issuer: config.Issuer, Subject: got.who.Subject,
		ProviderSession: got.who.Session, ExpiresAt: clock(s.Now).Add(browserLife)}
	if p.ReturnTo == "" {
		n.Client, n.ExpiresAt = session.FirstParty, clock(s.Now).Add(programLife)
	}
	if got.session, err = s.Sessions.CreateSession(ctx, n); err != nil {
		return got, err
	}
	// A change of the configuration, and the release of the subject, end the sessions that they find.
	// This one may be younger.
	if err = s.stillCurrent(ctx, p, got.session); err != nil {
		cleanup, cancel := caller.CleanupContext(ctx)
		defer cancel()
		err = errors.Join(err, s.Sessions.RevokeSession(cleanup, got.session.ID))
	}
	return got, err
}

// current returns the configuration of a sign-in, or [ErrState] if the sign-in began with
// another issuer or client.
func (s SSO) current(ctx context.Context, p pending) (catalog.SSOConfig, error) {
	config, err := s.Store.SSOConfig(ctx, p.Org)
	if errors.Is(err, catalog.ErrNotFound) || err == nil && (config.Issuer != p.Issuer || config.ClientID != p.ClientID) {
		err = ErrState
	}
	return config, err
}

// stillCurrent returns [ErrState] if the configuration or the binding of a session has changed.
func (s SSO) stillCurrent(ctx context.Context, p pending, of session.Session) error {
	if _, err := s.current(ctx, p); err != nil {
		return err
	}
	bound, err := s.Store.IdentityBinding(ctx, p.Org, of.Issuer, of.Subject)
	if errors.Is(err, catalog.ErrNotFound) || err == nil && string(bound.User) != of.User.String() {
		err = ErrState
	}
	return err
}

// verify exchanges the code of a callback at the provider, and returns the person.
func (s SSO) verify(ctx context.Context, p pending, c Callback) (who sso.Identity, err error) {
	config, err := s.current(ctx, p)
	if err != nil {
		return who, err
	}
	provider, client, err := s.client(ctx, config)
	if err != nil {
		return who, err
	}
	if c.Error != "" {
		c.Code = ""
	}
	if err := s.useCode(ctx, c.Code); err != nil {
		return who, err
	}
	return provider.SignIn(ctx, client, sso.Attempt{State: c.State, Nonce: p.Nonce, Verifier: p.Verifier},
		sso.Response{Code: c.Code, Issuer: c.Issuer}, wantedClaims(config))
}

// useCode marks a code as used, and refuses one that another sign-in has brought back. A
// hostile provider can lead the browser on to the provider of another organisation, and so
// make this server send it a code of that one (RFC 9700 §4.4, mix-up). Whoever brings such a
// code back in a sign-in of their own gets nothing for it.
func (s SSO) useCode(ctx context.Context, code string) error {
	if code == "" { // the provider refused
		return nil
	}
	err := s.Once.UseOnce(ctx, codePurpose, code, codeMemory)
	if errors.Is(err, session.ErrReused) {
		return sso.Refused("code_refused")
	}
	return err
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
