package identity

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// ErrLinkBrowser is returned by [ProviderLinks.Finish] if the browser is neither the one
// that started the link nor signed in as its member: 403. The link can still be finished
// in the right browser.
var ErrLinkBrowser = fault.New("link_not_confirmed", "link was started elsewhere")

// linkPurpose is the purpose of the states of link flows.
const linkPurpose = "provider_link"

// revokeTime bounds the revocation of a token that is no longer needed.
const revokeTime = 5 * time.Second

// ProviderLinks links members to the applications of their organisation, so that the
// server can use their storage on their behalf.
//
// A member starts the flow with a credential, and a browser ends it without one. If the
// browser were not checked, a member could send the URL of the provider to somebody
// else and get access to the storage of that person. So the callback needs the secret
// that the reply to the start put into the browser, or a browser that is signed in as the
// member.
type ProviderLinks struct {
	Apps   ProviderApps
	States session.OneTimeTokens
	// Sessions are those that start links.
	Sessions LiveSessions
	// Browsers are those that are signed in at the server's own pages.
	Browsers session.Browsers
	// PublicURL is the base of the callback.
	PublicURL string
	Audit     Recorder
}

// LiveSessions checks sessions.
type LiveSessions interface {
	// Live returns a session, or the zero value if it has ended.
	Live(ctx context.Context, session uuid.UUID) (auth.LiveSession, error)
}

// linkState is what a state stands for.
type linkState struct {
	Link       catalog.ProviderLinkKey `json:"link"`
	AppVersion int64                   `json:"app_version"`
	Verifier   string                  `json:"verifier"`
	// Browser is the hash of the secret in the browser that started the flow.
	Browser []byte `json:"browser"`
	// Session is the sign-in that started the flow; [uuid.Nil] for that of another issuer.
	Session uuid.UUID `json:"session"`
}

// StartedLink is a link flow that the member has to continue in a browser.
type StartedLink struct {
	AuthorizationURL string
	// Cookie is the secret that the browser has to send to the callback.
	Cookie string
}

// LinkCallback is the request of a browser that comes back from a provider.
type LinkCallback struct {
	State, Code, Issuer, Error string
	// Cookie is the secret of [StartedLink], and Browser the cookie of the server's own
	// pages. Either may be empty.
	Cookie, Browser string
}

// linking returns the caller if it may change its own links: a person who has signed in.
// Whoever holds a mere API key of the person must not choose the storage that the person's
// data goes to.
func linking(ctx context.Context, org catalog.OrgID) (caller.Identity, error) {
	a, err := caller.In(ctx, org)
	if err == nil && !a.ActsAsPerson() {
		err = &catalog.DeniedError{Reason: "sign_in_required"}
	}
	return a, err
}

// Begin starts a link for the caller. A link that the caller started before can no longer
// be finished.
func (o ProviderLinks) Begin(ctx context.Context, org catalog.OrgID, providerName string) (none StartedLink, err error) {
	a, err := linking(ctx, org)
	if err != nil {
		return none, err
	}
	name, at, err := o.Apps.provider(ctx, org, providerName)
	if err != nil {
		return none, err
	}
	app, version, err := o.Apps.app(ctx, org, name)
	if err != nil {
		return none, err
	}
	started := StartedLink{Cookie: session.NewSecret()}
	state := linkState{
		Link:       catalog.ProviderLinkKey{Org: org, Provider: name, User: a.User},
		AppVersion: version, Verifier: provider.NewVerifier(), Browser: session.Hash(started.Cookie),
		Session: a.SessionID,
	}
	subject := fmt.Sprintf("%s/%s/%s", org, name, a.User)
	if err := o.States.WithdrawTokens(ctx, linkPurpose, subject); err != nil {
		return none, err
	}
	token, err := o.States.CreateToken(ctx, linkPurpose, subject, state, StateLife)
	if err != nil {
		return none, err
	}
	started.AuthorizationURL, err = at.AuthCodeURL(ctx, app, o.PublicURL+LinkCallbackPath, token, state.Verifier)
	return started, err
}

// Finish stores the link that a browser brings back. It returns [ErrState], also for a
// state whose sign-in has ended, [ErrLinkBrowser], and errors of package provider.
func (o ProviderLinks) Finish(ctx context.Context, in LinkCallback, from Origin) (none catalog.ProviderLink, err error) {
	var state linkState
	if err := o.States.ReadToken(ctx, linkPurpose, in.State, &state); err != nil {
		return none, stateError(err)
	}
	entry := catalog.AuditEntry{
		Org: state.Link.Org, User: state.Link.User, Action: "provider_link.create", Resource: string(state.Link.Provider),
		Outcome: catalog.OutcomeDeny, RequestID: from.RequestID, Remote: from.Remote,
	}
	defer func() {
		if err == nil {
			entry.Outcome = catalog.OutcomeAllow
		}
		o.Audit.Record(entry)
	}()
	if err := o.sameBrowser(ctx, state, in); err != nil {
		return none, err
	}
	if err := o.signedIn(ctx, state); err != nil {
		return none, err
	}
	if err := o.States.TakeToken(ctx, linkPurpose, in.State, &state); err != nil {
		return none, stateError(err)
	}
	return o.store(authz.System(ctx, "provider link"), state, in)
}

// signedIn checks that the sign-in that started a link has not ended.
func (o ProviderLinks) signedIn(ctx context.Context, state linkState) error {
	if state.Session == uuid.Nil {
		return nil
	}
	live, err := o.Sessions.Live(ctx, state.Session)
	if err == nil && live.Until.IsZero() {
		err = ErrState
	}
	return err
}

// sameBrowser checks that a callback comes from a browser of the member. A sign-in for
// another organisation does not count: the provider of that one decides who signs in there.
func (o ProviderLinks) sameBrowser(ctx context.Context, state linkState, in LinkCallback) error {
	if in.Cookie != "" && subtle.ConstantTimeCompare(session.Hash(in.Cookie), state.Browser) == 1 {
		return nil
	}
	if in.Browser == "" {
		return ErrLinkBrowser
	}
	signedIn, err := o.Browsers.Browser(ctx, in.Browser)
	if errors.Is(err, session.ErrNotFound) {
		return ErrLinkBrowser
	}
	if err != nil {
		return err
	}
	elsewhere := signedIn.Org != uuid.Nil && signedIn.Org.String() != string(state.Link.Org)
	if elsewhere || signedIn.User.String() != string(state.Link.User) {
		return ErrLinkBrowser
	}
	return nil
}

// store exchanges the code and stores the link.
func (o ProviderLinks) store(system context.Context, state linkState, in LinkCallback) (none catalog.ProviderLink, err error) {
	if err := feature.Require(system, o.Apps.Store, state.Link.Org, catalog.FeatureDelegatedStorage); err != nil {
		return none, err
	}
	at, err := o.Apps.Providers.Provider(string(state.Link.Provider))
	if err != nil {
		return none, err
	}
	if err := at.CheckIssuer(in.Issuer); err != nil {
		return none, err
	}
	if in.Error != "" || in.Code == "" {
		return none, provider.ErrGrant
	}
	app, version, err := o.Apps.app(system, state.Link.Org, state.Link.Provider)
	if err != nil {
		return none, err
	}
	if version != state.AppVersion {
		return none, &catalog.VersionConflictError{Current: version}
	}
	tokens, err := at.Exchange(system, app, o.PublicURL+LinkCallbackPath, in.Code, state.Verifier)
	if err != nil {
		return none, err
	}
	link, err := o.put(system, state, tokens)
	if err != nil { // nobody will use the tokens
		revokeToken(system, at, app, tokens.Refresh)
	}
	return link, err
}

func (o ProviderLinks) put(ctx context.Context, state linkState, tokens provider.Tokens) (none catalog.ProviderLink, err error) {
	sealed, err := sealTokens(o.Apps.Keys, state.Link, tokens)
	if err != nil {
		return none, err
	}
	return o.Apps.Store.PutProviderLink(ctx, catalog.NewProviderLink{
		ProviderLinkKey: state.Link, Subject: tokens.Subject, Scopes: tokens.Scopes, AppVersion: state.AppVersion, SealedToken: sealed,
	})
}

// List returns the caller's own links.
func (o ProviderLinks) List(ctx context.Context, org catalog.OrgID) ([]catalog.ProviderLink, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return nil, err
	}
	if err := o.Apps.require(ctx, org); err != nil {
		return nil, err
	}
	return o.Apps.Store.ProviderLinks(ctx, org, a.User)
}

// Unlink removes the caller's link, and revokes it at the provider if that is possible.
func (o ProviderLinks) Unlink(ctx context.Context, org catalog.OrgID, providerName string) error {
	a, err := linking(ctx, org)
	if err != nil {
		return err
	}
	if err := o.Apps.require(ctx, org); err != nil {
		return err
	}
	system := authz.System(ctx, "revoke provider link")
	key := catalog.ProviderLinkKey{Org: org, Provider: catalog.Provider(providerName), User: a.User}
	token, tokenErr := o.Apps.Store.ProviderLinkToken(system, key)
	if err := o.Apps.Store.DeleteProviderLink(ctx, key); err != nil {
		return err
	}
	// The link is gone, whatever the provider answers.
	at, err := o.Apps.Providers.Provider(providerName)
	if err != nil || tokenErr != nil {
		return nil
	}
	tokens, tokenErr := openTokens(o.Apps.Keys, key, token.Sealed)
	if app, _, err := o.Apps.app(system, org, key.Provider); err == nil && tokenErr == nil {
		revokeToken(system, at, app, tokens.Refresh)
	}
	return nil
}

// revokeToken revokes a token as far as the provider allows.
func revokeToken(ctx context.Context, at *provider.Provider, app provider.App, refresh string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTime)
	defer cancel()
	_ = at.Revoke(ctx, app, refresh) // the token expires at the provider at some time
}

func sealTokens(keys Keyring, k catalog.ProviderLinkKey, tokens provider.Tokens) ([]byte, error) {
	plain, err := json.Marshal(tokens)
	if err != nil {
		return nil, fmt.Errorf("encode tokens of a link: %w", err)
	}
	return keys.Seal(linkBinding(k), plain)
}

func openTokens(keys Keyring, k catalog.ProviderLinkKey, sealed []byte) (tokens provider.Tokens, err error) {
	plain, err := keys.Open(linkBinding(k), sealed)
	if err != nil {
		return tokens, err
	}
	if json.Unmarshal(plain, &tokens) != nil {
		return tokens, errors.New("tokens of a link cannot be decoded") // the cause would quote them
	}
	return tokens, nil
}
