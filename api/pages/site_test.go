package pages_test

import (
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/api/pages"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

const (
	ada     = "ada@acme.example"
	good    = "tangerine umbrella"
	better  = "seven quiet lighthouses"
	link    = "link-token"
	next    = "/oauth2/authorize?client_id=c&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&state=s"
	hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`
)

// useCases are fakes of the use cases that the pages call. They count changes.
type useCases struct {
	signIn  error // of every sign-in, if set
	account error // of every link, if set
	changes []string
	live    map[string]session.Session
}

func (u *useCases) Password(_ context.Context, email, text string, from identity.Origin) (identity.SignedIn, error) {
	u.changes = append(u.changes, "sign in")
	switch {
	case u.signIn != nil:
		return identity.SignedIn{}, u.signIn
	case from.Remote == "":
		return identity.SignedIn{}, errors.New("no address of the client")
	case email != ada || text != good:
		return identity.SignedIn{}, identity.ErrCredential
	}
	in := identity.SignedIn{
		Session: session.Session{ID: uuid.New(), User: uuid.New()}, Cookie: session.NewSecret(), Known: from.Known + "known",
	}
	u.live[in.Cookie] = in.Session
	return in, nil
}

func (u *useCases) Browser(_ context.Context, cookie string) (session.Session, error) {
	if s, ok := u.live[cookie]; ok {
		return s, nil
	}
	return session.Session{}, session.ErrNotFound
}

func (u *useCases) Began(_ context.Context, cookie string, by session.Session) error {
	if older, ok := u.live[cookie]; ok && older.ID != by.ID {
		u.changes = append(u.changes, "replace sign-in")
		delete(u.live, cookie)
	}
	return nil
}

func (u *useCases) Out(_ context.Context, cookie string, _ identity.Origin) error {
	u.changes = append(u.changes, "sign out")
	delete(u.live, cookie)
	return nil
}

func (u *useCases) Request(_ context.Context, email string, _ identity.Origin) error {
	u.changes = append(u.changes, "request "+email)
	if !strings.Contains(email, "@") {
		return fault.Invalid("email", "must be an e-mail address")
	}
	return nil
}

func (u *useCases) Account(_ context.Context, token string) (string, error) {
	if u.account != nil || token != link {
		return "", errors.Join(u.account, identity.ErrLink)
	}
	return ada, nil
}

func (u *useCases) SetPassword(_ context.Context, token, text string, _ identity.Origin) error {
	if err := password.Check(text, ada); err != nil {
		return fault.Invalid("new", "%s", err.Error())
	}
	if token != link || u.account != nil {
		return identity.ErrLink
	}
	u.changes = append(u.changes, "set password")
	u.account = identity.ErrLink
	return nil
}

func (u *useCases) Names(context.Context, uuid.UUID, uuid.UUID) (string, string, error) {
	return hostile, hostile, nil
}

// invited is the fake of [pages.Joining] for an invitation of ada.
type invited struct {
	*useCases
	known bool
	used  bool
}

func (i *invited) Open(_ context.Context, token string) (open catalog.OpenInvitation, err error) {
	if token != link || i.used {
		return open, identity.ErrLink
	}
	open.Org, open.InviterName, open.InviterEmail = "the-id", hostile, "ben@acme.example"
	open.Email, open.Organisation, open.Role, open.Password = ada, hostile, catalog.RoleViewer, i.known
	return open, nil
}

func (i *invited) WithNewPassword(ctx context.Context, token, name, text string, from identity.Origin) (in identity.SignedIn, err error) {
	if _, err := i.Open(ctx, token); err != nil {
		return in, err
	}
	switch {
	case i.known:
		return in, &catalog.ExistsError{Field: "password"}
	case name == "":
		return in, fault.Invalid("display_name", "must not be empty")
	case password.Check(text, ada) != nil:
		return in, fault.Invalid("password", "must be another one")
	}
	i.used = true
	i.changes = append(i.changes, "joined as "+name)
	return i.useCases.Password(ctx, ada, good, from)
}

func (i *invited) WithPassword(ctx context.Context, token, text string, from identity.Origin) (in identity.SignedIn, err error) {
	if _, err := i.Open(ctx, token); err != nil {
		return in, err
	}
	if in, err = i.useCases.Password(ctx, ada, text, from); err == nil {
		i.used = true
	}
	return in, err
}

// provider is single sign-on for one domain.
type provider struct{ begun []string }

func (p *provider) BeginAtProvider(_ context.Context, email, returnTo string) (string, error) {
	if !strings.HasSuffix(email, "@sso.example") {
		return "", nil
	}
	p.begun = append(p.begun, email+" "+returnTo)
	return "https://idp.example/authorize?state=x&login_hint=" + url.QueryEscape(email), nil
}

// confirmations is the fake of [pages.Confirmations] for a browser that has the cookie of a proposal
// of the user own.
type confirmations struct {
	*useCases
	own  session.Session
	fail error
}

const proposed = "proposal"

func (c *confirmations) Pending(_ context.Context, r binding.Request) (p binding.Proposal, own bool, err error) {
	if r.Proposal != proposed {
		return p, false, binding.ErrNothing
	}
	p = binding.Proposal{Org: catalog.OrgID(uuid.NewString()), Issuer: "https://idp.example", Subject: hostile, Email: ada, ReturnTo: next}
	return p, r.Browser != "" && c.live[r.Browser].ID == c.own.ID, nil
}

func (c *confirmations) Confirm(ctx context.Context, r binding.Request) (binding.Proposal, error) {
	p, own, err := c.Pending(ctx, r)
	switch {
	case err != nil:
		return p, err
	case !own:
		return p, binding.ErrOther
	case c.fail != nil:
		return p, c.fail
	}
	c.changes = append(c.changes, "confirm")
	return p, nil
}

func (c *confirmations) ConfirmToken(_ context.Context, token string, r binding.Request) (p binding.Proposal, err error) {
	if _, signedIn := c.live[r.Browser]; !signedIn {
		return p, binding.ErrOther
	}
	if token != good {
		return p, fault.Invalid("token", "must be valid")
	}
	c.changes = append(c.changes, "confirm token")
	return p, nil
}

// site is a server with the pages, and a browser.
type site struct {
	testing.TB
	*useCases
	pages *pages.Pages
	sso   *provider
	*invited
	confirmations *confirmations
	url           string
	// scopes are what a client asks consent for.
	scopes auth.ScopeSet
	ask    oauth.ConsentRequest // of the client, without its scopes
	// among are the organisations to choose from, or none.
	among []session.Organisation
	*http.Client
}

func newSite(t testing.TB) *site {
	s := &site{TB: t, useCases: &useCases{live: map[string]session.Session{}}, sso: &provider{}, scopes: auth.AllScopes(),
		ask: oauth.ConsentRequest{Client: oauth.Client{Name: hostile, Org: uuid.New()}, Redirect: "app.example"}}
	s.invited = &invited{useCases: s.useCases}
	s.confirmations = &confirmations{useCases: s.useCases}
	s.pages = &pages.Pages{
		SignIns: s.useCases, Recovery: s.useCases, Names: s.useCases,
		Joining: s.invited, SSO: s.sso, Confirmations: s.confirmations, Cookies: browser.NewCookies("http://lake.example"),
	}
	r := chi.NewRouter()
	s.pages.Routes(r)
	authorize := func(w http.ResponseWriter, r *http.Request) {
		if s.among != nil {
			s.pages.Choose(w, r, s.ask.Client, s.among)
			return
		}
		s.ask.Scopes = s.scopes
		approved, done := s.pages.Consent(w, r, s.ask)
		if !done {
			s.useCases.changes = append(s.useCases.changes, "consent "+map[bool]string{true: "allowed", false: "denied"}[approved])
		}
	}
	r.Get("/oauth2/authorize", authorize)
	r.Post("/oauth2/authorize", authorize)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	s.url = server.URL
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	s.Client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s
}

// reply is a page.
type reply struct {
	*http.Response
	text string
}

func (s *site) send(r *http.Request) reply {
	s.Helper()
	response, err := s.Do(r)
	require.NoError(s, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(s, err)
	return reply{response, string(text)}
}

func (s *site) get(path string) reply {
	s.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	require.NoError(s, err)
	return s.send(r)
}

var tokenInput = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

// token returns the token of the form of a page.
func (s *site) token(shown reply) string {
	s.Helper()
	found := tokenInput.FindStringSubmatch(shown.text)
	require.NotNil(s, found, shown.text)
	return html.UnescapeString(found[1])
}

// form returns the POST of a form, as a browser sends it.
func (s *site) form(path, token string, fields ...string) *http.Request {
	s.Helper()
	values := url.Values{"form_token": {token}}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(values.Encode()))
	require.NoError(s, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Origin", "null") // as browsers do for pages without a referrer
	return r
}

// submit fills in the form of a page.
func (s *site) submit(page, path string, fields ...string) reply {
	s.Helper()
	return s.send(s.form(path, s.token(s.get(page)), fields...))
}

func (s *site) signInAs(t testing.TB) {
	t.Helper()
	r := s.submit(identity.SignInPath, identity.SignInPath, "email", ada, "password", good)
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
}
