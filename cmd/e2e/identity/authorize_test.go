package identity_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// setPassword gives an account a password by an e-mail, and returns the token of the link.
func setPassword(t *testing.T, s *harness.Server, email, password string) string {
	t.Helper()
	s.Client("", "").OK("POST", "/v1/auth/recover", object{"email": email})
	link, err := url.Parse(mailedLink(t, s, email, "/set-password"))
	require.NoError(t, err)
	token := link.Query().Get("token")
	reply := harness.NewBrowser(t).Submit(link.String(), "token", token, "password", password, "repeat", password)
	require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
	return token
}

// program is a client that people sign in to.
type program struct {
	testing.TB
	oauth2.Config
	url     string
	replies chan url.Values
}

// newProgram starts a program that receives the replies to authorization requests.
func newProgram(t *testing.T, s *harness.Server) *program {
	p := &program{TB: t, replies: make(chan url.Values, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reply" {
			p.replies <- r.URL.Query()
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!DOCTYPE html><html lang=en><link rel=icon href=data:,><title>Done</title><p>Close this page.")
		}
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	p.Config = oauth2.Config{ClientID: "lakewarden", RedirectURL: server.URL + "/reply", Endpoint: oauth2.Endpoint{
		AuthURL: s.URL + "/oauth2/authorize", TokenURL: s.URL + "/oauth2/token", AuthStyle: oauth2.AuthStyleInParams,
	}}
	return p
}

// tokens exchanges the code of the last reply.
func (p *program) tokens(verifier string) *oauth2.Token {
	p.Helper()
	reply := p.reply()
	require.Empty(p, reply.Get("error"), "%v", reply)
	require.Equal(p, state, reply.Get("state"))
	token, err := p.Exchange(p.Context(), reply.Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(p, err)
	return token
}

func (p *program) reply() url.Values {
	p.Helper()
	select {
	case reply := <-p.replies:
		return reply
	case <-time.After(time.Minute):
		p.Fatal("no reply")
		return nil
	}
}

const (
	owner = "admin@acme.example"
	state = "a state of the program"
)

func TestPeopleSignInToProgramsInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	setPassword(t, s, owner, firstPassword)
	p := newProgram(t, s)
	verifier := oauth2.GenerateVerifier()
	address := p.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("org", s.Boot.OrganisationID),
		oauth2.SetAuthURLParam("login_hint", owner))
	browse(t, s, []string{p.url},
		step{"open": address}, step{"url": s.URL + "/signin"}, step{"value": object{"E-mail address": owner}}, step{"focus": "Password"},
		step{"fill": object{"Password": "not the password"}}, step{"click": "Sign in"}, step{"see": "There is a problem"},
		step{"fill": object{"Password": firstPassword}}, step{"click": "Sign in"},
		step{"see": "Allow access?"}, step{"see": "on this computer"}, step{"see": strings.TrimPrefix(p.url, "http://")}, step{"see": "Acme"},
		step{"click": "Allow"}, step{"url": p.RedirectURL}, step{"see": "Close this page."},
	)
	token := p.tokens(verifier)
	c := s.Client(token.AccessToken, s.Boot.UserID)
	me := c.OK("GET", "/v1/me", nil)
	require.Equal(t, s.Boot.UserID, me["userId"])
	require.Equal(t, s.Boot.OrganisationID, me["organisationId"])
	refreshed, err := p.TokenSource(context.Background(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	require.NoError(t, err)
	require.NotEqual(t, token.RefreshToken, refreshed.RefreshToken)

	other := p.signIn(t, s, firstPassword)
	refused(t, c, 422, "invalid_field", "PUT", "/v1/me/password", object{"current": "not the password", "new": secondPassword})
	require.Equal(t, 200, s.Client(other.AccessToken, "").Call("GET", "/v1/me", nil).Status)
	c.OK("PUT", "/v1/me/password", object{"current": firstPassword, "new": secondPassword})
	require.Equal(t, 401, s.Client(other.AccessToken, "").Call("GET", "/v1/me", nil).Status, "other sessions end with the old password")
	require.Equal(t, 200, c.Call("GET", "/v1/me", nil).Status, "the own session goes on")
	refused(t, s.Admin, 403, "sign_in_required", "PUT", "/v1/me/password", object{"current": secondPassword, "new": firstPassword})

	setPassword(t, s, owner, firstPassword)
	require.Equal(t, 401, c.Call("GET", "/v1/me", nil).Status, "a recovered password ends all sessions")
	_, err = p.TokenSource(context.Background(), &oauth2.Token{RefreshToken: refreshed.RefreshToken}).Token()
	require.Error(t, err)
}

// signIn signs the owner in without a screen.
func (p *program) signIn(t *testing.T, s *harness.Server, password string) *oauth2.Token {
	t.Helper()
	verifier := oauth2.GenerateVerifier()
	address := p.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("org", s.Boot.OrganisationID))
	returnTo := strings.TrimPrefix(address, s.URL)
	who := harness.NewBrowser(t)
	reply := who.Submit(s.URL+"/signin", "email", owner, "password", password, "return_to", returnTo)
	require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
	require.Contains(t, html.UnescapeString(string(reply.Body)), "url="+returnTo)
	reply = who.Post(address, url.Values{"form_token": {who.FormToken(address)}, "decision": {"allow"}})
	require.Equal(t, http.StatusSeeOther, reply.Status)
	who.Open(reply.Header.Get("Location"))
	return p.tokens(verifier)
}

func TestPeopleGiveTheirConsentInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	setPassword(t, s, owner, firstPassword)
	p := newProgram(t, s)
	made := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/clients", object{
		"name": "Report <b>tool</b>", "public": true, "redirectUris": []string{p.RedirectURL}, "scopes": []string{"org:read", "tables:query"},
	})
	require.Equal(t, 201, made.Status, "%s", made.Body)
	p.ClientID = made.JSON(t)["client"].(object)["id"].(string)
	verifier := oauth2.GenerateVerifier()
	address := p.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier))
	signIn := []step{
		{"open": address}, {"url": s.URL + "/signin"}, {"fill": object{"E-mail address": owner, "Password": firstPassword}},
		{"click": "Sign in"}, {"see": "Allow access?"}, {"see": "Report <b>tool</b>"}, {"see": owner}, {"see": "Acme"},
		{"see": "Read the rows that you may read"},
	}
	browse(t, s, []string{p.url}, append(signIn, step{"click": "Deny"}, step{"url": p.RedirectURL})...)
	require.Equal(t, "access_denied", p.reply().Get("error"))
	browse(t, s, []string{p.url}, append(signIn, step{"click": "Allow"}, step{"url": p.RedirectURL}, step{"see": "Close this page."})...)
	c := s.Client(p.tokens(verifier).AccessToken, s.Boot.UserID)
	require.ElementsMatch(t, []string{"org:read", "tables:query"}, harness.ScopesOf(t, c.OK("GET", "/v1/me", nil)))
}

func TestPasswordsAndLinksLeaveNoTrace(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	link := setPassword(t, s, owner, firstPassword)
	who := harness.NewBrowser(t)
	reply := who.Submit(s.URL+"/signin", "email", owner, "password", firstPassword)
	require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
	reply = who.Submit(s.URL+"/signin", "email", owner, "password", secondPassword)
	require.Contains(t, string(reply.Body), "is wrong")
	address, err := url.Parse(s.URL)
	require.NoError(t, err)
	secrets := []string{link, firstPassword, secondPassword}
	for _, c := range who.Jar.Cookies(address) {
		secrets = append(secrets, c.Value)
	}
	require.Len(t, secrets, 6)
	for _, secret := range secrets {
		require.NotContains(t, s.Log.String(), secret)
		require.Empty(t, harness.Leaked(t, s, secret), secret)
	}
	require.Contains(t, s.Log.String(), `"route":"/set-password"`)
}

func TestPeopleSignInAtTheirOrganisationInABrowser(t *testing.T) {
	t.Parallel()
	const email = "ada@acme.example"
	s := startSSO(t, object{"ada": object{"email": email, "email_verified": true, "name": "Ada", "role": "editor"}})
	issuer := s.Admin.OK("GET", ssoPath(s), nil)["issuer"].(string)
	p := newProgram(t, s)
	verifier := oauth2.GenerateVerifier()
	address := p.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("org", s.Boot.OrganisationID))
	browse(t, s, []string{p.url, issuer},
		step{"open": address}, step{"url": s.URL + "/signin"}, step{"fill": object{"E-mail address": "nobody@elsewhere.example"}},
		step{"click": "Use single sign-on"}, step{"see": "No single sign-on is known for this address."},
		step{"fill": object{"E-mail address": strings.ToUpper(email)}}, step{"click": "Use single sign-on"},
		step{"url": issuer}, step{"type": object{"input[name=login]": "ada", "input[name=password]": "any"}}, step{"click": "Sign-in"},
		step{"click": "Continue"}, step{"see": "Allow access?"}, step{"click": "Allow"},
		step{"url": p.RedirectURL}, step{"see": "Close this page."},
	)
	c := s.Client(p.tokens(verifier).AccessToken, "")
	me := c.OK("GET", "/v1/me", nil)
	require.Equal(t, email, me["email"])
	require.Equal(t, "editor", me["role"])
	require.Equal(t, s.Boot.OrganisationID, me["organisationId"])
}

// TestAPasswordIsOfNoUseWithSingleSignOn checks that an organisation that turns to single
// sign-on refuses people who signed in by password, also those who did before.
func TestAPasswordIsOfNoUseWithSingleSignOn(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	setPassword(t, s, owner, firstPassword)
	p := newProgram(t, s)
	before := p.signIn(t, s, firstPassword)
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	org := catalog.OrgID(s.Boot.OrganisationID)
	_, err = store.PutSSOConfig(t.Context(), org, catalog.NewSSOConfig{
		Issuer: "https://idp.example", ClientID: "c", SealedSecret: []byte("sealed"), DefaultRole: catalog.RoleViewer,
		MaxRole: catalog.RoleViewer, Domains: []string{"acme.example"},
	})
	require.NoError(t, err)
	_, err = store.VerifyEmailDomain(t.Context(), org, "acme.example", catalog.DomainByOperator)
	require.NoError(t, err)
	require.NoError(t, store.Close())

	_, err = p.TokenSource(context.Background(), &oauth2.Token{RefreshToken: before.RefreshToken}).Token()
	require.Error(t, err, "a refresh asks again")
	who := harness.NewBrowser(t)
	reply := who.Submit(s.URL+"/signin", "email", owner, "password", firstPassword)
	require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
	verifier := oauth2.GenerateVerifier()
	reply = who.Open(p.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("org", s.Boot.OrganisationID)))
	require.Equal(t, http.StatusSeeOther, reply.Status)
	target, err := url.Parse(reply.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "access_denied", target.Query().Get("error"), "%s", target)
	require.Contains(t, target.Query().Get("error_description"), "sso_required: the organisation Acme (")
	require.Empty(t, target.Query().Get("code"))

	s.Client("", "").OK("POST", "/v1/auth/recover", object{"email": owner})
	s.Stop() // sends the e-mails that wait
	files, err := filepath.Glob(filepath.Join(s.Config.MailDir, "*.eml"))
	require.NoError(t, err)
	require.Empty(t, files, "no link is sent where a password is of no use")
}
