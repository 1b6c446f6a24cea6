package identity_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// The registration of the server at the identity provider.
const (
	ssoClientID     = "lakewarden"
	ssoClientSecret = "a secret of forty characters, and no less" //nolint:gosec // of a test
)

// startOIDCProvider starts oidc-provider, which is certified, with accounts and their claims. It
// returns the issuer. publicURL is the address of the server that signs people in.
func startOIDCProvider(t *testing.T, publicURL string, accounts object) string {
	t.Helper()
	modules, err := oracletest.Path("LAKEWARDEN_TEST_OIDC_PROVIDER", "oidcprovider")
	oracletest.Need(t, err)
	node, err := exec.LookPath("node")
	oracletest.Need(t, err)
	config, err := json.Marshal(object{"accounts": accounts, "client": object{
		"client_id": ssoClientID, "client_secret": ssoClientSecret,
		"redirect_uris":             []string{publicURL + "/v1/auth/sso/callback", publicURL + "/v1/auth/provider/callback"},
		"post_logout_redirect_uris": []string{publicURL + "/signed-out"}, "grant_types": []string{"authorization_code", "refresh_token"},
		"backchannel_logout_uri": publicURL + "/v1/auth/sso/backchannel-logout", "backchannel_logout_session_required": true,
	}})
	require.NoError(t, err)
	cmd := exec.Command(node, "testdata/oidcprovider/server.mjs", string(config)) //nolint:gosec // a part of the tests
	cmd.Env = append(cmd.Environ(), "OIDC_PROVIDER_MODULES="+modules)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if issuer, ready := strings.CutPrefix(lines.Text(), "ready "); ready {
			return issuer
		}
		t.Log(lines.Text())
	}
	require.NoError(t, lines.Err())
	require.Fail(t, "the identity provider has ended")
	return ""
}

// browser reads the pages of the server and of the provider.
type browser struct {
	*testing.T
	*harness.Browser
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{t, harness.NewBrowser(t)}
}

// page is a reply, with the address that it came from.
type page struct {
	status   int
	address  *url.URL
	location string
	body     []byte
}

// send requests a page, or sends a form that is not nil.
func (b *browser) send(address string, form url.Values) page {
	b.Helper()
	at, err := url.Parse(address)
	require.NoError(b, err)
	var reply harness.Reply
	if form == nil {
		reply = b.Open(address)
	} else {
		reply = b.Post(address, form)
	}
	p := page{status: reply.Status, address: at, body: reply.Body}
	if to := reply.Header.Get("Location"); to != "" {
		target, err := at.Parse(to)
		require.NoError(b, err)
		p.location = target.String()
	}
	return p
}

// action finds the address that the form of a page posts to.
var action = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// signIn follows a sign-in at the provider, as the account, up to the address of the server
// that the provider leads back to.
func (b *browser) signIn(authorizationURL, account, publicURL string) string {
	b.Helper()
	p := b.send(authorizationURL, nil)
	for range 20 {
		if p.location != "" {
			if strings.HasPrefix(p.location, publicURL+"/") {
				return p.location
			}
			p = b.send(p.location, nil)
			continue
		}
		require.Equal(b, http.StatusOK, p.status, "%s: %s", p.address, p.body)
		form := action.FindSubmatch(p.body)
		require.NotNil(b, form, "%s", p.body)
		target, err := p.address.Parse(string(form[1]))
		require.NoError(b, err)
		if bytes.Contains(p.body, []byte(`name="login"`)) {
			p = b.send(target.String(), url.Values{"prompt": {"login"}, "login": {account}, "password": {"any"}})
		} else {
			p = b.send(target.String(), url.Values{"prompt": {"consent"}})
		}
	}
	b.Fatal("the sign-in does not end")
	return ""
}

// xsrf finds the token of the provider's logout form.
var xsrf = regexp.MustCompile(`name="xsrf" value="([^"]+)"`)

// signOut ends the session at the provider, which calls the server.
func (b *browser) signOut(logoutURL string) page {
	b.Helper()
	p := b.send(logoutURL, nil)
	token := xsrf.FindSubmatch(p.body)
	require.NotNil(b, token, "%s", p.body)
	form := action.FindSubmatch(p.body)
	require.NotNil(b, form, "%s", p.body)
	target, err := p.address.Parse(string(form[1]))
	require.NoError(b, err)
	return b.send(target.String(), url.Values{"xsrf": {string(token[1])}, "logout": {"yes"}})
}
