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

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
)

// part decodes one part of a JWT.
func part(t *testing.T, token string, i int) (members map[string]any) {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[i])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &members))
	return members
}

func TestCodeFlowOfTheBuiltInClient(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.org.String()))
	require.Len(t, w.asked, 1)
	require.Equal(t, "127.0.0.1:43211", w.asked[0].Redirect, "with the port of the program")
	require.Equal(t, w.org, w.asked[0].Org)
	require.Equal(t, "Bearer", token.TokenType)
	require.NotEmpty(t, token.RefreshToken)
	require.EqualValues(t, 900, token.ExpiresIn)

	p := w.principal(token.AccessToken)
	require.Equal(t, w.ada, p.UserID)
	require.Equal(t, w.org, p.OrgID)
	require.Equal(t, auth.RoleEditor.Scopes(), p.Scopes)
	require.False(t, p.Program)
	require.True(t, p.MayManageOwnKeys())
	header, claims := part(t, token.AccessToken, 0), part(t, token.AccessToken, 1)
	require.Equal(t, "at+jwt", header["typ"])
	require.Equal(t, "ES256", header["alg"])
	require.Len(t, header, 3)
	require.Equal(t, issuer, claims["iss"])
	require.Equal(t, "lakewarden", claims["aud"])
	require.Equal(t, oauth.FirstParty, claims["client_id"])
	require.EqualValues(t, w.now().Add(15*time.Minute).Unix(), claims["exp"])
	require.NotEmpty(t, claims["jti"])
	require.NotEqual(t, w.browser.ID.String(), claims["sid"], "the end of the client's session leaves the browser's alone")

	w.advance(15 * time.Minute)
	_, err := w.tokens.Authenticate(t.Context(), token.AccessToken)
	require.ErrorIs(t, err, auth.ErrExpired)
}

func TestRefreshRotates(t *testing.T) {
	w := newWorld(t)
	first := w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.org.String()))
	for range 3 {
		w.advance(29 * 24 * time.Hour)
		next, err := refresh(t.Context(), w.cli(), first.RefreshToken)
		require.NoError(t, err)
		require.NotEqual(t, first.RefreshToken, next.RefreshToken)
		require.Equal(t, part(t, first.AccessToken, 1)["sid"], part(t, next.AccessToken, 1)["sid"])
		require.Equal(t, w.org, w.principal(next.AccessToken).OrgID)
		first = next
	}
	w.advance(4 * 24 * time.Hour)
	_, err := refresh(t.Context(), w.cli(), first.RefreshToken)
	w.refusal("invalid_grant", err) // the session is older than 90 days
}

func TestRefreshTokenExpires(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.cli())
	w.advance(30 * 24 * time.Hour)
	_, err := refresh(t.Context(), w.cli(), token.RefreshToken)
	w.refusal("invalid_grant", err)
}

func TestSessionThatEndsDuringARefresh(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.cli())
	w.ending = true
	_, err := refresh(t.Context(), w.cli(), token.RefreshToken)
	w.refusal("invalid_grant", err)
}

func TestReusedRefreshTokenEndsTheFamily(t *testing.T) {
	w := newWorld(t)
	org := oauth2.SetAuthURLParam("org", w.org.String())
	first, bystander := w.signIn(w.cli(), org), w.signIn(w.cli(), org)
	second, err := refresh(t.Context(), w.cli(), first.RefreshToken)
	require.NoError(t, err)
	w.principal(second.AccessToken)
	_, err = refresh(t.Context(), w.cli(), first.RefreshToken)
	w.refusal("invalid_grant", err)
	require.Equal(t, part(t, first.AccessToken, 1)["sid"], w.last().Session.String())
	_, err = w.tokens.Authenticate(t.Context(), second.AccessToken)
	require.ErrorIs(t, err, auth.ErrRevoked)
	_, err = refresh(t.Context(), w.cli(), second.RefreshToken)
	w.refusal("invalid_grant", err)
	w.principal(bystander.AccessToken)
}

func TestConcurrentRefreshesAreAReuse(t *testing.T) {
	for name, w := range map[string]*world{"SQLite": newWorld(t), "Postgres": newWorldOn(t, pgtest.URL(t))} {
		here, there := w.cli(), w.cli()
		there.Endpoint.TokenURL = w.another().http.URL + "/oauth2/token"
		token := w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.org.String()))
		tokens, errs := make([]*oauth2.Token, 2), make([]error, 2)
		done := make(chan int)
		for i, at := range []*oauth2.Config{here, there} {
			go func() {
				tokens[i], errs[i] = refresh(t.Context(), at, token.RefreshToken)
				done <- i
			}()
		}
		<-done
		<-done
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				_, err := w.tokens.Authenticate(t.Context(), tokens[i].AccessToken)
				require.ErrorIs(t, err, auth.ErrRevoked, name)
				_, err = refresh(t.Context(), w.cli(), tokens[i].RefreshToken)
				require.Error(t, err, name)
				continue
			}
			var refused *oauth2.RetrieveError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "invalid_grant", refused.ErrorCode, name)
		}
		require.LessOrEqual(t, won, 1, name)
	}
}

func TestReplayedCodeEndsTheSession(t *testing.T) {
	w := newWorld(t)
	verifier := oauth2.GenerateVerifier()
	code := w.code(w.cli(), verifier, oauth2.SetAuthURLParam("org", w.org.String()))
	token, err := w.cli().Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	w.principal(token.AccessToken)
	_, err = w.cli().Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	w.refusal("invalid_grant", err)
	_, err = w.tokens.Authenticate(t.Context(), token.AccessToken)
	require.ErrorIs(t, err, auth.ErrRevoked)
}

func TestWrongExchanges(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[0])
	verifier := oauth2.GenerateVerifier()
	code := w.code(app, verifier)
	for name, exchange := range map[string]func() (*oauth2.Token, error){
		"another redirect URI": func() (*oauth2.Token, error) {
			return w.config(w.app, w.app.RedirectURIs[1]).Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
		},
		"another client": func() (*oauth2.Token, error) {
			return w.config(w.public, app.RedirectURL).Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
		},
		"the built-in client": func() (*oauth2.Token, error) {
			c := w.cli()
			c.RedirectURL = app.RedirectURL
			return c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
		},
		"a made-up code": func() (*oauth2.Token, error) {
			return app.Exchange(t.Context(), session.NewSecret(), oauth2.VerifierOption(verifier))
		},
	} {
		_, err := exchange()
		require.Error(t, err, name)
		w.refusal("invalid_grant", err)
	}
	wrong := *app
	wrong.ClientSecret = "lwcs_" + session.NewSecret()
	_, err := wrong.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	var refused *oauth2.RetrieveError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "invalid_client", refused.ErrorCode)
	require.Equal(t, http.StatusUnauthorized, refused.Response.StatusCode)

	_, err = app.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.NoError(t, err, "none of these used the code up")
	late := w.code(app, verifier)
	w.advance(time.Minute)
	_, err = app.Exchange(t.Context(), late, oauth2.VerifierOption(verifier))
	w.refusal("invalid_grant", err)
}

func TestRefreshTokenOfAnotherClient(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.config(w.app, w.app.RedirectURIs[0]))
	_, err := refresh(t.Context(), w.config(w.public, ""), token.RefreshToken)
	w.refusal("invalid_grant", err)
	_, err = refresh(t.Context(), w.config(w.app, ""), token.RefreshToken)
	require.NoError(t, err)
}

func TestClientOfAnOrganisationAsksForConsent(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[1])
	app.Scopes = []string{"tables:query"}
	token := w.signIn(app)
	require.Len(t, w.asked, 1)
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesQuery), w.asked[0].Scopes)
	require.Equal(t, "app.example", w.asked[0].Redirect)
	require.Equal(t, w.browser, w.asked[0].Session)
	p := w.principal(token.AccessToken)
	require.Equal(t, w.org, p.OrgID, "that of the client")
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesQuery), p.Scopes)
	require.True(t, p.Program)
	require.False(t, p.MayManageOwnKeys(), "a key would outlive the consent")

	w.approve = false
	got := w.redirected(w.visit(app.AuthCodeURL(state, oauth2.S256ChallengeOption("v"))), app.RedirectURL)
	require.Equal(t, "access_denied", got.Get("error"))
	require.Equal(t, "1", got.Get("tenant"), "the query of the redirect URI stays")
	require.Equal(t, state, got.Get("state"))
}

func TestScopesFollowTheClient(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.config(w.app, w.app.RedirectURIs[0]))
	narrow := w.app
	narrow.Scopes = auth.NewScopeSet(auth.ScopeTablesRead)
	w.clients[w.app.ID] = narrow
	next, err := refresh(t.Context(), w.config(w.app, ""), token.RefreshToken)
	require.NoError(t, err)
	require.Equal(t, "tables:read", next.Extra("scope"))
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesRead), w.principal(next.AccessToken).Scopes)
}

func TestRefreshNarrowsOneAccessToken(t *testing.T) {
	w := newWorld(t)
	token := w.signIn(w.config(w.app, w.app.RedirectURIs[0]))
	form := func(token, scope string) url.Values {
		return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "scope": {scope}}
	}
	status, body, _ := w.post("/oauth2/token", form(token.RefreshToken, "rows:insert"), w.app.ID, w.secret)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "invalid_scope", body["error"])
	status, body, _ = w.post("/oauth2/token", form(token.RefreshToken, "tables:read"), w.app.ID, w.secret)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, "tables:read", body["scope"])
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesRead), w.principal(body["access_token"].(string)).Scopes)
	_, body, _ = w.post("/oauth2/token", form(body["refresh_token"].(string), ""), w.app.ID, w.secret)
	require.Equal(t, "tables:read tables:query", body["scope"])
}

func TestOrganisations(t *testing.T) {
	w := newWorld(t)
	withOrg := func(org uuid.UUID) oauth2.AuthCodeOption { return oauth2.SetAuthURLParam("org", org.String()) }
	refreshIn := func(token string, org string) (int, map[string]any) {
		status, body, _ := w.post("/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "org": {org},
			"client_id": {oauth.FirstParty}})
		return status, body
	}
	t.Run("token without an organisation", func(t *testing.T) {
		token := w.signIn(w.cli())
		require.NotContains(t, part(t, token.AccessToken, 1), "org")
		p := w.principal(token.AccessToken)
		require.Equal(t, w.ada, p.UserID)
		require.Equal(t, uuid.Nil, p.OrgID)
		require.True(t, p.Scopes.Empty())
		status, body := refreshIn(token.RefreshToken, w.other.String())
		require.Equal(t, http.StatusOK, status, body)
		require.Equal(t, w.other, w.principal(body["access_token"].(string)).OrgID)
		require.Equal(t, auth.RoleViewer, w.principal(body["access_token"].(string)).Role)
		status, body = refreshIn(body["refresh_token"].(string), "")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, w.other, w.principal(body["access_token"].(string)).OrgID, "the choice stays")
	})
	t.Run("user is not a member", func(t *testing.T) {
		got := w.redirected(w.visit(w.cli().AuthCodeURL(state, oauth2.S256ChallengeOption("v"), withOrg(uuid.New()))), "http://127.0.0.1:43211/")
		require.Equal(t, "access_denied", got.Get("error"))
		token := w.signIn(w.cli(), withOrg(w.org))
		status, body := refreshIn(token.RefreshToken, uuid.NewString())
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "invalid_grant", body["error"])
		status, body = refreshIn(token.RefreshToken, "main")
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "invalid_request", body["error"])
		status, _ = refreshIn(token.RefreshToken, "")
		require.Equal(t, http.StatusOK, status, "a refusal does not use the token up")
	})
	t.Run("organisation of another client", func(t *testing.T) {
		app := w.config(w.app, w.app.RedirectURIs[0])
		got := w.redirected(w.visit(app.AuthCodeURL(state, oauth2.S256ChallengeOption("v"), withOrg(w.other))), app.RedirectURL)
		require.Equal(t, "access_denied", got.Get("error"))
		token := w.signIn(app)
		status, body, _ := w.post("/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken},
			"org": {w.other.String()}}, w.app.ID, w.secret)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "invalid_grant", body["error"])
	})
	t.Run("sign-in method is refused", func(t *testing.T) {
		token := w.signIn(w.cli(), withOrg(w.other))
		w.refusedAccess = auth.ErrForbidden
		_, err := refresh(t.Context(), w.cli(), token.RefreshToken)
		w.refusal("invalid_grant", err)
		w.refusedAccess = nil
	})
	t.Run("session is limited to another organisation", func(t *testing.T) {
		w.browser.Org = w.org
		token := w.signIn(w.cli())
		require.Equal(t, w.org, w.principal(token.AccessToken).OrgID)
		got := w.redirected(w.visit(w.cli().AuthCodeURL(state, oauth2.S256ChallengeOption("v"), withOrg(w.other))), "http://127.0.0.1:43211/")
		require.Equal(t, "access_denied", got.Get("error"))
		status, body := refreshIn(token.RefreshToken, w.other.String())
		require.Equal(t, http.StatusBadRequest, status, body)
	})
	t.Run("user has left", func(t *testing.T) {
		w.browser.Org = uuid.Nil
		token := w.signIn(w.cli(), withOrg(w.org))
		w.mu.Lock()
		delete(w.roles, [2]uuid.UUID{w.org, w.ada})
		w.mu.Unlock()
		_, err := w.tokens.Authenticate(t.Context(), token.AccessToken)
		require.ErrorIs(t, err, auth.ErrNoMember)
		_, err = refresh(t.Context(), w.cli(), token.RefreshToken)
		w.refusal("invalid_grant", err)
	})
}

func TestSignInFirst(t *testing.T) {
	w := newWorld(t)
	w.signedIn = false
	address := w.cli().AuthCodeURL(state, oauth2.S256ChallengeOption("v"), oauth2.SetAuthURLParam("login_hint", "ada@example.com"))
	require.Equal(t, http.StatusTeapot, w.visit(address).StatusCode)
	require.Len(t, w.signIns, 1)
	require.Equal(t, strings.TrimPrefix(address, w.http.URL)+" ada@example.com", w.signIns[0])
	got := w.redirected(w.visit(address+"&prompt=none"), "http://127.0.0.1:43211/")
	require.Equal(t, "login_required", got.Get("error"))
}

// The built-in client needs consent each time, like any other client. A link in a signed-in browser
// could otherwise send a code to any port of the person's machine.
func TestTheBuiltInClientAsksEachTime(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.org.String()))
	}
	require.Len(t, w.asked, 2)
	silent := w.cli().AuthCodeURL(state, oauth2.S256ChallengeOption("v"), oauth2.SetAuthURLParam("prompt", "none"))
	require.Equal(t, "consent_required", w.redirected(w.visit(silent), w.cli().RedirectURL).Get("error"))
	require.Len(t, w.asked, 2)
	w.approve = false
	denied := w.cli().AuthCodeURL(state, oauth2.S256ChallengeOption("v"))
	require.Equal(t, "access_denied", w.redirected(w.visit(denied), w.cli().RedirectURL).Get("error"))
}

// A code is for one attempt: whoever intercepts it cannot try verifiers.
func TestAWrongVerifierUsesUpTheCode(t *testing.T) {
	w := newWorld(t)
	for _, c := range []*oauth2.Config{w.cli(), w.config(w.app, w.app.RedirectURIs[0])} {
		for _, wrong := range [][]oauth2.AuthCodeOption{nil, {oauth2.VerifierOption(oauth2.GenerateVerifier())}} {
			verifier := oauth2.GenerateVerifier()
			code := w.code(c, verifier)
			_, err := c.Exchange(t.Context(), code, wrong...)
			w.refusal("invalid_grant", err)
			_, err = c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			w.refusal("invalid_grant", err)
		}
	}
}

// TestProgramsGetTheScopesTheyMayHave checks a program that requests all of scopes_supported.
func TestProgramsGetTheScopesTheyMayHave(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[0])
	app.Scopes = auth.AllScopes().Strings()
	token := w.signIn(app)
	require.Equal(t, "tables:read tables:query", token.Extra("scope"))
	require.Equal(t, "tables:read tables:query", w.asked[0].Scopes.String())
	viewer := auth.RoleViewer.Scopes().String()
	token = w.signIn(w.cli(), oauth2.SetAuthURLParam("org", w.other.String()))
	require.Equal(t, viewer, token.Extra("scope"), "what the role allows")
	require.Equal(t, viewer, part(t, token.AccessToken, 1)["scope"])
	require.Equal(t, auth.AllScopes().String(), w.asked[1].Scopes.String(), "what a later role may give the program, too")
	w.roles[[2]uuid.UUID{w.other, w.ada}] = auth.RoleEditor
	token, err := refresh(t.Context(), w.cli(), token.RefreshToken)
	require.NoError(t, err)
	require.Equal(t, auth.RoleEditor.Scopes().String(), token.Extra("scope"), "at the time of the token")
	for _, scopes := range [][]string{{"users:write"}, {"tables:read", "everything"}} {
		app.Scopes = scopes
		got := w.redirected(w.visit(app.AuthCodeURL(state, oauth2.S256ChallengeOption("v"))), app.RedirectURL)
		require.Equal(t, "invalid_scope", got.Get("error"), "%v", scopes)
	}
}

func TestTokensAreForThisServer(t *testing.T) {
	w := newWorld(t)
	resource := func(url string) oauth2.AuthCodeOption { return oauth2.SetAuthURLParam("resource", url) }
	for _, own := range []string{issuer, issuer + "/", issuer + "/mcp"} {
		verifier := oauth2.GenerateVerifier()
		code := w.code(w.cli(), verifier, resource(own))
		_, err := w.cli().Exchange(t.Context(), code, oauth2.VerifierOption(verifier), resource(own))
		require.NoError(t, err)
	}
	for _, other := range []string{
		"https://other.example", issuer + ".evil.example", issuer + "@evil.example", issuer + ":444", "lakewarden",
	} {
		address := w.cli().AuthCodeURL(state, oauth2.S256ChallengeOption("v"), resource(other))
		require.Equal(t, "invalid_target", w.redirected(w.visit(address), w.cli().RedirectURL).Get("error"), other)
		verifier := oauth2.GenerateVerifier()
		code := w.code(w.cli(), verifier)
		_, err := w.cli().Exchange(t.Context(), code, oauth2.VerifierOption(verifier), resource(other))
		w.refusal("invalid_target", err)
	}
}

func TestPeopleSignInAgain(t *testing.T) {
	w := newWorld(t)
	w.advance(time.Hour)
	ask := func(options ...string) *http.Response {
		var parameters []oauth2.AuthCodeOption
		for i := 0; i < len(options); i += 2 {
			parameters = append(parameters, oauth2.SetAuthURLParam(options[i], options[i+1]))
		}
		return w.visit(w.cli().AuthCodeURL(state, append(parameters, oauth2.S256ChallengeOption("v"))...))
	}
	code := func(resp *http.Response) string { return w.redirected(resp, w.cli().RedirectURL).Get("code") }
	for _, options := range [][]string{{"max_age", "3600"}, {"prompt", "consent"}, {"prompt", ""}, {"max_age", ""}} {
		require.NotEmpty(t, code(ask(options...)), "%v", options)
	}
	for _, options := range [][]string{
		{"prompt", "login"}, {"prompt", "consent login"}, {"prompt", "select_account"}, {"max_age", "3599"}, {"max_age", "0"},
		{"prompt", "login", "max_age", "7200"},
	} {
		w.signIns = nil
		require.Equal(t, http.StatusTeapot, ask(options...).StatusCode, "%v", options)
		returnTo, _, _ := strings.Cut(w.signIns[0], " ")
		require.Equal(t, http.StatusTeapot, w.visit(w.http.URL+returnTo).StatusCode, "%v: an old session is not enough", options)
		w.advance(time.Minute)
		old := w.browser
		var err error
		w.browser, err = w.store.CreateSession(t.Context(), session.Session{User: w.ada, Method: session.MethodPassword,
			ExpiresAt: w.now().Add(24 * time.Hour)})
		require.NoError(t, err)
		w.advance(time.Minute)
		require.NotEmpty(t, code(w.visit(w.http.URL+returnTo)), "%v: signed in again", options)
		w.browser = old
	}
	silent := w.redirected(ask("prompt", "none", "max_age", "60"), w.cli().RedirectURL)
	require.Equal(t, "login_required", silent.Get("error"))
	for _, options := range [][]string{
		{"prompt", "none login"}, {"prompt", "create"}, {"max_age", "-1"}, {"max_age", "1.5"}, {"max_age", "soon"}, {"signed_in_since", "x"},
	} {
		require.Equal(t, "invalid_request", w.redirected(ask(options...), w.cli().RedirectURL).Get("error"), "%v", options)
	}
}

// TestStrangersAreNotSentToClients checks that a link to this server leads to no address
// that somebody has registered for an organisation, unless the person belongs to it.
func TestStrangersAreNotSentToClients(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[0])
	requests := map[string]map[string][]string{
		"an unknown scope": {"scope": {"everything"}}, "a silent request": {"prompt": {"none"}},
		"another organisation": {"org": {w.other.String()}},
		"no challenge":         {"code_challenge": nil}, "a wrong response type": {"response_type": {"token"}},
	}
	shown := func(what string) {
		t.Helper()
		for name, change := range requests {
			resp := w.authorize(app, change)
			require.Empty(t, resp.Header.Get("Location"), "%s: %s", what, name)
			require.GreaterOrEqual(t, resp.StatusCode, http.StatusBadRequest, "%s: %s", what, name)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NotContains(t, string(body), "app.example")
		}
	}
	for name, change := range requests {
		got := w.redirected(w.authorize(app, change), app.RedirectURL)
		require.NotEmpty(t, got.Get("error"), name)
	}
	w.asked = nil
	w.mu.Lock()
	delete(w.roles, [2]uuid.UUID{w.org, w.ada})
	w.mu.Unlock()
	requests["a valid request"] = map[string][]string{}
	shown("a stranger")
	require.Empty(t, w.asked)
	w.signedIn, w.browser = false, session.Session{}
	delete(requests, "a valid request")
	delete(requests, "another organisation")
	shown("nobody")
	require.Empty(t, w.signIns)
	require.Equal(t, http.StatusTeapot, w.authorize(app, nil).StatusCode)
}

func TestServiceAccount(t *testing.T) {
	w := newWorld(t)
	token, err := w.robotToken()
	require.NoError(t, err)
	require.Empty(t, token.RefreshToken)
	p := w.principal(token.AccessToken)
	require.Equal(t, w.robot, p.UserID)
	require.Equal(t, w.org, p.OrgID)
	require.Equal(t, w.service.Scopes, p.Scopes)
	narrow, err := w.robotToken("tables:read")
	require.NoError(t, err)
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesRead), w.principal(narrow.AccessToken).Scopes)

	_, err = w.robotToken("tables:read", "users:write")
	w.refusal("invalid_scope", err)
	for name, c := range map[string]struct {
		client, secret, code string
		form                 url.Values
	}{
		"an application":         {w.app.ID, w.secret, "unauthorized_client", nil},
		"a public client":        {w.public.ID, "", "unauthorized_client", nil},
		"another organisation":   {w.service.ID, w.secret, "invalid_request", url.Values{"org": {w.other.String()}}},
		"another audience":       {w.service.ID, w.secret, "invalid_request", url.Values{"audience": {"https://elsewhere.example"}}},
		"the built-in client":    {oauth.FirstParty, "", "unauthorized_client", nil},
		"wrong secret":           {w.service.ID, "lwcs_x", "invalid_client", nil},
		"no secret":              {w.service.ID, "", "invalid_client", nil},
		"unknown client":         {uuid.NewString(), w.secret, "invalid_client", nil},
		"the hash as a secret":   {w.service.ID, string(w.service.SecretHash), "invalid_client", nil},
		"id of another spelling": {strings.ToUpper(w.service.ID), w.secret, "invalid_client", nil},
	} {
		form := url.Values{"grant_type": {"client_credentials"}}
		for key, values := range c.form {
			form[key] = values
		}
		_, body, _ := w.post("/oauth2/token", form, c.client, c.secret)
		require.Equal(t, c.code, body["error"], name)
	}
	_, body, _ := w.post("/oauth2/token", url.Values{"grant_type": {"authorization_code"}, "code": {"x"}}, w.service.ID, w.secret)
	require.Equal(t, "unauthorized_client", body["error"])

	w.mu.Lock()
	delete(w.roles, [2]uuid.UUID{w.org, w.robot})
	w.mu.Unlock()
	_, err = w.robotToken()
	w.refusal("unauthorized_client", err)
}

// TestServiceAccountThatLosesAScopeMeanwhile changes the client after it has authenticated
// and before its session exists: nothing else would end that session.
func TestServiceAccountThatLosesAScopeMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.onAllow = func() {
		narrowed := w.service
		narrowed.Scopes = auth.NewScopeSet(auth.ScopeTablesRead)
		w.clients[w.service.ID] = narrowed
	}
	token, err := w.robotToken()
	require.NoError(t, err)
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesRead), w.principal(token.AccessToken).Scopes)
	require.Equal(t, "tables:read", token.Extra("scope"))
	w.onAllow = func() { delete(w.clients, w.service.ID) }
	_, err = w.robotToken()
	w.refusal("invalid_client", err)
	live, err := w.store.Live(t.Context(), w.last().Session)
	require.NoError(t, err)
	require.Zero(t, live)
}

func TestIssueWithoutARequest(t *testing.T) {
	w := newWorld(t)
	signedIn := w.browser
	signedIn.Client, signedIn.Org = oauth.FirstParty, w.org
	tokens, err := w.server.Issue(t.Context(), signedIn)
	require.NoError(t, err)
	require.Equal(t, w.org, w.principal(tokens.AccessToken).OrgID)
	require.Equal(t, w.browser.ID.String(), part(t, tokens.AccessToken, 1)["sid"])
	next, err := refresh(t.Context(), w.cli(), tokens.RefreshToken)
	require.NoError(t, err)
	w.principal(next.AccessToken)
	signedIn.Org = uuid.New()
	_, err = w.server.Issue(t.Context(), signedIn)
	require.ErrorIs(t, err, auth.ErrNoMember)
	signedIn.Client = "nobody"
	_, err = w.server.Issue(t.Context(), signedIn)
	require.ErrorIs(t, err, oauth.ErrUnknownClient)
}

// TestCodeNeedsALiveSignIn checks a browser that is signed out while it asks for a code.
func TestCodeNeedsALiveSignIn(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.store.RevokeSession(t.Context(), w.browser.ID))
	got := w.redirected(w.visit(w.cli().AuthCodeURL(state, oauth2.S256ChallengeOption("v"))), "http://127.0.0.1:43211/")
	require.Equal(t, "login_required", got.Get("error"))
	require.Empty(t, got.Get("code"))
}
