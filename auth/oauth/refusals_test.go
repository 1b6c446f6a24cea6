package oauth_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sqlstore"
)

// authorize requests a code with changed parameters. A nil value removes a parameter.
func (w *world) authorize(c *oauth2.Config, change map[string][]string) *http.Response {
	w.Helper()
	u, err := url.Parse(c.AuthCodeURL(state, oauth2.S256ChallengeOption(oauth2.GenerateVerifier())))
	require.NoError(w, err)
	query := u.Query()
	for name, values := range change {
		query[name] = values
	}
	u.RawQuery = query.Encode()
	return w.visit(u.String())
}

// TestRedirectTricks checks that no code and no error goes to an address that is not the
// client's.
func TestRedirectTricks(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		client  oauth.Client
		allowed []string
		tricks  []string
	}{
		{w.app, []string{"https://app.example/callback", "https://app.example/callback?tenant=1"}, []string{
			"", "https://evil.example/callback", "https://app.example.evil.example/callback", "https://evil.app.example/callback",
			"https://app.example/callback/", "https://app.example/callback/../evil", "https://app.example/callback%2f..%2fevil",
			"https://app.example@evil.example/callback", "https://user@app.example/callback", "https://app.example/callback#fragment",
			"https://app.example/callback?tenant=2", "https://app.example/callback?", "https://APP.example/callback",
			"HTTPS://app.example/callback", "http://app.example/callback", "https://app.example:443/callback", "//app.example/callback",
			"/callback", "javascript:alert(1)", "https:app.example/callback", "https://app.example\\@evil.example/callback",
			"https://app.example/callback\r\nLocation: https://evil.example", " https://app.example/callback", "https://app.example/Callback",
		}},
		{w.public, []string{"http://127.0.0.1/cb", "http://127.0.0.1:8080/cb", "http://127.0.0.1:65535/cb"}, []string{
			"http://user@127.0.0.1/cb", "http://localhost/cb", "https://127.0.0.1/cb", "http://127.0.0.1/cb#f", "http://127.0.0.1:65536/cb",
			"http://127.0.0.1:8080/cb/", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/cb?x=1", "http://[::1]:8080/cb",
			"http://127.0.0.1:8080@evil.example/cb",
		}},
		{oauth.Client{ID: oauth.FirstParty}, []string{
			"http://127.0.0.1:1/", "http://127.0.0.1:65535/callback", "http://[::1]:8080/a/b", "http://localhost:3000/callback", "http://localhost",
		}, []string{
			"", "https://evil.example/", "https://127.0.0.1:1/", "http://127.0.0.1.evil.example/", "http://localhost.evil.example/",
			"http://evil.localhost:1/", "http://LOCALHOST:1/", "http://localhost:1@evil.example/", "http://user@127.0.0.1:1/",
			"http://127.0.0.1@evil.example/", "http://127.0.0.1:1#@evil.example/", "http://127.0.0.1\\.evil.example/", "http://127.1:1/",
			"http://127.0.0.2:1/", "http://0x7f000001:1/", "http://2130706433/", "http://0.0.0.0:1/", "http://[::ffff:127.0.0.1]:1/",
			"http://[::]:1/", "http://127.0.0.1:65536/", "http://127.0.0.1:0/", "http://127.0.0.1:/", "http://127.0.0.1:1/a/../../b",
			"http://127.0.0.1:1/%2e%2e/b", "http://127.0.0.1:1//evil.example", "http://127.0.0.1:1/?next=x", "http://127.0.0.1:1/#f",
			"http://localhost.:1/", "http://127.0.0.1 .evil.example/", "http:127.0.0.1:1/", "http:///127.0.0.1/", "http://ⓛocalhost:1/",
		}},
	} {
		config := w.config(c.client, "")
		for _, uri := range c.allowed {
			got := w.redirected(w.authorize(config, map[string][]string{"redirect_uri": {uri}}), uri)
			require.NotEmpty(t, got.Get("code"), uri)
		}
		for _, uri := range c.tricks {
			for name, change := range map[string]map[string][]string{
				"a valid request": {}, "no state": {"state": nil}, "a wrong response type": {"response_type": {"token"}},
				"form_post": {"response_mode": {"form_post"}},
			} {
				change["redirect_uri"] = []string{uri}
				resp := w.authorize(config, change)
				require.Equal(t, http.StatusBadRequest, resp.StatusCode, "%q, %s", uri, name)
				require.Empty(t, resp.Header.Get("Location"), uri)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.NotContains(t, string(body), "evil", "the reply does not link there")
			}
		}
	}
}

func TestStatesAreOptional(t *testing.T) {
	w := newWorld(t)
	got := w.redirected(w.authorize(w.cli(), map[string][]string{"state": nil}), w.cli().RedirectURL)
	require.NotEmpty(t, got.Get("code"), "%v", got)
	require.NotContains(t, got, "state")
}

func TestRequestsForACodeAreValidated(t *testing.T) {
	w := newWorld(t)
	c := w.cli()
	for name, r := range map[string]struct {
		change map[string][]string
		code   string
	}{
		"short state":         {map[string][]string{"state": {"1234567"}}, "invalid_request"},
		"long state":          {map[string][]string{"state": {strings.Repeat("x", 1001)}}, "invalid_request"},
		"repeated state":      {map[string][]string{"state": {state, state}}, "invalid_request"},
		"implicit":            {map[string][]string{"response_type": {"token"}}, "unsupported_response_type"},
		"hybrid":              {map[string][]string{"response_type": {"code token"}}, "unsupported_response_type"},
		"no response type":    {map[string][]string{"response_type": nil}, "unsupported_response_type"},
		"fragment":            {map[string][]string{"response_mode": {"fragment"}}, "unsupported_response_mode"},
		"form_post":           {map[string][]string{"response_mode": {"form_post"}}, "unsupported_response_mode"},
		"no challenge":        {map[string][]string{"code_challenge": nil}, "invalid_request"},
		"plain challenge":     {map[string][]string{"code_challenge_method": {"plain"}}, "invalid_request"},
		"no method":           {map[string][]string{"code_challenge_method": nil}, "invalid_request"},
		"short challenge":     {map[string][]string{"code_challenge": {"abc"}}, "invalid_request"},
		"unknown scope":       {map[string][]string{"scope": {"tables:read everything"}}, "invalid_scope"},
		"preset":              {map[string][]string{"scope": {"admin"}}, "invalid_scope"},
		"organisation's name": {map[string][]string{"org": {"main"}}, "invalid_request"},
		"nil organisation":    {map[string][]string{"org": {uuid.Nil.String()}}, "invalid_request"},
		"audience":            {map[string][]string{"audience": {"https://elsewhere.example"}}, "invalid_request"},
		"request object":      {map[string][]string{"request": {"e30.e30."}}, "request_not_supported"},
		"request URI":         {map[string][]string{"request_uri": {"https://evil.example/r"}}, "request_uri_not_supported"},
		"pushed request":      {map[string][]string{"request_uri": {"urn:ietf:params:oauth:request_uri:x"}}, "request_uri_not_supported"},
		"registration":        {map[string][]string{"registration": {"{}"}}, "registration_not_supported"},
		"control characters":  {map[string][]string{"scope": {"a\"b\x00"}}, "invalid_scope"},
		"scope of another client": {
			map[string][]string{"client_id": {w.app.ID}, "redirect_uri": {w.app.RedirectURIs[0]}, "scope": {"rows:insert"}},
			"invalid_scope",
		},
	} {
		redirect := c.RedirectURL
		if uri := r.change["redirect_uri"]; uri != nil {
			redirect = uri[0]
		}
		got := w.redirected(w.authorize(c, r.change), redirect)
		require.Equal(t, r.code, got.Get("error"), name)
		require.Empty(t, got.Get("code"), name)
		require.NotEmpty(t, got.Get("error_description"), name)
		require.Equal(t, r.code, w.last().Reason, name)
	}
	for name, change := range map[string]map[string][]string{
		"unknown client":        {"client_id": {uuid.NewString()}},
		"no client":             {"client_id": nil},
		"two clients":           {"client_id": {w.app.ID, oauth.FirstParty}},
		"a service account":     {"client_id": {w.service.ID}},
		"two redirect URIs":     {"redirect_uri": {c.RedirectURL, "https://evil.example/"}},
		"another client's page": {"client_id": {w.app.ID}},
	} {
		resp := w.authorize(c, change)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, name)
		require.Empty(t, resp.Header.Get("Location"), name)
	}
}

func TestFormsAreBoundedAndStrict(t *testing.T) {
	w := newWorld(t)
	const encoded = "application/x-www-form-urlencoded"
	assertion := url.QueryEscape("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	for name, c := range map[string]struct {
		kind, body, query, code string
		status                  int
	}{
		"JSON":                 {"application/json", `{"grant_type":"client_credentials"}`, "", "invalid_request", 400},
		"multipart":            {"multipart/form-data; boundary=x", "--x--", "", "invalid_request", 400},
		"no type":              {"", "grant_type=client_credentials", "", "invalid_request", 400},
		"parameter in a query": {encoded, "grant_type=client_credentials", "?client_id=x", "invalid_request", 400},
		"repeated":             {encoded, "grant_type=client_credentials&grant_type=password", "", "invalid_request", 400},
		"broken":               {encoded, "a=%zz", "", "invalid_request", 400},
		"too large":            {encoded, "a=" + strings.Repeat("b", oauth.MaxForm), "", "invalid_request", 413},
		"no grant type":        {encoded, "a=b", "", "invalid_request", 400},
		"password":             {encoded, "grant_type=password&username=a&password=b", "", "unsupported_grant_type", 400},
		"implicit":             {encoded, "grant_type=implicit", "", "unsupported_grant_type", 400},
		"an assertion": {encoded, "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=x", "",
			"unsupported_grant_type", 400},
		"two grant types": {encoded, "grant_type=client_credentials+refresh_token", "", "unsupported_grant_type", 400},
		"no client":       {encoded, "grant_type=client_credentials", "", "invalid_request", 400},
		"client assertion": {encoded, "grant_type=client_credentials&client_assertion=e30.e30.&client_assertion_type=" + assertion, "",
			"invalid_client", 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.http.URL+"/oauth2/token"+c.query, strings.NewReader(c.body))
		require.NoError(t, err)
		if c.kind != "" {
			req.Header.Set("Content-Type", c.kind)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		var body map[string]string
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&body), name)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, c.status, resp.StatusCode, "%s: %v", name, body)
		require.Equal(t, c.code, body["error"], name)
	}
}

func TestFailedClientsAreCounted(t *testing.T) {
	w := newWorld(t)
	form := url.Values{"grant_type": {"client_credentials"}}
	status, _, header := w.post("/oauth2/token", form, w.service.ID, "wrong")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, header.Get("WWW-Authenticate"), "Basic")
	require.Contains(t, w.events, oauth.Event{Kind: "client", Client: w.service.ID})
	w.wait = 3 * time.Second
	for _, path := range []string{"/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"} {
		status, _, header = w.post(path, form, w.service.ID, "wrong")
		require.Equal(t, http.StatusTooManyRequests, status, path)
		require.Equal(t, "3", header.Get("Retry-After"))
	}
	_, err := w.robotToken()
	require.NoError(t, err, "a valid credential is never refused")
}

func TestClientsThatGetTooManyTokensWait(t *testing.T) {
	w := newWorld(t)
	form := url.Values{"grant_type": {"client_credentials"}}
	w.limited = map[string]bool{w.service.ID: true}
	status, _, _ := w.post("/oauth2/token", form, w.service.ID, "wrong")
	require.Equal(t, http.StatusUnauthorized, status, "only the right secret learns of the limit")
	status, body, header := w.post("/oauth2/token", form, w.service.ID, w.secret)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Equal(t, "temporarily_unavailable", body["error"])
	require.Equal(t, "2", header.Get("Retry-After"))
	require.Equal(t, oauth.Event{Kind: "client_credentials", Client: w.service.ID, Reason: "temporarily_unavailable"}, w.last())
	w.limited = nil
	_, err := w.robotToken()
	require.NoError(t, err)
}

func TestRevocation(t *testing.T) {
	w := newWorld(t)
	org := oauth2.SetAuthURLParam("org", w.org.String())
	revoke := func(token string, form url.Values, credentials ...string) int {
		form.Set("token", token)
		status, _, _ := w.post("/oauth2/revoke", form, credentials...)
		return status
	}
	first := url.Values{"client_id": {oauth.FirstParty}}
	for _, kind := range []string{"refresh_token", "access_token"} {
		token, bystander := w.signIn(w.cli(), org), w.signIn(w.cli(), org)
		revoked := map[string]string{"refresh_token": token.RefreshToken, "access_token": token.AccessToken}[kind]
		require.Equal(t, http.StatusOK, revoke(revoked, url.Values{}, w.app.ID, w.secret), "another client's token")
		w.principal(token.AccessToken)
		require.Equal(t, http.StatusUnauthorized, revoke(revoked, url.Values{}, w.app.ID, "wrong"))
		require.Equal(t, http.StatusOK, revoke(revoked, first))
		_, err := w.tokens.Authenticate(t.Context(), token.AccessToken)
		require.ErrorIs(t, err, auth.ErrRevoked)
		_, err = refresh(t.Context(), w.cli(), token.RefreshToken)
		w.refusal("invalid_grant", err)
		w.principal(bystander.AccessToken)
		require.Equal(t, http.StatusOK, revoke(revoked, first), "idempotent")
	}
	require.Equal(t, http.StatusOK, revoke("nonsense", first))
	status, body, _ := w.post("/oauth2/revoke", url.Values{"client_id": {oauth.FirstParty}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "invalid_request", body["error"])

	robot, err := w.robotToken()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, revoke(robot.AccessToken, url.Values{}, w.service.ID, w.secret))
	_, err = w.tokens.Authenticate(t.Context(), robot.AccessToken)
	require.ErrorIs(t, err, auth.ErrRevoked)
}

func TestIntrospection(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.org.String()))
	introspect := func(token string, credentials ...string) (int, map[string]any) {
		status, body, _ := w.post("/oauth2/introspect", url.Values{"token": {token}}, credentials...)
		return status, body
	}
	status, body := introspect(token.AccessToken, w.app.ID, w.secret)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, true, body["active"])
	require.Equal(t, w.ada.String(), body["sub"])
	require.Equal(t, w.org.String(), body["org"])
	require.Equal(t, oauth.FirstParty, body["client_id"])
	require.Equal(t, auth.RoleEditor.Scopes().String(), body["scope"], "those of the present role")
	require.EqualValues(t, w.now().Add(15*time.Minute).Unix(), body["exp"])

	inactive := map[string]any{"active": false}
	other := w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.other.String()))
	for name, text := range map[string]string{"another organisation": other.AccessToken, "a refresh token": token.RefreshToken,
		"nonsense": "x", "a changed token": token.AccessToken[:len(token.AccessToken)-8] + "AAAAAAAA"} {
		status, body := introspect(text, w.app.ID, w.secret)
		require.Equal(t, http.StatusOK, status, name)
		require.Equal(t, inactive, body, name)
	}
	for name, credentials := range map[string][]string{"wrong secret": {w.app.ID, "x"}, "a public client": {w.public.ID, ""},
		"the built-in client": {oauth.FirstParty, ""}, "unknown": {uuid.NewString(), w.secret}} {
		status, body := introspect(token.AccessToken, credentials...)
		require.Equal(t, http.StatusUnauthorized, status, name)
		require.Equal(t, "invalid_client", body["error"], name)
	}
	for _, path := range []string{"/oauth2/introspect", "/oauth2/revoke"} {
		status, body, _ := w.post(path, url.Values{"token": {token.AccessToken}})
		require.Equal(t, http.StatusUnauthorized, status, "no credentials")
		require.Equal(t, "invalid_client", body["error"], "no credentials")
		status, body, _ = w.post(path, url.Values{"token": {token.AccessToken}, "client_secret": {w.secret}}, w.app.ID, w.secret)
		require.Equal(t, http.StatusBadRequest, status, "two ways of authentication")
		require.Equal(t, "invalid_request", body["error"], "two ways of authentication")
	}
	sid := uuid.MustParse(part(t, token.AccessToken, 1)["sid"].(string))
	require.NoError(t, w.store.RevokeSession(t.Context(), sid))
	_, body = introspect(token.AccessToken, w.app.ID, w.secret)
	require.Equal(t, inactive, body)
}

func TestForgedTokens(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.org.String())).AccessToken
	header, claims, signature := part(t, token, 0), part(t, token, 1), strings.Split(token, ".")[2]
	encode := func(members map[string]any) string {
		text, err := json.Marshal(members)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	with := func(members map[string]any, name string, value any) map[string]any {
		out := map[string]any{}
		for k, v := range members {
			out[k] = v
		}
		out[name] = value
		return out
	}
	signed := func(claims map[string]any, typ string) string {
		signer, err := w.keys.Sign(t.Context(), (&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
		require.NoError(t, err)
		payload, err := json.Marshal(claims)
		require.NoError(t, err)
		object, err := signer.Sign(payload)
		require.NoError(t, err)
		text, err := object.CompactSerialize()
		require.NoError(t, err)
		return text
	}
	_, err := w.tokens.Authenticate(t.Context(), signed(claims, "at+jwt"))
	require.NoError(t, err, "the forgery works but for what each case changes")
	for name, forged := range map[string]string{
		"none":               encode(with(header, "alg", "none")) + "." + encode(claims) + ".",
		"none, signed":       encode(with(header, "alg", "none")) + "." + encode(claims) + "." + signature,
		"HS256":              encode(with(header, "alg", "HS256")) + "." + encode(claims) + "." + signature,
		"other claims":       encode(header) + "." + encode(with(claims, "sub", w.robot.String())) + "." + signature,
		"unknown key":        encode(with(header, "kid", uuid.NewString())) + "." + encode(claims) + "." + signature,
		"foreign issuer":     signed(with(claims, "iss", "https://evil.example"), "at+jwt"),
		"wrong audience":     signed(with(claims, "aud", "elsewhere"), "at+jwt"),
		"an ID token":        signed(claims, "JWT"),
		"no session":         signed(with(claims, "sid", nil), "at+jwt"),
		"an unknown session": signed(with(claims, "sid", uuid.NewString()), "at+jwt"),
		"expired":            signed(with(claims, "exp", w.now().Unix()), "at+jwt"),
	} {
		_, err := w.tokens.Authenticate(t.Context(), forged)
		require.ErrorIs(t, err, auth.ErrUnauthenticated, name)
		_, body, _ := w.post("/oauth2/introspect", url.Values{"token": {forged}}, w.app.ID, w.secret)
		require.Equal(t, map[string]any{"active": false}, body, name)
	}
}

func TestTokensOutliveARotation(t *testing.T) {
	w := newWorld(t)
	there := w.another()
	before := w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.org.String()))
	_, err := w.keys.Rotate(t.Context())
	require.NoError(t, err)
	w.advance(sqlstore.PublishBefore)
	after, err := refresh(t.Context(), w.cli(), before.RefreshToken)
	require.NoError(t, err)
	require.NotEqual(t, part(t, before.AccessToken, 0)["kid"], part(t, after.AccessToken, 0)["kid"])
	for _, tokens := range []auth.Authenticator{w.tokens, there.tokens} {
		for _, token := range []string{before.AccessToken, after.AccessToken} {
			_, err := tokens.Authenticate(t.Context(), token)
			require.NoError(t, err)
		}
	}
	_, body, _ := w.post("/oauth2/introspect", url.Values{"token": {before.AccessToken}}, w.app.ID, w.secret)
	require.Equal(t, true, body["active"])
	w.advance(oauth.AccessLife - sqlstore.PublishBefore)
	_, err = there.tokens.Authenticate(t.Context(), before.AccessToken)
	require.ErrorIs(t, err, auth.ErrExpired)
	_, err = there.tokens.Authenticate(t.Context(), after.AccessToken)
	require.NoError(t, err)
}

func TestEndOfTheUsersSessionsEndsTheClients(t *testing.T) {
	w := newWorld(t)
	w.browser.Method, w.browser.Issuer, w.browser.Subject, w.browser.ProviderSession, w.browser.Org =
		session.MethodSSO, "https://idp.example", "ada", "1", w.org
	token := w.signIn(w.cli())
	n, err := w.store.RevokeProvider(t.Context(), w.org, "https://idp.example", "", "1")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	_, err = w.tokens.Authenticate(t.Context(), token.AccessToken)
	require.ErrorIs(t, err, auth.ErrRevoked)
	_, err = refresh(t.Context(), w.cli(), token.RefreshToken)
	w.refusal("invalid_grant", err)
}

func TestUnavailableStoreIsNoRefusal(t *testing.T) {
	w := newWorld(t)
	w.refusedAccess = auth.ErrUnavailable
	got := w.redirected(w.authorize(w.cli(), map[string][]string{"org": {w.other.String()}}), "http://127.0.0.1:43211/")
	require.Equal(t, "temporarily_unavailable", got.Get("error"))
	w.refusedAccess = io.ErrUnexpectedEOF
	got = w.redirected(w.authorize(w.cli(), map[string][]string{"org": {w.other.String()}}), "http://127.0.0.1:43211/")
	require.Equal(t, "server_error", got.Get("error"))
	require.NotContains(t, got.Get("error_description"), "EOF")
}
