package hostile_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestHostileFormsOpenNoDoor attacks the pages, the callbacks of providers, and links in
// e-mails.
func TestHostileFormsOpenNoDoor(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t)
	const chosen = "a new password of mine"
	pages := map[string]url.Values{
		"/signin":            {"email": {ownerEmail}, "password": {ownerPassword}, "return_to": {"https://evil.example/"}},
		"/signout":           {},
		"/recover":           {"email": {ownerEmail}},
		"/set-password":      {"token": {"made-up"}, "password": {chosen}, "repeat": {chosen}},
		"/accept-invitation": {"token": {w.invitation}, "name": {"Eve"}, "password": {chosen}, "repeat": {chosen}},
	}
	other := harness.NewBrowser(t).FormToken(w.URL + "/signin")
	for page, form := range pages {
		send := func(what string, status int, header ...string) {
			t.Helper()
			w.refused(t, w.browser.Post(w.URL+page, form, header...), page+" "+what, status)
		}
		form.Del("form_token")
		send("without a token", 403)
		form.Set("form_token", other)
		send("with the token of another browser", 403)
		form.Set("form_token", w.browser.FormToken(w.URL+"/signed-in")) // of /signout
		if page != "/signout" {
			send("with the token of another page", 403)
		}
		send("from another site", 403, "Sec-Fetch-Site", "cross-site")
		send("from a sibling", 403, "Sec-Fetch-Site", "same-site")
		send("from another origin", 403, "Origin", "https://evil.example")
		send("as text", 400, "Content-Type", "text/plain")
		send("as JSON", 400, "Content-Type", "application/json")
		form.Set("filler", strings.Repeat("x", 20<<10))
		send("oversized", 400)
		form.Del("filler")
	}
	for _, to := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)",
		"/oauth2/authorize@evil.example",
		"/oauth2/authorize/../../evil.example", "/oauth2/authorize?x\r\nLocation: https://evil.example", "https:evil.example",
		"/oauth2/authorize#evil.example", "\t//evil.example", "/signed-in?evil.example"} {
		r := harness.NewBrowser(t).Open(w.URL + "/signin?return_to=" + url.QueryEscape(to))
		w.refused(t, r, to, 200)
	}
	for _, text := range hostileTexts() {
		q := url.QueryEscape(text)
		for _, path := range []string{"/signin?login_hint=" + q, "/signin?return_to=" + q, "/accept-invitation?token=" + q,
			"/set-password?token=" + q, "/recover?email=" + q} {
			r := w.browser.Open(w.URL + path)
			r.Body = []byte(strings.ReplaceAll(string(r.Body), "https://evil.example/", "")) // in the field that the link fills in
			w.refused(t, r, path, 200, 404)
		}
		for _, path := range []string{"/v1/auth/sso/callback?state=" + q + "&code=x", "/v1/auth/sso/callback?code=" + q,
			"/v1/auth/sso/callback?error=" + q, "/v1/auth/provider/callback?state=" + q + "&code=x", "/v1/auth/provider/callback?error=" + q} {
			w.refused(t, w.browser.Open(w.URL+path, "Cookie", "lakewarden-sso=x; lakewarden-link=x"), path, 400, 422)
		}
	}
	// A sign-in that somebody else has begun is not ended here.
	begun := w.Client("", "").Call("POST", "/v1/auth/sso/login", object{"email": ownerEmail})
	require.Equal(t, 200, begun.Status)
	at, err := url.Parse(begun.JSON(t)["authorizationUrl"].(string))
	require.NoError(t, err)
	state := at.Query().Get("state")
	for _, header := range [][]string{{}, {"Cookie", "lakewarden-sso=x"}, {"Cookie", "lakewarden-sso=" + state},
		{"Cookie", "__Host-lakewarden-sso=" + state}} {
		r := harness.NewBrowser(t).Open(w.URL+"/v1/auth/sso/callback?code=x&state="+state, header...)
		w.refused(t, r, fmt.Sprint(header), 400)
		require.Empty(t, r.Header.Get("Location"))
	}
	for _, token := range []string{
		"", "x", unsigned(`{"alg":"none"}`, `{"iss":"`+w.trapURL+`","aud":"x","jti":"1","sub":"x","iat":1,"events":{`+
			`"http://schemas.openid.net/event/backchannel-logout":{}}}`),
		unsigned(`{"alg":"HS256","jku":"`+w.trapURL+`"}`, `{"iss":"`+w.URL+`","aud":["lakewarden"]}`) + "AAAA", strings.Repeat("x", 60<<10),
		unsigned(`{"alg":"ES256"}`, `{"iss":"' OR 1=1","aud":["`+strings.Repeat(`x","`, 50)+`"]}`) + "AAAA",
	} {
		w.refused(t, w.browser.Post(w.URL+"/v1/auth/sso/backchannel-logout", url.Values{"logout_token": {token}}), "a forged logout", 400)
	}
	// Opening a link uses nothing up.
	for range 3 {
		r := harness.NewBrowser(t).Open(w.URL + "/accept-invitation?token=" + w.invitation)
		require.Equal(t, http.StatusOK, r.Status)
		require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
		require.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"))
	}
	w.unharmed(t)
}

// TestHostileMembersGainNoRights attacks the routes that give rights, as members who have
// few of them and as credentials that are narrower than their owner.
func TestHostileMembersGainNoRights(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t)
	const accept = "/v1/invitations/accept"
	for name, c := range map[string]*harness.Client{"the attacker": w.attacker, "nobody in particular": w.Client("", ""), "a key": w.Admin,
		"the attacker elsewhere": w.people.Person(w.Server, w.attacker.User, "")} {
		for _, token := range []string{w.invitation, w.invitation[:42], strings.ToUpper(w.invitation), "", "' OR 1=1 --", "../" + w.invitation} {
			w.refused(t, c.Call("POST", accept, object{"token": token}), name, 401, 403, 404)
		}
		if name == "a key" {
			continue
		}
		for _, path := range []string{"", "/users", "/invitations", "/clients", "/service-accounts", "/sso", "/provider-apps", "/audit"} {
			w.refused(t, c.Call("GET", w.org+path, nil), name+path, 401, 403, 404)
		}
		for path, body := range map[string]any{"/invite": object{"email": "eve@evil.org", "role": "admin"},
			"/users": object{"email": "eve@acme.example", "role": "admin"}, "/transfer": object{"userId": w.attacker.User}, "/undelete": nil} {
			w.refused(t, c.Call("POST", w.org+path, body), name+path, 401, 403, 404)
		}
	}
	narrow, _ := w.Admin.NewKey(object{"scopes": []string{"users:write", "org:update"}})
	w.before = w.state(t)
	app := w.org + "/clients/" + w.app
	for _, attempt := range []struct {
		method, path string
		body         any
	}{
		{"POST", w.org + "/invite", object{"email": "eve@evil.org", "role": "admin"}},
		{"POST", w.org + "/users", object{"email": "eve@evil.org", "role": "editor"}},
		{"PUT", w.org + "/users/" + w.attacker.User + "/role", object{"role": "admin"}},
		{"POST", w.org + "/clients", object{"name": "x", "redirectUris": []string{"https://x.example/"}, "scopes": []string{"rows:delete"}}},
		{"PATCH", app, object{"redirectUris": []string{"https://x.example/cb"}}}, {"PATCH", app, object{"scopes": []string{"admin"}}},
		{"POST", app + "/rotate-secret", nil}, {"POST", w.org + "/service-accounts", object{"name": "x", "role": "admin"}},
		{"POST", w.org + "/service-accounts", object{"name": "x", "role": "viewer", "scopes": []string{"tables:query"}}},
		{"PUT", w.org + "/sso", object{"issuer": "https://x.example", "clientId": "x", "clientSecret": "x", "domains": []string{"acme.example"},
			"defaultRole": "viewer"}},
		{"POST", "/v1/api-keys", object{"name": "x", "scopes": []string{"users:write"}}}, {"DELETE", w.org, nil},
		{"POST", w.org + "/transfer", object{"userId": w.attacker.User}}, {"POST", "/v1/organisations", object{"name": "x"}},
		{"PUT", "/v1/me/password", object{"current": ownerPassword, "new": "a new password of mine"}},
		{"PUT", w.org + "/users/" + w.Boot.UserID + "/role", object{"role": "viewer"}},
		{"DELETE", w.org + "/users/" + w.Boot.UserID, nil},
	} {
		w.refused(t, narrow.Call(attempt.method, attempt.path, attempt.body), attempt.method+" "+attempt.path, 403, 409)
	}
	for _, email := range []string{"", "x", "a@b@c.example", "\u0430dmin@acme.example", "admin@\u0430cme.example", "x@service.invalid",
		"<x@y.example>", "x@y.example\r\nBcc: z@y.example", "\"x y\"@y.example", "x@[127.0.0.1]", "x@y.example,z@y.example",
		strings.Repeat("x", 250) + "@y.example", "ＡＤＭＩＮ@acme.example", "x@y.example\x00"} {
		for _, path := range []string{w.org + "/invite", w.org + "/users", "/v1/auth/recover", "/v1/auth/sso/login"} {
			body := object{"email": email}
			if path == w.org+"/invite" || path == w.org+"/users" {
				body["role"] = "viewer"
			}
			w.refused(t, w.Admin.Call("POST", path, body), path+email, 400, 422)
		}
	}
	w.unharmed(t)
}

// TestHostileConfigurationsReachNothing attacks the addresses that administrators choose:
// issuers, redirect URIs and tenants.
func TestHostileConfigurationsReachNothing(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t)
	at, err := url.Parse(w.trapURL)
	require.NoError(t, err)
	port := at.Port()
	var first string
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001",
		"0177.0.0.1", "127.0.0.1.", "10.0.0.1", "192.168.0.1", "172.16.0.1", "169.254.169.254", "[fd00::1]", "[fe80::1]", "100.64.0.1"} {
		for _, dry := range []bool{true, false} {
			r := w.Admin.Call("PUT", w.org+"/sso", object{"issuer": "https://" + host + ":" + port, "clientId": "x", "clientSecret": "x",
				"domains": []string{"acme.example"}, "defaultRole": "viewer", "dry_run": dry}, "X-Request-Id", "same")
			w.refused(t, r, host, 422)
			if first == "" {
				first = string(r.Body)
			}
			require.Equal(t, first, string(r.Body), "%s: the reply tells nothing of the network", host)
		}
	}
	for _, issuer := range []string{"http://127.0.0.1:" + port, "file:///etc/passwd", "gopher://127.0.0.1:" + port,
		"https://user@127.0.0.1:" + port,
		w.trapURL + "?x=1", w.trapURL + "#x", "https://", "javascript:alert(1)", "//127.0.0.1", w.trapURL + "\r\nHost: x", "x"} {
		w.refused(t, w.Admin.Call("PUT", w.org+"/sso", object{"issuer": issuer, "clientId": "x", "clientSecret": "x", "domains": []string{},
			"defaultRole": "viewer"}), issuer, 422)
	}
	for _, domain := range []string{"", "com", "co.uk", "localhost", "127.0.0.1", "*.example.org", "a..b", "_x.example.org",
		"x.example.org/", "é.",
		strings.Repeat("x", 64) + ".example.org", "x.example.org\x00"} {
		w.refused(t, w.Admin.Call("PUT", w.org+"/sso", object{"issuer": "https://idp.example.org", "clientId": "x", "clientSecret": "x",
			"domains": []string{domain}, "defaultRole": "viewer"}), domain, 422)
	}
	for _, uri := range []string{"", "http://app.example/cb", "https://app.example/cb#x", "https://user@app.example/cb", "javascript:alert(1)",
		"https://app.example/../cb", "https://app.example/%2e%2e/cb", "https:///cb", "//app.example", "myapp://cb",
		"https://APP.example/cb", "https://app.example\\@x.example/", "http://127.0.0.1.x.example/", "data:text/html,x",
		"https://app.example/\r\nx"} {
		metadata := object{"client_name": "x", "redirect_uris": []string{uri}, "jwks_uri": w.trapURL, "logo_uri": w.trapURL,
			"sector_identifier_uri": w.trapURL, "client_id": uuid.NewString(), "client_secret": "mine"}
		r := w.Admin.Call("POST", "/oauth2/register", metadata)
		w.refused(t, r, uri, 400)
		require.Equal(t, "invalid_redirect_uri", r.JSON(t)["error"], "%s: %s", uri, r.Body)
		w.refused(t, w.Admin.Call("POST", w.org+"/clients", object{"name": "x", "redirectUris": []string{uri}}), uri, 422)
	}
	good := []string{"https://app.example/cb"}
	for what, metadata := range map[string]any{
		"a name of markup and lines": object{"client_name": "a\r\nb\x00", "redirect_uris": good},
		"an unknown scope":           object{"client_name": "x", "redirect_uris": good, "scope": "everything"},
		"another grant":              object{"client_name": "x", "redirect_uris": good, "grant_types": []string{"client_credentials"}},
		"another response":           object{"client_name": "x", "redirect_uris": good, "response_types": []string{"token"}},
		"a key":                      object{"client_name": "x", "redirect_uris": good, "token_endpoint_auth_method": "private_key_jwt"},
		"no address":                 object{"client_name": "x"}, "no object": []string{"x"}, "a text": `{"client_name":`,
		"a lie about types": object{"client_name": 1, "redirect_uris": "x"},
	} {
		w.refused(t, w.Admin.Call("POST", "/oauth2/register", metadata), what, 400)
	}
	large := object{"client_name": strings.Repeat("x", 70<<10), "redirect_uris": good}
	w.refused(t, w.Admin.Call("POST", "/oauth2/register", large), "large", 413)
	valid := object{"client_name": "x", "redirect_uris": good}
	for what, c := range map[string]*harness.Client{"nobody": w.Client("", ""), "a viewer": w.people.Person(w.Server, w.attacker.User,
		w.Boot.OrganisationID), "a person in no organisation": w.people.Person(w.Server, w.Boot.UserID, "")} {
		w.refused(t, c.Call("POST", "/oauth2/register", valid), what, 401, 403)
		w.refused(t, c.Call("GET", "/oauth2/register/"+w.app, nil), what, 401, 403)
		w.refused(t, c.Call("DELETE", "/oauth2/register/"+w.app, nil), what, 401, 403)
	}
	w.refused(t, w.attacker.Call("DELETE", "/oauth2/register/"+w.app, nil), "another organisation", 404)
	for _, tenant := range []string{"", "../x", "x/y", "evil.example/#", "x?y", "x y", "{client_id}", "x\r\ny"} {
		w.refused(t, w.Admin.Call("POST", w.org+"/provider-apps/provider_three", object{"clientId": "x", "clientSecret": "x", "tenant": tenant}),
			"tenant "+tenant, 422)
	}
	for _, provider := range []string{"provider_four", "..%2f..%2fx", "%00", "' OR 1=1"} {
		w.refused(t, w.Admin.Call("POST", w.org+"/provider-apps/"+url.PathEscape(provider), object{"clientId": "x", "clientSecret": "x"}),
			provider, 400, 404, 422)
	}
	w.unharmed(t)
}
