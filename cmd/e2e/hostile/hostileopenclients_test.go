package hostile_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestHostileOpenClients attacks the doors for clients that nobody vouches for, in the browser of the
// owner of an organisation that allows them.
func TestHostileOpenClients(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t, func(c *harness.Settings) { c.OpenRegistration = true })
	w.Admin.OK("PATCH", w.org+"/config", object{"clients": catalog.ClientsOpen})
	w.before = w.state(t)
	nobody := harness.NewBrowser(t)

	// Documents: the server connects to no address of its own network, and tells nothing of it.
	at, err := url.Parse(w.trapURL)
	require.NoError(t, err)
	var first string
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001",
		"0177.0.0.1", "127.0.0.1.", "10.0.0.1", "192.168.0.1", "172.16.0.1", "169.254.169.254", "[fd00::1]", "[fe80::1]", "100.64.0.1"} {
		r := w.browser.Open(w.authorization("client_id", "https://"+host+":"+at.Port()+"/client.json"), "Accept", "text/html")
		if r.Status == 429 { // the reads of one person are limited
			continue
		}
		w.refused(t, r, host, 400)
		if first == "" {
			first = string(r.Body)
		}
		require.Equal(t, first, string(r.Body), host)
	}
	for _, id := range []string{w.trapURL, w.trapURL + "/", w.trapURL + "/x?a=b", w.trapURL + "/x#y", w.trapURL + "/../x", "https://",
		"https://user@" + at.Host + "/x", strings.Replace(w.trapURL, "https", "HTTPS", 1) + "/x", w.trapURL + "/" + strings.Repeat("x", 600),
		w.trapURL + "/x\r\nHost: y", "https:///x", "https://" + at.Host + "\\@x.example/x"} {
		w.refused(t, w.browser.Open(w.authorization("client_id", id), "Accept", "text/html"), id, 400)
		for _, path := range []string{"/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"} {
			w.refused(t, nobody.Post(w.URL+path, url.Values{"client_id": {id}, "grant_type": {"refresh_token"}, "refresh_token": {"made-up"},
				"token": {"made-up"}}), path, 200, 400, 401, 429)
		}
	}
	// A person who has not signed in causes no request at all.
	r := nobody.Open(w.authorization("client_id", w.trapURL+"/client.json"), "Accept", "text/html")
	require.True(t, strings.HasPrefix(r.Header.Get("Location"), "/signin?"), "%s", r.Header)

	// Registrations.
	register := func(metadata any) harness.Reply { return w.Client("", "").Call("POST", "/oauth2/register", metadata) }
	for _, text := range hostileTexts() {
		r := register(object{"client_name": text, "redirect_uris": []string{"javascript:alert(1)"}, "token_endpoint_auth_method": "none",
			"scope": text})
		if r.Status == 429 {
			break
		}
		w.refused(t, r, text, 400)
	}
	for _, bearer := range append(hostileTexts(), w.invitation) {
		if strings.ContainsAny(bearer, "\r\n\x00\u202e") {
			continue
		}
		for _, method := range []string{"GET", "POST"} {
			w.refused(t, w.Client(bearer, "").Call(method, "/oauth2/userinfo", nil), bearer, 401, 431)
		}
	}
	w.refused(t, w.Client(w.Boot.APIKey, "").Call("GET", "/oauth2/userinfo", nil), "an API key", 401)
	w.unharmed(t)
}

// TestHostileOpenClientsLeadNowhere checks links with a client of the attacker's to the owner, whose
// browser stays at the server until the owner answers.
func TestHostileOpenClientsLeadNowhere(t *testing.T) {
	t.Parallel()
	w := newIdentityTarget(t, func(c *harness.Settings) { c.OpenRegistration = true })
	made := w.Client("", "").Call("POST", "/oauth2/register", object{"client_name": "Acme sign-in",
		"redirect_uris": []string{"https://evil.example/cb"}, "token_endpoint_auth_method": "none"})
	require.Equal(t, 201, made.Status, "%s", made.Body)
	phishing := []string{"client_id", made.JSON(t)["client_id"].(string), "redirect_uri", "https://evil.example/cb"}
	for _, change := range [][]string{{}, {"scope", "everything"}, {"prompt", "none"}, {"response_type", "token"}, {"code_challenge", ""},
		{"org", ""}, {"org", harness.MissingID}, {"resource", "https://evil.example"}, {"scope", "users:write"}} {
		w.refused(t, w.browser.Open(w.authorization(append(phishing, change...)...), "Accept", "text/html"), strings.Join(change, " "), 400, 403)
	}
	w.Admin.OK("PATCH", w.org+"/config", object{"clients": catalog.ClientsOpen})
	w.before = w.state(t)
	shown := w.browser.Open(w.authorization(phishing...), "Accept", "text/html")
	require.Equal(t, 200, shown.Status, "%s", shown.Body)
	require.Contains(t, string(shown.Body), "Nobody has checked this program")
	require.Contains(t, string(shown.Body), "<strong>evil.example</strong>")
	w.unharmed(t)
}
