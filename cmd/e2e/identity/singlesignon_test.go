package identity_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// startSSO starts a server whose organisation signs people in at an identity provider, after it was
// prepared without one.
func startSSO(t *testing.T, accounts object, prepare ...func(*harness.Server)) *harness.Server {
	t.Helper()
	s := harness.Start(t, func(c *harness.Settings) { c.AllowPrivateEndpoints = true })
	for _, step := range prepare {
		step(s)
	}
	issuer := startOIDCProvider(t, s.URL, accounts)
	set := s.Admin.OK("PUT", ssoPath(s), object{"issuer": issuer, "clientId": ssoClientID, "clientSecret": ssoClientSecret,
		"domains": []string{"acme.example"}, "defaultRole": "viewer", "maxRole": "editor", "roleClaim": "role",
		"attributeClaims": object{"team": "department"}})
	require.Equal(t, false, set["domains"].([]any)[0].(object)["verified"])
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	_, err = store.VerifyEmailDomain(t.Context(), catalog.OrgID(s.Boot.OrganisationID), "acme.example", catalog.DomainByOperator)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	return s
}

func ssoPath(s *harness.Server) string { return "/v1/organisations/" + s.Boot.OrganisationID + "/sso" }

// login begins a sign-in in a browser and returns the provider's address.
func login(b *browser, s *harness.Server, email string) string {
	b.Helper()
	reply := b.Send(http.MethodPost, s.URL+"/v1/auth/sso/login", `{"email":"`+email+`"}`, "Content-Type", "application/json")
	require.Equal(b, http.StatusOK, reply.Status, "%s", reply.Body)
	return reply.JSON(b.T)["authorizationUrl"].(string)
}

// signedIn returns a client with the tokens of a sign-in.
func signedIn(b *browser, s *harness.Server, account, email string) (*harness.Client, object) {
	b.Helper()
	p := b.send(b.signIn(login(b, s, email), account, s.URL), nil)
	require.Equal(b, http.StatusOK, p.status, "%s", p.body)
	var tokens object
	require.NoError(b, json.Unmarshal(p.body, &tokens))
	return s.Client(tokens["access_token"].(string), ""), tokens
}

// TestSignInAtACertifiedProvider follows a person from the address to rows that a claim
// allows, and out again.
func TestSignInAtACertifiedProvider(t *testing.T) {
	t.Parallel()
	s := startSSO(t, object{
		"eve": object{"email": "Eve@Acme.example", "email_verified": true, "name": "Eve", "role": "admin", "department": "sales"},
		"kim": object{"email": "kim@elsewhere.example", "email_verified": true},
		"lee": object{"email": "lee@acme.example", "email_verified": false},
	})
	s.Create("orders", nil, harness.Col("id", "long"), harness.Col("team", "string"))
	s.Admin.Write(s.TablePath("orders")+"/rows", harness.RowsOf(object{"id": 1, "team": "sales"}, object{"id": 2, "team": "other"}))
	s.Policy("orders", "team", `{"effect":"permit","subject":{"attribute":"team","op":"eq"}}`)

	b := newBrowser(t)
	eve, tokens := signedIn(b, s, "eve", "eve@acme.example")
	require.Equal(t, "Bearer", tokens["token_type"])
	require.Equal(t, 900.0, tokens["expires_in"])
	require.NotEmpty(t, tokens["refresh_token"])
	me := eve.OK("GET", "/v1/me", nil)
	require.Equal(t, []any{"eve@acme.example", "editor", s.Boot.OrganisationID}, []any{me["email"], me["role"], me["organisationId"]},
		"a member, with the role cut to the highest one")
	require.Equal(t, object{"team": "sales"}, eve.OK("GET", "/v1/me/attributes", nil))
	require.Equal(t, []any{[]any{1.0}}, eve.Rows("SELECT id FROM lake."+s.Schema+".orders"), "the claim is the policy's attribute")

	for account, email := range map[string]string{"kim": "kim@acme.example", "lee": "lee@acme.example"} {
		other := newBrowser(t)
		p := other.send(other.signIn(login(other, s, email), account, s.URL), nil)
		require.Equal(t, http.StatusForbidden, p.status, "%s", p.body)
		require.Contains(t, string(p.body), "sign_in_refused")
	}

	// The callback belongs to one browser and works once.
	back := b.signIn(login(b, s, "eve@acme.example"), "eve", s.URL)
	stolen := newBrowser(t).send(back, nil)
	require.Equal(t, http.StatusBadRequest, stolen.status)
	require.Contains(t, string(stolen.body), "invalid_state")
	require.Equal(t, http.StatusOK, b.send(back, nil).status)
	require.Equal(t, http.StatusBadRequest, b.send(back, nil).status)

	// A sign-out here leads to the provider, which ends what is left.
	second, _ := signedIn(b, s, "eve", "eve@acme.example")
	out := second.OK("POST", "/v1/auth/logout", nil)["logoutUrl"].(string)
	ends := func(c *harness.Client) {
		t.Helper()
		harness.Within(t, "a sign-out", func() bool { return c.Call("GET", "/v1/me", nil).Status == http.StatusUnauthorized })
	}
	ends(second)
	require.Equal(t, http.StatusOK, eve.Call("GET", "/v1/me", nil).Status, "another session")
	ended := b.signOut(out)
	require.Equal(t, http.StatusSeeOther, ended.status, "%s", ended.body)
	require.Equal(t, s.URL+"/signed-out", ended.location)
	ends(eve) // the provider called the server
}

func TestSSOLoginTellsNothingOfAddresses(t *testing.T) {
	t.Parallel()
	s := startSSO(t, object{})
	b := newBrowser(t)
	address := func(email string) *url.URL {
		u, err := url.Parse(login(b, s, email))
		require.NoError(t, err)
		return u
	}
	known, unknown, elsewhere := address("admin@acme.example"), address("nobody@acme.example"), address("somebody@nowhere.example")
	require.Equal(t, known.Host+known.Path, unknown.Host+unknown.Path)
	require.Equal(t, s.URL+"/signin", elsewhere.Scheme+"://"+elsewhere.Host+elsewhere.Path)
	for _, u := range []*url.URL{unknown, elsewhere} {
		for name, values := range known.Query() {
			if name != "login_hint" && name != "client_id" {
				require.Len(t, u.Query().Get(name), len(values[0]), name)
			}
		}
		require.Len(t, u.Query(), len(known.Query()))
	}
	for _, email := range []string{"", "x", "a@b@c.example", "\u0430dmin@acme.example"} {
		code, _ := s.Client("", "").Call("POST", "/v1/auth/sso/login", object{"email": email}).Problem(t, http.StatusUnprocessableEntity)
		require.Equal(t, "invalid_field", code)
	}
}

func TestSSOSettings(t *testing.T) {
	t.Parallel()
	s := startSSO(t, object{})
	got := s.Admin.OK("GET", ssoPath(s), nil)
	require.NotContains(t, got, "clientSecret")
	domain := got["domains"].([]any)[0].(object)
	require.Equal(t, []any{"acme.example", true, "operator"}, []any{domain["domain"], domain["verified"], domain["method"]})
	require.Equal(t, "_lakewarden-challenge.acme.example", domain["record"].(object)["name"])
	require.NotContains(t, s.Log.String(), ssoClientSecret)
	base := object{"issuer": got["issuer"], "clientId": "x", "domains": []string{}, "defaultRole": "viewer"}
	for name, c := range map[string]struct {
		change object
		status int
		code   string
	}{
		"another issuer":  {object{"issuer": s.URL + "/nowhere", "clientSecret": "x"}, 422, "issuer_refused"},
		"no URL":          {object{"issuer": "x", "clientSecret": "x"}, 422, "invalid_field"},
		"no secret":       {object{"issuer": s.URL}, 422, "invalid_field"},
		"a public suffix": {object{"domains": []string{"co.uk"}}, 422, "invalid_field"},
		"a low maximum":   {object{"defaultRole": "admin", "maxRole": "viewer"}, 422, "invalid_field"},
		"another member":  {object{"secret": "x"}, 422, "invalid_field"},
	} {
		body := object{}
		for _, part := range []object{base, c.change} {
			for k, v := range part {
				body[k] = v
			}
		}
		code, _ := s.Admin.Call("PUT", ssoPath(s), body).Problem(t, c.status)
		require.Equal(t, c.code, code, name)
	}
	require.Equal(t, got, s.Admin.OK("GET", ssoPath(s), nil), "nothing has changed")
	narrow, _ := s.Admin.NewKey(object{"scopes": []string{"org:update"}})
	code, _ := narrow.Call("PUT", ssoPath(s), base).Problem(t, http.StatusForbidden)
	require.Equal(t, "role_escalation", code)
	for form, want := range map[string]string{
		"": "invalid_body", "logout_token=x": "invalid_request", "logout_token=x&logout_token=y": "invalid_body",
		"logout_token=%": "invalid_body",
	} {
		r := s.Client("", "").Call("POST", "/v1/auth/sso/backchannel-logout", form, "Content-Type", "application/x-www-form-urlencoded")
		code, _ := r.Problem(t, http.StatusBadRequest)
		require.Equal(t, want, code, form)
	}
	require.Empty(t, s.Admin.OK("DELETE", ssoPath(s), nil))
	s.Admin.Call("GET", ssoPath(s), nil).Problem(t, http.StatusNotFound)
}

// TestSignInsWithoutAProviderEndAtTheCallback checks that a program that begins a sign-in gets its
// tokens whether or not the organisation has single sign-on.
func TestSignInsWithoutAProviderEndAtTheCallback(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	setPassword(t, s, owner, firstPassword)
	begin := func(b *harness.Browser) string {
		reply := b.Send(http.MethodPost, s.URL+"/v1/auth/sso/login", `{"email":"`+owner+`"}`, "Content-Type", "application/json")
		require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
		return reply.JSON(t)["authorizationUrl"].(string)
	}
	// signIn signs in at the page of an address, and returns the address at which it continues.
	returnTo := regexp.MustCompile(`name="return_to" value="([^"]*)"`)
	signIn := func(b *harness.Browser, address string) string {
		shown := returnTo.FindSubmatch(b.Open(address).Body)
		require.NotNil(t, shown)
		next := html.UnescapeString(string(shown[1]))
		reply := b.Submit(s.URL+"/signin", "email", owner, "password", firstPassword, "return_to", next)
		require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
		require.Contains(t, html.UnescapeString(string(reply.Body)), "url="+next)
		return s.URL + next
	}
	b := harness.NewBrowser(t)
	address := begin(b)
	u, err := url.Parse(address)
	require.NoError(t, err)
	callback := s.URL + "/v1/auth/sso/callback?state=" + u.Query().Get("state")

	stranger := harness.NewBrowser(t)
	require.Equal(t, callback, signIn(stranger, address))
	refusedReply := stranger.Open(callback)
	require.Equal(t, http.StatusBadRequest, refusedReply.Status, "it began in another browser: %s", refusedReply.Body)

	require.Equal(t, callback, signIn(b, address))
	reply := b.Open(callback)
	require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
	tokens := reply.JSON(t)
	me := s.Client(tokens["access_token"].(string), "").OK("GET", "/v1/me", nil)
	require.Equal(t, s.Boot.UserID, me["userId"])
	require.Equal(t, http.StatusBadRequest, b.Open(callback).Status, "a state is used once")

	out := harness.NewBrowser(t)
	u, err = url.Parse(begin(out))
	require.NoError(t, err)
	callback = s.URL + "/v1/auth/sso/callback?state=" + u.Query().Get("state")
	require.Equal(t, http.StatusBadRequest, out.Open(callback).Status, "nobody has signed in")
}
