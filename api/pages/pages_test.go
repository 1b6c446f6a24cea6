package pages_test

import (
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/password"
)

func TestSignInContinuesAtTheAuthorizationRequest(t *testing.T) {
	s := newSite(t)
	page := "/signin?" + url.Values{"return_to": {next}, "login_hint": {ada}}.Encode()
	shown := s.get(page)
	require.Equal(t, http.StatusOK, shown.StatusCode)
	require.Contains(t, shown.text, `value="`+ada+`"`)
	r := s.send(s.form("/signin", s.token(shown), "email", ada, "password", good, "return_to", next))
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, html.UnescapeString(r.text), `<meta http-equiv="refresh" content="0; url=`+next+`">`)
	require.Contains(t, html.UnescapeString(r.text), `<a href="`+next+`">Continue</a>`)
	var cookie *http.Cookie
	for _, c := range r.Cookies() {
		if c.Name == "lakewarden" {
			cookie = c
		}
	}
	require.NotNil(t, cookie)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	require.Equal(t, "/", cookie.Path)
	require.Empty(t, cookie.Domain)
	require.NotContains(t, r.text, good)

	in := s.get("/signed-in")
	require.Contains(t, in.text, "You are signed in")
	out := s.send(s.form("/signout", s.token(in)))
	require.Equal(t, "/signed-out", out.Header.Get("Location"))
	require.Equal(t, "/signin", s.get("/signed-in").Header.Get("Location"))
	require.Equal(t, []string{"sign in", "sign out"}, s.useCases.changes)
}

func TestCookiesAreForTheHostAloneOverHTTPS(t *testing.T) {
	s := newSite(t)
	s.pages.Cookies = browser.NewCookies("https://lake.example")
	w := httptest.NewRecorder()
	r := chi.NewRouter()
	s.pages.Routes(r)
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://lake.example/signin", nil))
	require.Len(t, w.Result().Cookies(), 1)
	c := w.Result().Cookies()[0]
	require.Equal(t, "__Host-lakewarden-form", c.Name)
	require.True(t, c.Secure && c.HttpOnly && c.Path == "/" && c.Domain == "")
}

// TestABrowserKeepsTheMarkOfItsSignIn checks that the mark of a browser goes to the next sign-in, also
// after the person has signed out.
func TestABrowserKeepsTheMarkOfItsSignIn(t *testing.T) {
	s := newSite(t)
	mark := func() (value string) {
		for _, c := range s.submit(identity.SignInPath, identity.SignInPath, "email", ada, "password", good).Cookies() {
			if c.Name == "lakewarden-known" {
				require.True(t, c.HttpOnly)
				require.Equal(t, int(identity.KnownBrowserLife.Seconds()), c.MaxAge)
				value = c.Value
			}
		}
		return value
	}
	require.Equal(t, "known", mark())
	s.send(s.form("/signout", s.token(s.get("/signed-in"))))
	require.Equal(t, "knownknown", mark())
}

func TestPagesAreConfined(t *testing.T) {
	s := newSite(t)
	s.propose(t)
	s.signInAs(t)
	for _, path := range []string{
		"/signin", "/recover", "/set-password?token=" + link, "/set-password", "/signed-out", next,
		"/accept-invitation?token=" + link, "/accept-invitation", "/confirm-identity",
	} {
		r := s.get(path)
		h := r.Header
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "style-src 'sha256-",
			"form-action 'self'"} {
			require.Contains(t, policy, part, path)
		}
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "DENY", h.Get("X-Frame-Options"))
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Contains(t, r.text, `<html lang="en">`)
		for _, external := range []string{"<script", "<img", "src=", "<link", "@import", "url(http", "onclick"} {
			require.NotContains(t, strings.ReplaceAll(r.text, html.EscapeString(hostile), ""), external, path)
		}
		// Each control has a label.
		for _, id := range regexp.MustCompile(`<input type="[^h][^>]* id="([a-z]+)"`).FindAllStringSubmatch(r.text, -1) {
			require.Contains(t, r.text, `<label for="`+id[1]+`">`, path)
		}
	}
	require.Contains(t, s.get(next).Header.Get("Content-Security-Policy"), "form-action 'self' https://app.example;")
}

func TestConsentFormsLeadOnlyToTheClient(t *testing.T) {
	s := newSite(t)
	for redirect, want := range map[string]string{
		"https://app.example/cb?x=1":           "'self' https://app.example;",
		"http://127.0.0.1:8123/cb":             "'self' http://127.0.0.1:8123;",
		"http://localhost/cb":                  "'self' http://localhost;",
		"http://[::1]:8123/cb":                 "'self' http:;",
		"https://app.example; script-src *//x": "'self';",
		"https://app.example,x/":               "'self';",
		"javascript:alert(1)":                  "'self';",
		"https://user@app.example/":            "'self' https://app.example;",
		"https://a.example 'unsafe-inline'/x":  "'self';",
		"":                                     "'self';",
	} {
		policy := s.get("/oauth2/authorize?redirect_uri=" + url.QueryEscape(redirect)).Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "form-action "+want, redirect)
		require.NotContains(t, policy, "unsafe")
	}
}

func TestForgedFormsChangeNothing(t *testing.T) {
	s := newSite(t)
	s.signInAs(t)
	s.useCases.changes = nil
	other := newSite(t)
	for _, form := range []struct {
		page, path string
		fields     []string
	}{
		{"/signin", "/signin", []string{"email", ada, "password", good}},
		{"/recover", "/recover", []string{"email", ada}},
		{"/set-password?token=" + link, "/set-password", []string{"token", link, "password", better, "repeat", better}},
		{"/accept-invitation?token=" + link, "/accept-invitation", []string{"token", link, "name", "Ada", "password", better, "repeat", better}},
		{"/signed-in", "/signout", nil},
		{"/confirm-identity", "/confirm-identity", []string{"token", good}},
		{next, next, []string{"decision", "allow"}},
	} {
		token := s.token(s.get(form.page))
		valid := func() *http.Request { return s.form(form.path, token, form.fields...) }
		forged := map[string]*http.Request{}
		forged["no token"] = s.form(form.path, "", form.fields...)
		forged["token of another browser"] = s.form(form.path, other.token(other.get("/signin")), form.fields...)
		if form.page != "/recover" {
			forged["token of another page"] = s.form(form.path, s.token(s.get("/recover")), form.fields...)
		}
		r := valid()
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		forged["another site"] = r
		r = valid()
		r.Header.Set("Sec-Fetch-Site", "same-site")
		forged["another host of the site"] = r
		r = valid()
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set("Origin", "https://evil.example")
		forged["another origin"] = r
		r = valid()
		r.Header.Set("Content-Type", "text/plain")
		forged["not a form"] = r
		r = valid()
		r.URL.RawQuery = url.Values{"form_token": {token}}.Encode()
		r.Body, r.ContentLength = http.NoBody, 0
		forged["token in the query"] = r
		r = s.form(form.path, token, append([]string{"padding", strings.Repeat("x", 1<<20)}, form.fields...)...)
		forged["too large"] = r
		for name, r := range forged {
			got := s.send(r)
			require.Contains(t, []int{http.StatusForbidden, http.StatusBadRequest}, got.StatusCode, "%s: %s", form.path, name)
			require.Empty(t, s.useCases.changes, "%s: %s", form.path, name)
		}
		// A browser without cookies.
		plain := &http.Client{CheckRedirect: s.CheckRedirect}
		response, err := plain.Do(valid())
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusForbidden, response.StatusCode)
		require.Empty(t, s.useCases.changes)
	}
}

func TestFormsOfOldBrowsersWork(t *testing.T) {
	s := newSite(t)
	for _, origin := range []string{"null", s.url, ""} {
		r := s.form("/recover", s.token(s.get("/recover")), "email", ada)
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set("Origin", origin)
		if origin == "" {
			r.Header.Del("Origin")
		}
		require.Equal(t, http.StatusOK, s.send(r).StatusCode, origin)
	}
}

func TestSigningInInvalidatesFormsOfTheFormerSession(t *testing.T) {
	s := newSite(t)
	stale := s.token(s.get("/recover"))
	s.signInAs(t)
	require.Equal(t, http.StatusForbidden, s.send(s.form("/recover", stale, "email", ada)).StatusCode)
}

func TestASignInContinuesNowhereElse(t *testing.T) {
	s := newSite(t)
	for _, target := range []string{
		"https://evil.example/", "//evil.example/oauth2/authorize?", "/\\evil.example", "/oauth2/authorize", "/oauth2/authorize?x#y",
		"/oauth2/authorize?\r\nSet-Cookie: a=b", "/oauth2/authorize/../../x?y", "/oauth2/token?x", "javascript:alert(1)",
		"/oauth2/authorize@evil.example?x", "/oauth2/authorize?" + strings.Repeat("x", 1<<13), "http:/oauth2/authorize?x", "/signed-out",
		"/oauth2/authorize%3fx", " /oauth2/authorize?x", "/oauth2/authorize?\u00e9",
	} {
		page := s.get("/signin?" + url.Values{"return_to": {target[:min(len(target), 7000)]}}.Encode())
		require.Contains(t, page.text, `name="return_to" value=""`, target)
		r := s.send(s.form("/signin", s.token(page), "email", ada, "password", good, "return_to", target))
		require.Contains(t, r.text, `content="0; url=/signed-in"`, target)
		require.Empty(t, r.Header.Get("Location"))
		require.NotContains(t, r.text, "evil")
	}
}

func TestRefusedSignIns(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct {
		err     error
		status  int
		message string
	}{
		{identity.ErrCredential, 422, "The e-mail address or the password is wrong."},
		{&throttle.TooManyError{Wait: 90 * time.Second}, 429, "Try again in 2 minutes."},
		{fault.Invalid("email", "must be an e-mail address"), 422, "This must be an e-mail address."},
		{password.ErrBusy, 503, "working at its limit"},
		{errors.New("secret of the database"), 500, "Something went wrong"},
	} {
		s.useCases.signIn = test.err
		r := s.submit("/signin", "/signin", "email", ada, "password", "wrong password", "return_to", next)
		require.Equal(t, test.status, r.StatusCode, r.text)
		require.Contains(t, r.text, test.message)
		require.NotContains(t, r.text, "secret of the database")
		require.NotContains(t, r.text, "wrong password")
		require.Equal(t, test.status == 429 || test.status == 503, r.Header.Get("Retry-After") != "")
		if test.status == 422 || test.status == 429 {
			require.Contains(t, r.text, `role="alert"`)
			require.Contains(t, r.text, "<title>Error: ")
			require.Contains(t, r.text, html.EscapeString(next), "the person can try again")
		}
	}
	s.useCases.signIn = nil
	r := s.submit("/signin", "/signin", "email", ada)
	require.Equal(t, 422, r.StatusCode)
	require.Contains(t, r.text, `aria-invalid="true" aria-describedby="password-problem"`)
}

func TestSingleSignOn(t *testing.T) {
	s := newSite(t)
	for _, fields := range [][]string{
		{"email", "bob@sso.example"}, {"email", "bob@sso.example", "password", "ignored here", "sso", "1"},
		{"email", "bob@sso.example", "password", "of another system"},
	} {
		r := s.submit("/signin", "/signin", append(fields, "return_to", next)...)
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Contains(t, html.UnescapeString(r.text), `content="0; url=https://idp.example/authorize?state=x&login_hint=bob%40sso.example"`)
		require.Contains(t, r.Header.Get("Set-Cookie"), "lakewarden-sso=x; Path=/; Max-Age=600;", "the callback belongs to this browser")
	}
	require.Len(t, s.sso.begun, 3)
	require.Equal(t, "bob@sso.example "+next, s.sso.begun[0])
	s.submit("/signin", "/signin", "email", "bob@sso.example")
	require.Equal(t, "bob@sso.example /signed-in", s.sso.begun[3])
	r := s.submit("/signin", "/signin", "email", ada, "sso", "1")
	require.Equal(t, 422, r.StatusCode)
	require.Contains(t, r.text, "No single sign-on is known for this address.")
	s.pages.SSO = nil
	require.NotContains(t, s.get("/signin").text, "single sign-on")
}

func TestSetPassword(t *testing.T) {
	s := newSite(t)
	page := "/set-password?token=" + link
	for range 2 {
		r := s.get(page)
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Contains(t, r.text, `value="`+ada+`" autocomplete="username" readonly`)
		require.Equal(t, 2, strings.Count(r.text, `autocomplete="new-password"`))
	}
	require.Empty(t, s.useCases.changes, "looking at the page changes nothing")
	for message, fields := range map[string][]string{
		"Enter a password.":         {},
		"The two passwords differ.": {"password", better, "repeat", better + "x"},
		"at least 12 characters":    {"password", "short", "repeat", "short"},
	} {
		r := s.submit(page, "/set-password", append(fields, "token", link)...)
		require.Equal(t, 422, r.StatusCode)
		require.Contains(t, r.text, message)
		require.NotContains(t, r.text, better)
	}
	token := s.token(s.get(page))
	r := s.send(s.form("/set-password", token, "token", link, "password", better, "repeat", better))
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, r.text, "Password set")
	r = s.send(s.form("/set-password", token, "token", link, "password", better, "repeat", better))
	require.Equal(t, http.StatusNotFound, r.StatusCode, "the link works once")
	require.Equal(t, []string{"set password"}, s.useCases.changes)
	for _, path := range []string{"/set-password", page, "/set-password?token=" + strings.Repeat("x", 500)} {
		r := s.get(path)
		require.Equal(t, http.StatusNotFound, r.StatusCode)
		require.Contains(t, r.text, "This link does not work")
	}
}

func TestRecoveryAnswersAlike(t *testing.T) {
	s := newSite(t)
	known, unknown := s.submit("/recover", "/recover", "email", ada), s.submit("/recover", "/recover", "email", "nobody@acme.example")
	require.Equal(t, http.StatusOK, known.StatusCode)
	require.Equal(t, known.text, unknown.text)
	r := s.submit("/recover", "/recover", "email", "nonsense")
	require.Equal(t, 422, r.StatusCode)
	require.Contains(t, r.text, "must be an e-mail address")
}

func TestInvitationOfANewPerson(t *testing.T) {
	s := newSite(t)
	page := "/accept-invitation?token=" + link
	for range 2 {
		shown := s.get(page)
		require.Equal(t, http.StatusOK, shown.StatusCode)
		require.Contains(t, shown.text, `value="`+ada+`" autocomplete="username" readonly`)
		require.Contains(t, shown.text, `autocomplete="name"`)
		require.Contains(t, shown.text, "(ben@acme.example) has invited you")
		require.Contains(t, shown.text, "(the-id)")
	}
	for message, fields := range map[string][]string{
		"The two passwords differ.": {"name", "Ada", "password", better, "repeat", ""},
		"This must not be empty.":   {"name", "", "password", better, "repeat", better},
		"This must be another one.": {"name", "Ada", "password", "short", "repeat", "short"},
	} {
		r := s.submit(page, "/accept-invitation", append(fields, "token", link)...)
		require.Equal(t, 422, r.StatusCode)
		require.Contains(t, r.text, message)
		require.Contains(t, r.text, `<a href="#`)
		require.NotContains(t, r.text, better)
	}
	require.Empty(t, s.useCases.changes)
	token := s.token(s.get(page))
	fields := []string{"token", link, "name", "Ada", "password", better, "repeat", better}
	r := s.send(s.form("/accept-invitation", token, fields...))
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, r.text, `content="0; url=/signed-in"`)
	require.Contains(t, s.get("/signed-in").text, "You are signed in")
	r = s.send(s.form("/accept-invitation", token, fields...))
	require.Equal(t, http.StatusForbidden, r.StatusCode, "the form was that of a browser that was not signed in")
	r = s.get(page)
	require.Equal(t, http.StatusNotFound, r.StatusCode)
	require.Equal(t, []string{"joined as Ada", "sign in"}, s.useCases.changes)
}

func TestInvitationOfAKnownPerson(t *testing.T) {
	s := newSite(t)
	s.invited.known = true
	page := "/accept-invitation?token=" + link
	require.NotContains(t, s.get(page).text, "new-password")
	r := s.submit(page, "/accept-invitation", "token", link, "password", "wrong")
	require.Equal(t, 422, r.StatusCode)
	require.Contains(t, r.text, "is wrong")
	r = s.submit(page, "/accept-invitation", "token", link, "name", "Eve", "password", better, "repeat", better)
	require.Equal(t, 422, r.StatusCode)
	require.Contains(t, r.text, "This account has a password already.")
	r = s.submit(page, "/accept-invitation", "token", link, "password", good)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, r.text, `content="0; url=/signed-in"`)
	require.Equal(t, http.StatusNotFound, s.get(page).StatusCode)
}

func TestConsent(t *testing.T) {
	s := newSite(t)
	for decision, want := range map[string]string{"allow": "consent allowed", "deny": "consent denied", "": "consent denied"} {
		s.useCases.changes = nil
		page := s.get(next)
		require.Empty(t, s.useCases.changes, "looking at the page decides nothing")
		require.Contains(t, page.text, "app.example")
		s.send(s.form(next, s.token(page), "decision", decision))
		require.Equal(t, []string{want}, s.useCases.changes)
	}
}

func TestConsentIsToTheScopesThatWereShown(t *testing.T) {
	s := newSite(t)
	s.scopes = auth.NewScopeSet(auth.ScopeTablesRead)
	page := s.get(next)
	s.scopes = auth.NewScopeSet(auth.ScopeTablesRead, auth.ScopeRowsDelete)
	s.send(s.form(next, s.token(page), "decision", "allow"))
	require.Empty(t, s.useCases.changes, "the client asks for more than the page showed")
	s.send(s.form(next, s.token(s.get(next)), "decision", "allow"))
	require.Equal(t, []string{"consent allowed"}, s.useCases.changes)
}

func TestEveryScopeIsDescribedInTheConsent(t *testing.T) {
	s := newSite(t)
	shown := s.get(next).text
	for _, scope := range auth.AllScopes().Strings() {
		require.NotContains(t, shown, "<li>"+scope+"</li>")
	}
	require.Equal(t, len(auth.AllScopes().Strings()), strings.Count(shown, "<li>"))
}

func TestShownValuesAreEscaped(t *testing.T) {
	s := newSite(t)
	s.useCases.signIn = fault.Invalid("email", "%s", hostile)
	for _, r := range []reply{
		s.get("/signin?login_hint=" + url.QueryEscape(hostile) + "&return_to=" + url.QueryEscape("/oauth2/authorize?"+hostile)),
		s.get("/set-password?token=" + url.QueryEscape(hostile)),
		s.get("/accept-invitation?token=" + link),
		s.submit("/accept-invitation?token="+link, "/accept-invitation", "token", link, "name", hostile, "password", "x", "repeat", "y"),
		s.get("/oauth2/authorize?redirect_uri=" + url.QueryEscape(hostile) + "&" + url.QueryEscape(hostile)),
		s.submit("/signin", "/signin", "email", hostile, "password", hostile, "return_to", "/oauth2/authorize?a="+hostile),
		s.submit("/recover", "/recover", "email", hostile),
	} {
		require.NotContains(t, r.text, "<script>alert")
		require.NotContains(t, r.text, "<img")
		require.NotContains(t, r.text, `"><`+"script")
	}
}
