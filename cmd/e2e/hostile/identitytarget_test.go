package hostile_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

const (
	ownerEmail    = "admin@acme.example"
	ownerPassword = "tangerine umbrella"
	// loopback is the redirect URI of a program of the owner.
	loopback = "http://127.0.0.1:7/cb"
	verifier = "a-verifier-of-enough-characters-for-pkce-0123456789"
)

// identityTarget is a server with an organisation that attackers want to enter.
type identityTarget struct {
	*harness.Server
	people harness.Signer
	store  *sqlstore.Store
	org    string // the path of the organisation
	// browser is the owner's, who has signed in.
	browser *harness.Browser
	// app and robot are the ids of a client and of the client of a service account, and evil
	// is that of a client of the attacker's organisation.
	app, robot, evil string
	// attacker is the administrator of an organisation of the attacker's own.
	attacker *harness.Client
	// invitation is the token of a link to mia@acme.example.
	invitation string
	// trap counts the connections to trapURL, an address that the server must not reach.
	trap    atomic.Int64
	trapURL string
	// secrets are what no reply, log or file holds.
	secrets []string
	before  map[string]string
}

func newIdentityTarget(t *testing.T, change ...func(*harness.Settings)) *identityTarget {
	w := &identityTarget{people: harness.NewSigner(t)}
	w.Server = harness.Start(t, func(c *harness.Settings) {
		for _, f := range change {
			f(c)
		}
		w.people.Trust(c)
		c.Providers = map[string]config.Provider{"provider_two": {Issuer: "https://127.0.0.1:9", Permissions: []string{"storage"}}}
	})
	w.org = "/v1/organisations/" + w.Boot.OrganisationID
	var err error
	w.store, err = w.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.store.Close()) })
	w.setTrap(t)

	w.Client("", "").OK("POST", "/v1/auth/recover", object{"email": ownerEmail})
	link := w.MailedToken(ownerEmail)
	set := harness.NewBrowser(t).Submit(w.URL+"/set-password?token="+link, "token", link, "password", ownerPassword, "repeat", ownerPassword)
	require.Equal(t, http.StatusOK, set.Status, "%s", set.Body)
	w.browser = harness.NewBrowser(t)
	in := w.browser.Submit(w.URL+"/signin", "email", ownerEmail, "password", ownerPassword)
	require.Equal(t, http.StatusOK, in.Status, "%s", in.Body)
	created := func(r harness.Reply) object {
		require.Equal(t, 201, r.Status, "%s", r.Body)
		return r.JSON(t)
	}
	made := func(path string, body object) object { return created(w.Admin.Call("POST", w.org+path, body)) }
	app := made("/clients", object{"name": "App", "redirectUris": []string{"https://app.example/cb"}, "scopes": []string{"tables:read"}})
	robot := made("/service-accounts", object{"name": "Robot", "role": "viewer"})
	w.app, w.robot = app["client"].(object)["id"].(string), robot["clientId"].(string)
	w.Admin.OK("POST", w.org+"/invite", object{"email": "mia@acme.example", "role": "editor"})
	w.invitation = w.MailedToken("mia@acme.example")
	eve := w.Member("eve@acme.example", "viewer", nil).User
	evil := created(w.people.Person(w.Server, eve, "").Call("POST", "/v1/organisations", object{"name": "Evil"}))["id"].(string)
	w.attacker = w.people.Person(w.Server, eve, evil)
	refused := w.attacker.Call("POST", "/v1/organisations/"+evil+"/clients", object{"name": "Lakewarden", "public": true,
		"redirectUris": []string{"https://evil.example/cb"}, "scopes": []string{"tables:read"}})
	require.Equal(t, http.StatusUnprocessableEntity, refused.Status, "%s", refused.Body)
	w.evil = created(w.attacker.Call("POST", "/v1/organisations/"+evil+"/clients", object{"name": "Acme sign-in", "public": true,
		"redirectUris": []string{"https://evil.example/cb"}, "scopes": []string{"tables:read"}}))["client"].(object)["id"].(string)
	w.secrets = []string{ownerPassword, app["clientSecret"].(string), robot["clientSecret"].(string), w.invitation, link}
	address, err := url.Parse(w.URL)
	require.NoError(t, err)
	for _, c := range w.browser.Jar.Cookies(address) {
		w.secrets = append(w.secrets, c.Value)
	}
	w.before = w.state(t)
	return w
}

// setTrap listens at an address that the egress rules forbid.
func (w *identityTarget) setTrap(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	w.trapURL = "https://" + l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.trap.Add(1)
			_ = c.Close()
		}
	}()
}

// state returns what attackers want to change.
func (w *identityTarget) state(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, path := range []string{"", "/users", "/invitations", "/clients", "/service-accounts", "/sso", "/provider-apps", "/workspaces",
		"/analysis-providers", "/users/" + w.Boot.UserID + "/identities"} {
		r := w.Admin.Call("GET", w.org+path, nil, "X-Request-Id", "state")
		out[path] = fmt.Sprint(r.Status, string(r.Body))
	}
	for _, table := range []string{"users", "memberships", "passwords", "organisations", "api_keys", "oauth_clients", "invitations",
		"sso_configs", "email_domains", "provider_apps", "provider_links", "identity_bindings", "analysis_providers",
		"browser_sessions", "signing_keys",
		"token_sessions WHERE revoked_at IS NULL AND client_id = ''"} {
		n, err := sqldb.One(t.Context(), w.store.DB().Read(), sqldb.Value[int64], "SELECT count(*) FROM "+table)
		require.NoError(t, err)
		out[table] = fmt.Sprint(n)
	}
	hash, err := w.store.Password(t.Context(), catalog.UserID(w.Boot.UserID))
	require.NoError(t, err)
	out["password"] = hash
	return out
}

// unharmed checks, after the attacks, that they have changed and learned nothing.
func (w *identityTarget) unharmed(t *testing.T) {
	t.Helper()
	require.Equal(t, w.before, w.state(t))
	require.Zero(t, w.trap.Load(), "the server has connected to a forbidden address")
	require.Contains(t, string(w.browser.Open(w.URL+"/signed-in").Body), "You are signed in", "the owner's browser")
	in := harness.NewBrowser(t).Submit(w.URL+"/signin", "email", ownerEmail, "password", ownerPassword)
	require.Equal(t, http.StatusOK, in.Status, "attacks lock nobody out: %s", in.Body)
	require.NotContains(t, w.Log.String(), `"msg":"panic"`)
	for _, secret := range w.secrets {
		require.Empty(t, harness.Leaked(t, w.Server, secret))
	}
}

// inside are words of the server's inside that replies of these doors have no reason to
// hold.
var inside = regexp.MustCompile(
	`(?i)sqlite|\bpgx\b|goroutine|fosite|runtime error|\.go:\d|json:|unmarshal|dial tcp|\bx509\b|lookup |connection refused`)

// refused checks the reply to an attack: its status, where it leads, and what it says.
func (w *identityTarget) refused(t *testing.T, r harness.Reply, what string, statuses ...int) {
	t.Helper()
	require.Contains(t, statuses, r.Status, "%s: %.300s", what, r.Body)
	text := string(r.Body) + fmt.Sprint(r.Header)
	require.NotRegexp(t, inside, text, what)
	require.NotRegexp(t, engineWords, text, what)
	require.NotContains(t, text, w.Config.DataDir, what)
	require.NotContains(t, text, "<script>", what)
	require.NotContains(t, string(r.Body), "evil.example", what)
	for _, secret := range w.secrets {
		require.NotContains(t, text, secret, what)
	}
	if to := r.Header.Get("Location"); to != "" {
		require.True(t, strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") || strings.HasPrefix(to, loopback+"?"), "%s: %s", what, to)
	}
}

// authorization returns the address of an authorization request of the built-in client with
// changed parameters. An empty value removes a parameter.
func (w *identityTarget) authorization(change ...string) string {
	query := url.Values{"client_id": {"lakewarden"}, "redirect_uri": {loopback}, "response_type": {"code"}, "state": {"a-state-of-mine"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"}, "org": {w.Boot.OrganisationID}}
	for i := 0; i+1 < len(change); i += 2 {
		if change[i+1] == "" {
			query.Del(change[i])
		} else {
			query.Set(change[i], change[i+1])
		}
	}
	return w.URL + "/oauth2/authorize?" + query.Encode()
}

// allow gives the owner's consent to an authorization request.
func (w *identityTarget) allow(request string) harness.Reply {
	return w.browser.Post(request, url.Values{"form_token": {w.browser.FormToken(request)}, "decision": {"allow"}})
}

// code returns a code of the owner for the built-in client.
func (w *identityTarget) code(t *testing.T) string {
	t.Helper()
	r := w.allow(w.authorization())
	to, err := url.Parse(r.Header.Get("Location"))
	require.NoError(t, err)
	require.NotEmpty(t, to.Query().Get("code"), "%d %s %s", r.Status, to, r.Body)
	return to.Query().Get("code")
}
