package oauth

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// authorization is an authorization request whose client and redirect URI are verified.
type authorization struct {
	client   *registered
	redirect *url.URL
	state    string
	// flow is nil until the whole request is valid.
	flow   fosite.AuthorizeRequester
	scopes auth.ScopeSet
	org    uuid.UUID
	// openID reports that the client asks who the person is.
	openID bool
	nonce  string
	// answered reports that the person has answered the question for consent.
	answered bool
	signInRule
}

// Authorize serves the authorization endpoint. Its parameters are in the query, also of a
// POST, whose body belongs to the page that asks for consent.
func (s *Server) Authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	of, signedIn := s.pages.SignedIn(r)
	if s.mustSignIn(w, r, query, signedIn) {
		return
	}
	a, err := s.verifyRedirect(r.Context(), query, of)
	if err != nil {
		// The redirect URI is not verified, so the error is shown to the browser.
		out := s.refusalOf(r.Context(), err)
		s.monitor.Refused(r, Event{Kind: KindCode, Client: bounded(query.Get("client_id")), Reason: out.code})
		s.showRefusal(w, r, out)
		return
	}
	err = s.validate(r.Context(), a, query)
	switch {
	case err != nil:
		s.refuse(w, r, a, of, err)
		return
	case signedIn && a.satisfied(of):
	case a.silent:
		s.refuse(w, r, a, of, fosite.ErrLoginRequired)
		return
	default:
		s.pages.SignIn(w, r, r.URL.Path+"?"+a.afterSignIn(r.URL), query.Get("login_hint"))
		return
	}
	org, done, err := s.chooseOrganisation(w, r, a, of)
	if done {
		return
	}
	if err == nil {
		org, _, err = s.organisation(r.Context(), of, a.client.Client, org)
	}
	if err != nil {
		s.refuse(w, r, a, of, err)
		return
	}
	// Consent is never remembered, not even for the built-in client. Otherwise a page of another origin
	// could have a code sent to any process on the person's machine.
	if a.silent {
		s.refuse(w, r, a, of, fosite.ErrConsentRequired)
		return
	}
	_, _, native := nativeRedirect(a.client.uri)
	approved, done := s.pages.Consent(w, r, ConsentRequest{
		Session: of, Client: a.client.Client, Org: org, Scopes: a.scopes, OpenID: a.openID, Redirect: a.redirect.Host, Native: native,
	})
	if done {
		return
	}
	if a.answered = true; !approved {
		s.refuse(w, r, a, of, fosite.ErrAccessDenied)
		return
	}
	s.issueCode(w, r, a, of, org)
}

// verifyRedirect finds the client of a request and verifies the redirect URI.
func (s *Server) verifyRedirect(ctx context.Context, query url.Values, of session.Session) (*authorization, error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(query[name]) > 1 {
			return nil, fosite.ErrInvalidRequest.WithHint("A parameter is repeated.")
		}
	}
	c, err := s.findFor(ctx, query.Get("client_id"), of)
	if err != nil {
		return nil, err
	}
	if c.Service != uuid.Nil {
		return nil, fosite.ErrUnauthorizedClient.WithHint("A service account does not act for people.")
	}
	redirect, err := c.redirect(query.Get("redirect_uri"))
	if err != nil {
		return nil, err
	}
	a := &authorization{client: &registered{Client: c, uri: query.Get("redirect_uri")}, redirect: redirect}
	if state := query["state"]; len(state) == 1 {
		a.state = state[0]
	}
	return a, nil
}

// noState stands for the state of a request without one, which fosite refuses. A client may do without
// it, because the challenge, which every request needs, protects the person as well (RFC 9700 §2.1).
const noState = "no-state"

// challenge matches the S256 form of a code challenge.
var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// validate checks the rest of a request.
func (s *Server) validate(ctx context.Context, a *authorization, query url.Values) (err error) {
	if err := once(query); err != nil {
		return err
	}
	for name, refused := range map[string]*fosite.RFC6749Error{
		"request": fosite.ErrRequestNotSupported, "request_uri": fosite.ErrRequestURINotSupported,
		"registration": fosite.ErrRegistrationNotSupported,
	} {
		if query.Has(name) {
			return refused
		}
	}
	complete := maps.Clone(query)
	if a.state == "" {
		complete.Set("state", noState)
	}
	plain := &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: complete.Encode()}}
	flow, err := s.flows.NewAuthorizeRequest(context.WithValue(ctx, clientKey{}, a.client), plain.WithContext(ctx))
	if err != nil {
		return err
	}
	switch {
	case query.Get("code_challenge_method") != "S256" || !challenge.MatchString(query.Get("code_challenge")):
		return fosite.ErrInvalidRequest.WithHint("The request needs a code_challenge with the method S256.")
	case len(a.state) > 1000:
		return fosite.ErrInvalidRequest.WithHint("The parameter state is too long.")
	}
	if a.nonce = query.Get("nonce"); len(a.nonce) > 1000 {
		return fosite.ErrInvalidRequest.WithHint("The parameter nonce is too long.")
	}
	if a.openID, a.scopes, err = narrowed(query.Get("scope"), a.client.Scopes); err != nil {
		return err
	}
	if err := s.checkResource(query); err != nil {
		return err
	}
	if a.org, err = organisationOf(query); err != nil {
		return err
	}
	if a.signInRule, err = signInRuleOf(query, s.now()); err != nil {
		return err
	}
	a.flow = flow
	return nil
}

// requested returns the scopes that a request names.
func requested(names []string, allowed auth.ScopeSet) (auth.ScopeSet, error) {
	for _, name := range names {
		if !allowed.Has(auth.Scope(name)) {
			return auth.ScopeSet{}, fosite.ErrInvalidScope.WithHint("A scope is unknown, or not one of the client's.")
		}
	}
	return auth.StoredScopes(names), nil
}

// narrowed returns the scopes of a request for authorization, and whether it has the scope openid. A
// request without scopes asks for all scopes of the client. Scopes that the client does not have are
// left out, because programs often request all of scopes_supported. The reply names the scopes that
// the program gets (RFC 6749 §3.3).
func narrowed(text string, allowed auth.ScopeSet) (openID bool, scopes auth.ScopeSet, err error) {
	openID, names := openIDOf(text)
	if len(names) == 0 && !openID {
		return false, allowed, nil
	}
	if scopes, err = requested(names, auth.AllScopes()); err != nil {
		return false, scopes, err
	}
	if scopes = scopes.Intersect(allowed); scopes.Empty() && !openID {
		err = fosite.ErrInvalidScope.WithHint("The client has none of the requested scopes.")
	}
	return openID, scopes, err
}

// errTarget is the refusal of tokens for another server (RFC 8707 §2).
var errTarget = &fosite.RFC6749Error{ErrorField: "invalid_target", CodeField: http.StatusBadRequest,
	DescriptionField: "The parameter resource must be the URL of this server."}

// checkResource refuses a request for tokens for another server.
func (s *Server) checkResource(parameters url.Values) error {
	resource := parameters.Get("resource")
	if rest, own := strings.CutPrefix(resource, s.issuer); resource != "" && (!own || rest != "" && rest[0] != '/') {
		return errTarget
	}
	return nil
}

// organisationOf returns the organisation that a request names, or [uuid.Nil].
func organisationOf(parameters url.Values) (uuid.UUID, error) {
	text := parameters.Get("org")
	if text == "" {
		return uuid.Nil, nil
	}
	org, err := uuid.Parse(text)
	if err != nil || org == uuid.Nil || org.String() != text {
		return uuid.Nil, fosite.ErrInvalidRequest.WithHint("The parameter org must be the id of an organisation.")
	}
	return org, nil
}

// issueCode starts a session of the client and sends its code to the client. The session
// shares the origin of the browser's, and ends with the user's sessions at the provider.
func (s *Server) issueCode(w http.ResponseWriter, r *http.Request, a *authorization, of session.Session, org uuid.UUID) {
	created, err := s.sessions.CreateSession(r.Context(), session.Session{
		User: of.User, Org: limitOf(of, a.client.Client, org), Client: a.client.ID, Parent: of.ID, Method: of.Method,
		Issuer: of.Issuer, Subject: of.Subject, ProviderSession: of.ProviderSession, ExpiresAt: s.now().Add(SessionLife),
	})
	if err != nil {
		s.refuse(w, r, a, of, err)
		return
	}
	// What ended the user's sessions before this one existed has ended the browser's.
	if parent, err := s.sessions.Session(r.Context(), of.ID); err != nil || !parent.Live(s.now()) {
		if err == nil || errors.Is(err, session.ErrNotFound) {
			err = fosite.ErrLoginRequired
		}
		s.refuse(w, r, a, of, errors.Join(err, s.sessions.RevokeSession(r.Context(), created.ID)))
		return
	}
	a.flow.SetID(created.ID.String())
	response, err := s.flows.NewAuthorizeResponse(r.Context(), a.flow, &granted{
		session: created, org: org, scopes: a.scopes, openID: a.openID, nonce: a.nonce, signedIn: of.CreatedAt,
	})
	if err != nil {
		s.refuse(w, r, a, of, err)
		return
	}
	s.monitor.Issued(r, Event{Kind: KindCode, Client: a.client.ID, User: of.User, Org: org, Session: created.ID})
	s.redirect(w, a, response.GetParameters())
}

// limitOf returns the organisation that a session of a client is limited to. org is that of its first
// tokens.
func limitOf(of session.Session, c Client, org uuid.UUID) uuid.UUID {
	switch {
	case c.Org != uuid.Nil:
		return c.Org
	case c.Open:
		return org
	}
	return of.Org
}

// trusts reports whether an error may lead the browser to the client, which anybody can
// register for an organisation (RFC 9700 §4.11.2): the built-in client is on the person's
// own machine, others are those of an organisation that the person belongs to, and the person has
// answered the question about an open client.
func (s *Server) trusts(ctx context.Context, of session.Session, a *authorization) bool {
	switch {
	case a.client.ID == FirstParty:
		return true
	case a.client.Open:
		return a.answered
	case of.ID == uuid.Nil:
		return false
	}
	_, _, err := s.organisation(ctx, of, a.client.Client, uuid.Nil)
	return err == nil
}

// refuse sends an error to the client, or shows it to a person who is not to be sent there.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, a *authorization, of session.Session, err error) {
	out := s.refusalOf(r.Context(), err)
	if errors.Is(err, fosite.ErrInvalidClient) { // not a code of this endpoint
		out.code = "unauthorized_client"
	}
	s.monitor.Refused(r, Event{Kind: KindCode, Client: a.client.ID, User: of.User, Org: a.org, Reason: out.code})
	if !s.trusts(r.Context(), of, a) {
		s.showRefusal(w, r, out)
		return
	}
	s.redirect(w, a, url.Values{"error": {out.code}, "error_description": {out.description}})
}

// redirect answers an authorization request at the verified redirect URI. The issuer lets
// clients that use several servers recognise mixed-up replies (RFC 9207).
func (s *Server) redirect(w http.ResponseWriter, a *authorization, parameters url.Values) {
	if parameters.Set("state", a.state); a.state == "" {
		parameters.Del("state")
	}
	parameters.Set("iss", s.issuer)
	target := *a.redirect
	if target.RawQuery != "" {
		target.RawQuery += "&"
	}
	target.RawQuery += parameters.Encode()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Location", target.String())
	w.WriteHeader(http.StatusSeeOther)
}

// showRefusal shows an error that no client may learn of.
func (s *Server) showRefusal(w http.ResponseWriter, r *http.Request, out refusal) {
	if out.status == http.StatusUnauthorized { // there is nothing to authenticate with
		out.status = http.StatusBadRequest
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.fail(w, r, out)
		return
	}
	out.setRetryAfter(w)
	s.pages.Refuse(w, out.status, out.description)
}
