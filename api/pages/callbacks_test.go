package pages_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
)

// TestSignInPageKnowsWhoIsSignedIn checks that the page names the person and offers to sign out.
func TestSignInPageKnowsWhoIsSignedIn(t *testing.T) {
	s := newSite(t)
	require.NotContains(t, s.get("/signin").text, "signed in as")
	s.signInAs(t)
	for _, page := range []string{"/signin", "/signin?" + url.Values{"return_to": {next}}.Encode()} {
		shown := s.get(page).text
		require.Contains(t, shown, "You are signed in as <strong>")
		require.NotContains(t, shown, hostile)
		require.Contains(t, shown, `action="/signout"`)
	}
	require.Contains(t, s.get("/signed-in").text, "You are signed in as ")
	tokens := tokenInput.FindAllStringSubmatch(s.get("/signin").text, -1)
	require.Len(t, tokens, 2)
	r := s.send(s.form("/signout", tokens[1][1]))
	require.Equal(t, "/signed-out", r.Header.Get("Location"))
	require.NotContains(t, s.get("/signin").text, "signed in as")
}

// TestSignInPageOfABrowserWithoutForms checks that both forms of the page work in a browser that
// signed in without any form of the server, at a provider.
func TestSignInPageOfABrowserWithoutForms(t *testing.T) {
	s := newSite(t)
	s.live["cookie"] = session.Session{ID: uuid.New(), User: uuid.New()}
	at, err := url.Parse(s.url)
	require.NoError(t, err)
	s.Jar.SetCookies(at, []*http.Cookie{s.pages.Cookies.New(browser.SignedIn, "cookie", 0)})
	shown := s.get("/signin")
	tokens := tokenInput.FindAllStringSubmatch(shown.text, -1)
	require.Len(t, tokens, 2)
	require.Len(t, shown.Header.Values("Set-Cookie"), 1)
	require.Equal(t, http.StatusUnprocessableEntity, s.send(s.form("/signin", tokens[0][1], "email", ada, "password", "wrong")).StatusCode)
	require.Equal(t, "/signed-out", s.send(s.form("/signout", tokens[1][1])).Header.Get("Location"))
}

// TestFailedCallbacksSayWhatToDo checks the pages about what a provider's redirect ends with.
func TestFailedCallbacksSayWhatToDo(t *testing.T) {
	s := newSite(t)
	r := httptest.NewRequest(http.MethodGet, "/v1/auth/sso/callback", nil)
	for _, c := range []struct {
		err    error
		status int
		shown  []string
	}{
		{identity.ErrState, 400, []string{"This page has expired", `href="/signin"`}},
		{sso.Refused("email_domain_foreign"), 403, []string{"The sign-in was refused", "none of the domains", "email_domain_foreign"}},
		{sso.Refused("nonce_mismatch"), 403, []string{"a reply that is not valid", "nonce_mismatch"}},
		{identity.ErrLinkBrowser, 403, []string{"The link was started in another browser."}},
		{sso.ErrUnavailable, 503, []string{"Try again in a while."}},
	} {
		d := s.pages.Failed(r, c.err, "/signin")
		require.Equal(t, c.status, d.Status)
		for _, text := range c.shown {
			require.Contains(t, string(d.Body), text)
		}
		require.Contains(t, d.Header.Get("Content-Security-Policy"), "default-src 'none'")
		require.Equal(t, c.status == 503, d.Header.Get("Retry-After") != "")
	}
	require.NotContains(t, string(s.pages.Failed(r, identity.ErrState, "").Body), "href=")
}
