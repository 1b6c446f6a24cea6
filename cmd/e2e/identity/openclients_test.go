package identity_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// openServer starts a server that allows open clients, on which ana has a password.
func openServer(t *testing.T) (*harness.Server, *harness.Client) {
	t.Helper()
	s := harness.Start(t, func(c *harness.Settings) { c.OpenRegistration, c.AllowPrivateEndpoints = true, true })
	ana := s.Member("ana@acme.example", "editor", nil)
	setFirstPassword(t, s, newBrowser(t), "ana@acme.example")
	return s, ana
}

func flow(s *harness.Server, client, redirect string, scopes ...string) oauth2.Config {
	return oauth2.Config{ClientID: client, RedirectURL: redirect, Scopes: scopes, Endpoint: oauth2.Endpoint{
		AuthURL: s.URL + "/oauth2/authorize", TokenURL: s.URL + "/oauth2/token", AuthStyle: oauth2.AuthStyleInParams}}
}

// ask requests a code and returns the page that follows, after a sign-in if the browser needs one.
func ask(b *browser, s *harness.Server, config oauth2.Config, email string, options ...oauth2.AuthCodeOption) (page, string) {
	b.Helper()
	verifier := oauth2.GenerateVerifier()
	p := b.open(b.send(config.AuthCodeURL("state-of-the-client", append(options, oauth2.S256ChallengeOption(verifier))...), nil), s.URL)
	if strings.Contains(string(p.body), `name="password"`) {
		p = b.open(b.submit(p, url.Values{"email": {email}, "password": {firstPassword}}), s.URL)
	}
	return p, verifier
}

// allow agrees to a request for consent, and returns the tokens.
func allow(t *testing.T, b *browser, s *harness.Server, config oauth2.Config, p page, verifier string) *oauth2.Token {
	t.Helper()
	p = b.submit(p, url.Values{"decision": {"allow"}})
	token, err := config.Exchange(t.Context(), answered(t, p, config.RedirectURL, s.URL).Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	return token
}

func TestProgramsRegisterThemselves(t *testing.T) {
	t.Parallel()
	s, ana := openServer(t)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	nobody := s.Client("", "")
	body := object{"client_name": "Editor", "redirect_uris": list{"http://127.0.0.1/callback"}, "token_endpoint_auth_method": "none",
		"grant_types": list{"authorization_code", "refresh_token"}, "response_types": list{"code"},
		"scope": "openid tables:read tables:query org:read users:write"}
	made := nobody.Call("POST", "/oauth2/register", body)
	require.Equal(t, 201, made.Status, "%s", made.Body)
	id := made.JSON(t)["client_id"].(string)
	require.Equal(t, "org:read tables:query tables:read", made.JSON(t)["scope"], "it cannot manage people")
	require.Equal(t, "none", made.JSON(t)["token_endpoint_auth_method"])
	require.NotContains(t, made.JSON(t), "client_secret")
	require.Equal(t, 404, s.Admin.Call("GET", "/oauth2/register/"+id, nil).Status)
	require.Equal(t, 404, s.Admin.Call("GET", org+"/clients/"+id, nil).Status)
	require.Equal(t, true, document(t, s, "/.well-known/oauth-authorization-server")["client_id_metadata_document_supported"])

	config := flow(s, id, "http://127.0.0.1:49152/callback")
	b := newBrowser(t)
	p, _ := ask(b, s, config, "ana@acme.example")
	require.Equal(t, 403, p.status)
	require.Contains(t, string(p.body), "only programs that it registered itself")
	require.Equal(t, "own", s.Admin.OK("GET", org, nil)["config"].(object)["clients"])
	require.Equal(t, "open", s.Admin.OK("PATCH", org+"/config", object{"clients": "open"})["config"].(object)["clients"])
	p, verifier := ask(b, s, config, "ana@acme.example")
	for _, text := range []string{"Nobody has checked this program", "Editor", "Acme", "127.0.0.1:49152", "on this computer"} {
		require.Contains(t, string(p.body), text)
	}
	require.NotContains(t, string(p.body), "your other organisations")
	token := allow(t, b, s, config, p, verifier)
	c := s.Client(token.AccessToken, ana.User)
	require.Equal(t, "editor", c.OK("GET", "/v1/me", nil)["role"])
	refused(t, c, 403, "sign_in_required", "GET", "/v1/me/sessions", nil)

	s.Admin.OK("PATCH", org+"/config", object{"clients": "own"})
	require.Equal(t, 401, c.Call("GET", "/v1/me", nil).Status)
	_, err := config.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	require.ErrorContains(t, err, "invalid_grant")
}

func TestWrongRegistrationsOfPrograms(t *testing.T) {
	t.Parallel()
	s, _ := openServer(t)
	nobody := s.Client("", "")
	body := object{"client_name": "Editor", "redirect_uris": list{"http://127.0.0.1/callback"}, "token_endpoint_auth_method": "none"}
	for name, c := range map[string]struct {
		change object
		code   string
	}{
		"redirect URI":           {object{"redirect_uris": list{"http://evil.example/"}}, "invalid_redirect_uri"},
		"scheme of redirect URI": {object{"redirect_uris": list{"app:/callback"}}, "invalid_redirect_uri"},
		"no redirect URI":        {object{"redirect_uris": list{}}, "invalid_redirect_uri"},
		"name":                   {object{"client_name": "Lakewarden Desktop"}, "invalid_client_metadata"},
		"a secret":               {object{"token_endpoint_auth_method": "client_secret_basic"}, "invalid_client_metadata"},
		"a service account":      {object{"grant_types": list{"client_credentials"}}, "invalid_client_metadata"},
		"scope":                  {object{"scope": "everything"}, "invalid_client_metadata"},
		"only scopes of others":  {object{"scope": "users:write"}, "invalid_client_metadata"},
	} {
		wrong := object{}
		for _, from := range []object{body, c.change} {
			for key, value := range from {
				wrong[key] = value
			}
		}
		reply := nobody.Call("POST", "/oauth2/register", wrong)
		require.Equal(t, 400, reply.Status, "%s: %s", name, reply.Body)
		require.Equal(t, c.code, reply.JSON(t)["error"], name)
	}
	wrongKey := s.Client("made up", "").Call("POST", "/oauth2/register", body)
	require.Equal(t, 401, wrongKey.Status, "a wrong credential is not the same as none")
	limited := false
	for range 100 {
		reply := nobody.Call("POST", "/oauth2/register", body)
		if limited = reply.Status == 429; limited {
			require.Equal(t, "temporarily_unavailable", reply.JSON(t)["error"])
			require.NotEmpty(t, reply.Header.Get("Retry-After"))
			break
		}
		require.Equal(t, 201, reply.Status, "%s", reply.Body)
	}
	require.True(t, limited)
	require.Equal(t, 201, s.Admin.Call("POST", "/oauth2/register", body).Status, "administrators are not limited by strangers")

	closed := harness.Shared(t)
	require.Equal(t, 401, closed.Client("", "").Call("POST", "/oauth2/register", body).Status, "the default")
	require.NotContains(t, document(t, closed, "/.well-known/oauth-authorization-server"), "client_id_metadata_document_supported")
}

// publish serves a document of a client, and returns its URL and a count of requests.
func publish(t *testing.T, change object) (address string, asked *int) {
	asked = new(int)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		body := object{"client_id": address, "client_name": "Notes", "redirect_uris": list{"https://notes.example/cb"}, "scope": "tables:read"}
		for name, value := range change {
			body[name] = value
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	address = server.URL + "/client.json"
	return address, asked
}

func TestProgramsWithDocuments(t *testing.T) {
	t.Parallel()
	s, ana := openServer(t)
	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/config", object{"clients": "open"})
	address, asked := publish(t, nil)
	config := flow(s, address, "https://notes.example/cb")
	b := newBrowser(t)
	signIn := b.open(b.send(config.AuthCodeURL("state-of-the-client", oauth2.S256ChallengeOption("v")), nil), s.URL)
	require.Contains(t, string(signIn.body), `name="password"`)
	require.Zero(t, *asked, "for people who have signed in only")
	p, verifier := ask(b, s, config, "ana@acme.example")
	for _, text := range []string{"Nobody has checked this program", "Notes",
		strings.TrimPrefix(strings.TrimSuffix(address, "/client.json"), "https://"), "notes.example", "See tables and their columns"} {
		require.Contains(t, string(p.body), text)
	}
	token := allow(t, b, s, config, p, verifier)
	require.Equal(t, "editor", s.Client(token.AccessToken, ana.User).OK("GET", "/v1/me", nil)["role"])
	require.Equal(t, 1, *asked, "the document is cached for a short time")

	for name, c := range map[string]struct {
		change object
		text   string
	}{
		"the product's name": {object{"client_name": "Lakewarden"}, "must not imitate"},
		"a redirect URI":     {object{"redirect_uris": list{"http://notes.example/cb"}}, "must be an https URL"},
		"another client":     {object{"client_id": address}, "client_id is not its URL"},
	} {
		wrong, _ := publish(t, c.change)
		p, _ := ask(b, s, flow(s, wrong, "https://notes.example/cb"), "ana@acme.example")
		require.Equal(t, 400, p.status, name)
		require.Contains(t, string(p.body), c.text, name)
	}
	elsewhere, _ := ask(b, s, flow(s, address, "https://evil.example/cb"), "ana@acme.example")
	require.Equal(t, 400, elsewhere.status)
	require.Empty(t, elsewhere.location)
}

// TestDocumentsOfPrivateAddressesAreNotRead checks that documents pass the check of addresses.
func TestDocumentsOfPrivateAddressesAreNotRead(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.OpenRegistration = true })
	s.Member("ana@acme.example", "editor", nil)
	setFirstPassword(t, s, newBrowser(t), "ana@acme.example")
	address, asked := publish(t, nil)
	p, _ := ask(newBrowser(t), s, flow(s, address, "https://notes.example/cb"), "ana@acme.example")
	require.Equal(t, 400, p.status)
	require.Contains(t, string(p.body), "cannot be read")
	require.Zero(t, *asked)
}

func TestPeopleChooseTheOrganisationOfAProgram(t *testing.T) {
	t.Parallel()
	s, ana := openServer(t)
	boss, boot := s.Organisation("globex")
	second := boot.OrganisationID
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	_, err = store.AddMember(t.Context(), catalog.OrgID(second), catalog.UserID(ana.User), catalog.RoleViewer)
	require.NoError(t, err)
	for org, admin := range map[string]*harness.Client{s.Boot.OrganisationID: s.Admin, second: boss} {
		admin.OK("PATCH", "/v1/organisations/"+org+"/config", object{"clients": "open"})
	}
	made := s.Client("", "").Call("POST", "/oauth2/register", object{"redirect_uris": list{"http://127.0.0.1/callback"},
		"token_endpoint_auth_method": "none"})
	require.Equal(t, 201, made.Status, "%s", made.Body)
	config := flow(s, made.JSON(t)["client_id"].(string), "http://127.0.0.1:1234/callback")
	b := newBrowser(t)
	p, _ := ask(b, s, config, "ana@acme.example")
	require.Contains(t, string(p.body), "Choose an organisation")
	require.Contains(t, string(p.body), "Acme")
	require.Contains(t, string(p.body), "globex")
	require.Contains(t, string(p.body), "org="+second)
	p, verifier := ask(b, s, config, "ana@acme.example", oauth2.SetAuthURLParam("org", second))
	require.Contains(t, string(p.body), "globex")
	token := allow(t, b, s, config, p, verifier)
	require.Equal(t, second, s.Client(token.AccessToken, ana.User).OK("GET", "/v1/me", nil)["organisationId"])
}
