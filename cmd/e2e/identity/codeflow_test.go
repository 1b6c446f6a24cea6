package identity_test

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// hidden finds the hidden fields of a form.
var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// submit sends the first form of one of the server's pages with values for its fields.
func (b *browser) submit(p page, values url.Values) page {
	b.Helper()
	require.Equal(b, http.StatusOK, p.status, "%s: %s", p.address, p.body)
	form := action.FindSubmatch(p.body)
	require.NotNil(b, form, "%s", p.body)
	target, err := p.address.Parse(html.UnescapeString(string(form[1])))
	require.NoError(b, err)
	fields, _, _ := bytes.Cut(p.body[bytes.Index(p.body, form[0]):], []byte("</form>"))
	for _, field := range hidden.FindAllSubmatch(fields, -1) {
		values.Set(html.UnescapeString(string(field[1])), html.UnescapeString(string(field[2])))
	}
	return b.send(target.String(), values)
}

// onward finds the address at which a page makes the browser continue.
var onward = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]+)">`)

// open follows the redirects of a reply that stay on the server.
func (b *browser) open(p page, server string) page {
	b.Helper()
	for range 10 {
		if next := onward.FindSubmatch(p.body); next != nil {
			p.location = server + html.UnescapeString(string(next[1]))
		}
		if p.location == "" || !strings.HasPrefix(p.location, server+"/") {
			return p
		}
		p = b.send(p.location, nil)
	}
	b.Fatal("too many redirects")
	return p
}

// setFirstPassword sets a person's password by a link in an e-mail.
func setFirstPassword(t *testing.T, s *harness.Server, b *browser, email string) {
	t.Helper()
	s.Client("", "").OK("POST", "/v1/auth/recover", object{"email": email})
	p := b.submit(b.send(mailedLink(t, s, email, "/set-password"), nil),
		url.Values{"password": {firstPassword}, "repeat": {firstPassword}})
	require.Contains(t, string(p.body), "Password set")
}

// answered returns the parameters that a client receives.
func answered(t *testing.T, p page, redirect, server string) url.Values {
	t.Helper()
	require.True(t, strings.HasPrefix(p.location, redirect+"?"), "%d %s %s", p.status, p.location, p.body)
	u, err := url.Parse(p.location)
	require.NoError(t, err)
	require.Equal(t, server, u.Query().Get("iss"))
	require.Equal(t, "state-of-the-client", u.Query().Get("state"))
	return u.Query()
}

// TestProgramsActForPeople follows the code flow of the built-in client and of a client of
// an organisation, from the sign-in page to a query and to the end of the session.
func TestProgramsActForPeople(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Regional("sales")
	from, org := s.Schema+".sales", s.Boot.OrganisationID
	s.Policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	ana := s.Member("ana@acme.example", "editor", map[string]string{"region": "a"})
	b := newBrowser(t)
	setFirstPassword(t, s, b, "ana@acme.example")
	endpoint := oauth2.Endpoint{AuthURL: s.URL + "/oauth2/authorize", TokenURL: s.URL + "/oauth2/token", AuthStyle: oauth2.AuthStyleInParams}

	cli := oauth2.Config{ClientID: "lakewarden", RedirectURL: "http://127.0.0.1:7777/callback", Endpoint: endpoint}
	verifier := oauth2.GenerateVerifier()
	b = newBrowser(t)
	p := b.open(b.send(cli.AuthCodeURL("state-of-the-client", oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("org", org), oauth2.SetAuthURLParam("login_hint", "ana@acme.example")), nil), s.URL)
	require.Contains(t, string(p.body), `value="ana@acme.example"`)
	refusedPage := b.submit(p, url.Values{"email": {"ana@acme.example"}, "password": {"not the password at all"}})
	require.Empty(t, refusedPage.location)
	p = b.open(b.submit(p, url.Values{"email": {"ana@acme.example"}, "password": {firstPassword}}), s.URL)
	require.Contains(t, string(p.body), "127.0.0.1:7777")
	p = b.submit(p, url.Values{"decision": {"allow"}})
	token, err := cli.Exchange(t.Context(), answered(t, p, cli.RedirectURL, s.URL).Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	c := s.Client(token.AccessToken, ana.User)
	require.Equal(t, "editor", c.OK("GET", "/v1/me", nil)["role"])
	require.Equal(t, 2.0, c.Count(from), "the person's attributes")
	token, err = cli.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	require.NoError(t, err)
	require.Equal(t, 2.0, s.Client(token.AccessToken, ana.User).Count(from))

	made := s.Admin.Call("POST", "/v1/organisations/"+org+"/clients", object{"name": "Dashboards",
		"redirectUris": list{"https://dash.example/cb"}, "scopes": list{"tables:query"}})
	require.Equal(t, 201, made.Status, "%s", made.Body)
	app := oauth2.Config{ClientID: made.JSON(t)["client"].(object)["id"].(string), ClientSecret: made.JSON(t)["clientSecret"].(string),
		RedirectURL: "https://dash.example/cb", Endpoint: endpoint}
	ask := func() page {
		return b.open(b.send(app.AuthCodeURL("state-of-the-client", oauth2.S256ChallengeOption(verifier)), nil), s.URL)
	}
	p = ask()
	require.Contains(t, string(p.body), "Dashboards")
	require.Contains(t, string(p.body), "dash.example")
	p = b.submit(p, url.Values{"decision": {"deny"}})
	require.Equal(t, "access_denied", answered(t, p, app.RedirectURL, s.URL).Get("error"))
	p = b.submit(ask(), url.Values{"decision": {"allow"}})
	token, err = app.Exchange(t.Context(), answered(t, p, app.RedirectURL, s.URL).Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	dash := s.Client(token.AccessToken, ana.User)
	require.Equal(t, 2.0, dash.Count(from))
	refused(t, dash, 403, "insufficient_scope", "POST", "/v1/api-keys", object{"name": "stays", "scopes": list{"tables:query"}})
	refused(t, dash, 403, "insufficient_scope", "GET", "/v1/organisations/"+org+"/users", nil)

	// The organisation's log has the sign-in once for each program, however many tokens it got.
	audited := func(action string) list {
		return s.Admin.OK("GET", "/v1/organisations/"+org+"/audit?action="+action, nil)["entries"].(list)
	}
	require.Eventually(t, func() bool { return len(audited("token.issued")) == 3 && len(audited("sign_in")) == 2 }, time.Minute,
		50*time.Millisecond)
	for i, client := range []string{app.ClientID, cli.ClientID} { // newest first
		entry := audited("sign_in")[i].(object)
		require.Equal(t, ana.User, entry["userId"])
		require.Equal(t, client, entry["details"].(object)["client"])
		require.Equal(t, "password", entry["details"].(object)["method"])
		require.NotEmpty(t, entry["remote"])
	}

	s.Admin.OK("DELETE", "/v1/organisations/"+org+"/clients/"+app.ClientID, nil)
	require.Equal(t, 401, dash.Call("GET", "/v1/me", nil).Status)
	require.Equal(t, 2.0, c.Count(from), "other clients go on")
	setFirstPassword(t, s, newBrowser(t), "ana@acme.example")
	require.Equal(t, 401, c.Call("GET", "/v1/me", nil).Status, "a new password ends all sessions")
	_, err = cli.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	require.Error(t, err)
}
