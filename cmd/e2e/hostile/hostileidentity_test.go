package hostile_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// hostileTexts try to become statements, paths, headers or markup.
func hostileTexts() []string {
	return []string{`'`, `' OR '1'='1`, `'; DROP TABLE users; --`, "a\r\nSet-Cookie: lakewarden=evil", "\x00", "\u202e",
		`"><script>alert(1)</script>`,
		`../../../etc/passwd`, `{{.Secret}}`, `%00`, strings.Repeat("x", 5000), `javascript:alert(1)`, "https://evil.example/", "*", "null"}
}

// unsigned returns a token without a signature.
func unsigned(header, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(claims)) + "."
}

// TestHostileClientsGetNoTokens attacks the doors for programs.
func TestHostileClientsGetNoTokens(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t)
	anybody := harness.NewBrowser(t)
	form := func(fields ...string) url.Values {
		out := url.Values{}
		for i := 0; i+1 < len(fields); i += 2 {
			out.Add(fields[i], fields[i+1])
		}
		return out
	}
	const assertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	forged := unsigned(`{"alg":"none","typ":"at+jwt"}`, `{"iss":"`+w.URL+`","aud":"lakewarden","sub":"`+w.Boot.UserID+`","org":"`+
		w.Boot.OrganisationID+`","exp":99999999999,"scope":"users:write"}`)
	for code, forms := range map[string][]url.Values{
		"unsupported_grant_type": {
			form("grant_type", "password", "username", ownerEmail, "password", ownerPassword, "client_id", "lakewarden"),
			form("grant_type", "implicit", "client_id", "lakewarden"),
			form("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token", forged, "client_id", "lakewarden"),
			form("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion", forged, "client_id", "lakewarden"),
			form("grant_type", "urn:ietf:params:oauth:grant-type:device_code", "device_code", "x", "client_id", "lakewarden"),
		},
		"invalid_request": {
			form(), form("grant_type", "client_credentials"),
			form("grant_type", "client_credentials", "client_id", w.robot, "client_assertion_type", assertion, "client_assertion", forged),
			form("grant_type", "refresh_token", "grant_type", "refresh_token", "client_id", "lakewarden"),
			form("grant_type", "authorization_code", "code", "a", "code", "b", "client_id", "lakewarden"),
		},
		"invalid_client": {
			form("grant_type", "client_credentials", "client_id", w.robot),
			form("grant_type", "client_credentials", "client_id", w.robot, "client_secret", "lwcs_made-up"),
			form("grant_type", "client_credentials", "client_id", strings.ToUpper(w.robot), "client_secret", "x"),
			form("grant_type", "client_credentials", "client_id", harness.MissingID, "client_secret", "x"),
			form("grant_type", "refresh_token", "refresh_token", "x", "client_id", w.app),
		},
		"unauthorized_client": {form("grant_type", "client_credentials", "client_id", "lakewarden")},
		"invalid_grant": {
			form("grant_type", "refresh_token", "refresh_token", forged, "client_id", "lakewarden"),
			form("grant_type", "refresh_token", "refresh_token", w.invitation, "client_id", "lakewarden"),
			form("grant_type", "authorization_code", "code", w.invitation, "redirect_uri", loopback, "code_verifier", verifier,
				"client_id", "lakewarden"),
			form("grant_type", "authorization_code", "code", w.code(t), "redirect_uri", loopback, "client_id", "lakewarden"),
			form("grant_type", "authorization_code", "code", w.code(t), "redirect_uri", loopback, "code_verifier", strings.Repeat("x", 50),
				"client_id", "lakewarden"),
			form("grant_type", "authorization_code", "code", w.code(t), "redirect_uri", loopback+"/", "code_verifier", verifier,
				"client_id", "lakewarden"),
			form("grant_type", "refresh_token", "refresh_token", w.code(t), "client_id", "lakewarden"),
		},
	} {
		for _, f := range forms {
			r := anybody.Post(w.URL+"/oauth2/token", f)
			w.refused(t, r, f.Encode(), 400, 401)
			got := r.JSON(t)["error"]
			if code == "invalid_grant" && got == "invalid_request" { // a parameter that is missing
				continue
			}
			require.Equal(t, code, got, "%s: %s", f.Encode(), r.Body)
		}
	}
	for _, text := range hostileTexts() {
		for _, name := range []string{"grant_type", "client_id", "code", "refresh_token", "redirect_uri", "scope", "org", "code_verifier"} {
			f := form("grant_type", "refresh_token", "client_id", "lakewarden", "refresh_token", "made-up", "code", "made-up")
			f.Set(name, text)
			w.refused(t, anybody.Post(w.URL+"/oauth2/token", f), name, 400, 401, 429)
		}
		for _, path := range []string{"/oauth2/revoke", "/oauth2/introspect"} {
			w.refused(t, anybody.Post(w.URL+path, form("token", text, "client_id", text)), path, 400, 401, 429)
			w.refused(t, anybody.Post(w.URL+path, form("token", text), "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(text))),
				path, 400, 401, 429)
		}
	}
	for _, path := range []string{"/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"} {
		w.refused(t, anybody.Send("POST", w.URL+path, `{"grant_type":"password"}`, "Content-Type", "application/json"), path, 400)
		w.refused(t, anybody.Post(w.URL+path+"?grant_type=password", form("a", "b")), path, 400)
		w.refused(t, anybody.Post(w.URL+path, form("token", strings.Repeat("x", 70<<10))), path, 413)
		w.refused(t, anybody.Open(w.URL+path), path, 405)
	}
	// Nobody learns of tokens, and nobody ends those of others.
	r := anybody.Post(w.URL+"/oauth2/introspect", form("token", forged, "client_id", "lakewarden"))
	w.refused(t, r, "a public client", 401, 429)
	symmetric := unsigned(`{"alg":"HS256","kid":"../../../dev/null","typ":"at+jwt"}`, `{"iss":"`+w.URL+`"}`) + "AAAA"
	for _, bearer := range []string{forged, symmetric, w.code(t), w.invitation} {
		w.refused(t, w.Client(bearer, "").Call("GET", "/v1/me", nil), "a forged token", 401)
	}

	// A code that is stolen and used twice ends the session that it began.
	code := w.code(t)
	exchange := form("grant_type", "authorization_code", "code", code, "redirect_uri", loopback, "code_verifier", verifier,
		"client_id", "lakewarden")
	got := anybody.Post(w.URL+"/oauth2/token", exchange)
	require.Equal(t, http.StatusOK, got.Status, "%s", got.Body)
	token := got.JSON(t)["access_token"].(string)
	w.secrets = append(w.secrets, token, got.JSON(t)["refresh_token"].(string))
	for _, other := range []string{harness.MissingID, "00000000-0000-0000-0000-000000000000", "main"} {
		w.refused(t, anybody.Post(w.URL+"/oauth2/token", form("grant_type", "refresh_token", "refresh_token",
			got.JSON(t)["refresh_token"].(string), "client_id", "lakewarden", "org", other)), other, 400)
	}
	require.Equal(t, 200, w.Client(token, "").Call("GET", "/v1/me", nil).Status)
	w.refused(t, anybody.Post(w.URL+"/oauth2/token", exchange), "a replay", 400)
	w.refused(t, w.Client(token, "").Call("GET", "/v1/me", nil), "its session has ended", 401)
	w.unharmed(t)
}

// TestHostileLinksLeadNowhere attacks the authorization endpoint in the owner's browser, as
// links on other sites do.
func TestHostileLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t)
	nobody := harness.NewBrowser(t)
	for _, target := range []string{"https://evil.example/", "//evil.example/", "http://127.0.0.1:7@evil.example/", "javascript:alert(1)",
		"http://127.0.0.1.evil.example/cb", "http://localhost:7\\@evil.example/", "data:text/html,<script>", "http://127.0.0.1:7/cb#evil.example",
		"https://app.example/cb", "lakewarden://evil.example", "http://[::ffff:127.0.0.1]:7/"} {
		for _, b := range []*harness.Browser{w.browser, nobody} {
			r := b.Open(w.authorization("redirect_uri", target), "Accept", "text/html")
			w.refused(t, r, target, 400)
			require.Empty(t, r.Header.Get("Location"), target)
			require.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'none'", target)
		}
	}
	// A client that a stranger has registered is one's own affair.
	phishing := []string{"client_id", w.evil, "redirect_uri", "https://evil.example/cb"}
	for _, change := range [][]string{{}, {"scope", "everything"}, {"prompt", "none"}, {"response_type", "token"}, {"code_challenge", ""},
		{"org", ""}, {"state", "x"}} {
		for name, b := range map[string]*harness.Browser{"the owner": w.browser, "nobody": nobody} {
			r := b.Open(w.authorization(append(change, phishing...)...))
			if name == "nobody" && r.Status == http.StatusSeeOther { // to the sign-in page, which names the request
				require.True(t, strings.HasPrefix(r.Header.Get("Location"), "/signin?"), "%s", r.Header)
				continue
			}
			w.refused(t, r, fmt.Sprint(name, change), 400, 403)
			require.Empty(t, r.Header.Get("Location"))
		}
	}
	for name, change := range map[string][]string{
		"implicit": {"response_type", "token"}, "no challenge": {"code_challenge", ""}, "plain": {"code_challenge_method", "plain"},
		"another organisation": {"org", harness.MissingID}, "a request object": {"request", unsigned(`{"alg":"none"}`, `{}`)},
		"a request URI": {"request_uri", w.trapURL}, "a header": {"state", "aaaaaaaa\r\nSet-Cookie: lakewarden=evil"},
	} {
		var r harness.Reply
		if name == "a header" {
			r = w.allow(w.authorization(change...))
		} else {
			r = w.browser.Open(w.authorization(change...))
		}
		w.refused(t, r, name, 303)
		require.Empty(t, r.Header.Values("Set-Cookie"), name)
		to, err := url.Parse(r.Header.Get("Location"))
		require.NoError(t, err)
		if name != "a header" {
			require.Empty(t, to.Query().Get("code"), name)
		}
	}
	for _, text := range hostileTexts() {
		for _, name := range []string{"client_id", "redirect_uri", "response_type", "scope", "org", "response_mode"} {
			w.refused(t, w.browser.Open(w.authorization(name, text), "Accept", "text/html"), name, 200, 303, 400, 403)
		}
	}
	// Consent is given on the server's own page only, and each time: a link in the owner's browser gets
	// no code for a port of the owner's machine.
	for range 2 {
		r := w.browser.Open(w.authorization())
		require.Equal(t, http.StatusOK, r.Status)
		require.Contains(t, string(r.Body), strings.TrimPrefix(strings.TrimSuffix(loopback, "/cb"), "http://"))
		w.allow(w.authorization())
	}
	silent := w.browser.Open(w.authorization("prompt", "none"))
	require.Contains(t, silent.Header.Get("Location"), "error=consent_required")
	app := w.authorization("client_id", w.app, "redirect_uri", "https://app.example/cb")
	allow := url.Values{"decision": {"allow"}}
	w.refused(t, w.browser.Post(app, allow), "no token", 403)
	for _, other := range []string{w.browser.FormToken(w.URL + "/signed-in"), harness.NewBrowser(t).FormToken(w.URL + "/signin"),
		w.browser.FormToken(w.authorization("client_id", w.app, "redirect_uri", "https://app.example/cb")) + "x"} {
		allow.Set("form_token", other)
		w.refused(t, w.browser.Post(app, allow), "another token", 403)
	}
	allow.Set("form_token", w.browser.FormToken(app))
	w.refused(t, w.browser.Post(app, allow, "Sec-Fetch-Site", "cross-site"), "another site", 403)
	w.refused(t, w.browser.Post(app, allow, "Origin", "https://evil.example"), "another origin", 403)
	shown := w.browser.Open(app)
	require.Equal(t, "DENY", shown.Header.Get("X-Frame-Options"))
	require.Contains(t, shown.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")

	w.unharmed(t)
}

// TestHostileIdentitiesBecomeNobody attacks who somebody is at an identity provider: in the owner's
// browser, as an administrator of another organisation, and by made-up tokens and proposals.
func TestHostileIdentitiesBecomeNobody(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t)
	const page = "/confirm-identity"
	claims := `{"iss":"https://evil.example","sub":"x","aud":"lakewarden","email":"` + ownerEmail + `","email_verified":true,"org":"` +
		w.Boot.OrganisationID + `","exp":9999999999}`
	shown := w.browser.Open(w.URL + page)
	require.Equal(t, http.StatusOK, shown.Status)
	require.Equal(t, "DENY", shown.Header.Get("X-Frame-Options"))
	confirm := url.Values{"token": {unsigned(`{"alg":"none","typ":"at+jwt","kid":"k1"}`, claims)}}
	w.refused(t, w.browser.Post(w.URL+page, confirm), "no form token", 403)
	for _, other := range []string{w.browser.FormToken(w.URL + "/signed-in"), harness.NewBrowser(t).FormToken(w.URL + "/signin")} {
		confirm.Set("form_token", other)
		w.refused(t, w.browser.Post(w.URL+page, confirm), "another form", 403)
	}
	confirm.Set("form_token", w.browser.FormToken(w.URL+page))
	w.refused(t, w.browser.Post(w.URL+page, confirm, "Sec-Fetch-Site", "cross-site"), "another site", 403)
	w.refused(t, w.browser.Post(w.URL+page, confirm), "an unsigned token", 422)
	for _, text := range append(hostileTexts(), w.Admin.Key, strings.Repeat("x", 10<<10), "a.b.c") {
		confirm.Set("token", text)
		w.refused(t, w.browser.Post(w.URL+page, confirm), "a made-up token", 422)
	}
	confirm.Del("token")
	w.refused(t, w.browser.Post(w.URL+page, confirm), "nothing to confirm", 400)
	w.refused(t, harness.NewBrowser(t).Open(w.URL+page), "nobody", 303)
	w.refused(t, harness.NewBrowser(t).Open(w.URL+page, "Cookie", "lakewarden-identity=made-up"), "a made-up proposal", 303)

	evil := object{"issuer": "https://evil.example", "subject": "x"}
	for _, attack := range []struct {
		method, path string
		body         any
	}{
		{"GET", w.org + "/users/" + w.Boot.UserID + "/identities", nil}, {"POST", w.org + "/users/" + w.Boot.UserID + "/identities", evil},
		{"DELETE", w.org + "/users/" + w.Boot.UserID + "/identities/" + harness.MissingID, nil},
		{"DELETE", w.org + "/identities?issuer=x", nil},
	} {
		w.refused(t, w.attacker.Call(attack.method, attack.path, attack.body), attack.method+attack.path, 404)
	}
	for _, text := range append(hostileTexts(), strings.Repeat("x", 4<<10)) {
		w.refused(t, w.Admin.Call("DELETE", w.org+"/identities?"+url.Values{"issuer": {text}}.Encode()+"&dry_run=true", nil), text, 200, 422)
	}
	w.unharmed(t)
}
