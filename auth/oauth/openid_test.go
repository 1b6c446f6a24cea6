package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// userInfo requests the claims about a person.
func (w *world) userInfo(method, authorization string) (int, map[string]any, http.Header) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.http.URL+"/oauth2/userinfo", nil)
	require.NoError(w, err)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	reply, err := http.DefaultClient.Do(r)
	require.NoError(w, err)
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	require.NoError(w, err)
	var body map[string]any
	require.NoError(w, json.Unmarshal(text, &body), string(text))
	return reply.StatusCode, body, reply.Header
}

// idToken verifies the signature of an ID token, and returns its header and claims.
func (w *world) idToken(token *oauth2.Token) (header, claims map[string]any) {
	w.Helper()
	text, _ := token.Extra("id_token").(string)
	require.NotEmpty(w, text)
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
	require.NoError(w, err)
	keys, err := w.keys.PublicKeys(w.Context())
	require.NoError(w, err)
	_, err = signed.Verify(jose.JSONWebKeySet{Keys: keys})
	require.NoError(w, err)
	return part(w.T, text, 0), part(w.T, text, 1)
}

func TestIDTokens(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[0])
	app.Scopes = []string{"openid", "profile", "email", "tables:read"}
	w.advance(time.Hour)
	token := w.signIn(app, oauth2.SetAuthURLParam("nonce", "n-0S6_WzA2Mj"))
	require.True(t, w.asked[0].OpenID, "the person is asked")
	require.Equal(t, auth.NewScopeSet(auth.ScopeTablesRead), w.asked[0].Scopes)
	require.Equal(t, "openid tables:read", token.Extra("scope"))
	header, claims := w.idToken(token)
	require.Equal(t, "JWT", header["typ"])
	hash := sha256.Sum256([]byte(token.AccessToken))
	require.Equal(t, map[string]any{
		"iss": issuer, "sub": w.ada.String(), "aud": w.app.ID, "nonce": "n-0S6_WzA2Mj",
		"iat": float64(w.now().Unix()), "exp": float64(w.now().Add(15 * time.Minute).Unix()),
		"auth_time": float64(w.browser.CreatedAt.Unix()), "at_hash": base64.RawURLEncoding.EncodeToString(hash[:16]),
	}, claims)

	w.advance(time.Hour)
	next, err := refresh(t.Context(), app, token.RefreshToken)
	require.NoError(t, err)
	_, claims = w.idToken(next)
	require.NotContains(t, claims, "nonce")
	require.EqualValues(t, w.browser.CreatedAt.Unix(), claims["auth_time"], "not that of the refresh")
	status, body, _ := w.userInfo("GET", "Bearer "+next.AccessToken)
	require.Equal(t, 200, status)
	require.Equal(t, map[string]any{"sub": w.ada.String(), "email": "ada@example.com", "email_verified": true, "name": "Ada"}, body)
	status, posted, _ := w.userInfo("POST", "bearer "+next.AccessToken)
	require.Equal(t, 200, status)
	require.Equal(t, body, posted)
}

func TestOpenIDAloneGivesNoRights(t *testing.T) {
	w := newWorld(t)
	cli := w.cli()
	cli.Scopes = []string{"openid"}
	token := w.signIn(cli)
	require.Equal(t, "openid", token.Extra("scope"))
	_, claims := w.idToken(token)
	require.Equal(t, oauth.FirstParty, claims["aud"])
	require.NotContains(t, claims, "nonce", "the request had none")
	require.True(t, w.principal(token.AccessToken).Granted.Empty())
	status, _, _ := w.userInfo("GET", "Bearer "+token.AccessToken)
	require.Equal(t, 200, status)
}

func TestIDTokensAreForThoseWhoWereAskedFor(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[0])
	for _, scopes := range [][]string{nil, {"tables:read"}} {
		app.Scopes = scopes
		token := w.signIn(app)
		require.Nil(t, token.Extra("id_token"), "%v", scopes)
		require.False(t, w.asked[len(w.asked)-1].OpenID)
		status, body, header := w.userInfo("GET", "Bearer "+token.AccessToken)
		require.Equal(t, 403, status)
		require.Equal(t, "insufficient_scope", body["error"])
		require.Contains(t, header.Get("WWW-Authenticate"), `error="insufficient_scope"`)
		status, body, _ = w.post("/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken},
			"scope": {"openid"}}, w.app.ID, w.secret)
		require.Equal(t, 400, status)
		require.Equal(t, "invalid_scope", body["error"])
	}

	app.Scopes = []string{"openid", "tables:read", "tables:query"}
	token := w.signIn(app)
	for scope, tells := range map[string]bool{"openid": true, "tables:read": false, "openid tables:query": true} {
		status, body, _ := w.post("/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken},
			"scope": {scope}}, w.app.ID, w.secret)
		require.Equal(t, 200, status, "%v", body)
		require.Equal(t, scope, body["scope"])
		require.Equal(t, tells, body["id_token"] != nil, scope)
		status, _, _ = w.userInfo("GET", "Bearer "+body["access_token"].(string))
		require.Equal(t, map[bool]int{true: 200, false: 403}[tells], status, scope)
		token.RefreshToken = body["refresh_token"].(string)
	}
	_, err := w.robotToken("openid")
	w.refusal("invalid_scope", err)
}

func TestWrongOpenIDRequests(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[0])
	for name, c := range map[string]struct{ scope, nonce, code string }{
		"a scope of OpenID without openid": {"email", "", "invalid_scope"},
		"an unknown scope":                 {"openid everything", "", "invalid_scope"},
		"a long nonce":                     {"openid", string(make([]byte, 1001)), "invalid_request"},
	} {
		app.Scopes = []string{c.scope}
		got := w.redirected(w.visit(app.AuthCodeURL(state, oauth2.S256ChallengeOption("v"), oauth2.SetAuthURLParam("nonce", c.nonce))),
			app.RedirectURL)
		require.Equal(t, c.code, got.Get("error"), name)
	}
}

// TestIDTokensAreNoAccessTokens presents an ID token wherever access tokens are accepted. That of the
// built-in client has the audience of access tokens.
func TestIDTokensAreNoAccessTokens(t *testing.T) {
	w := newWorld(t)
	cli := w.cli()
	cli.Scopes = []string{"openid", "tables:read"}
	token := w.signIn(cli, oauth2.SetAuthURLParam("org", w.org.String()))
	text := token.Extra("id_token").(string)
	_, err := w.tokens.Authenticate(t.Context(), text)
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
	lenient, err := jwt.New(w, []jwt.Issuer{{URL: issuer, Algorithms: []string{jwt.ES256}, Keys: w.keys, Orgless: true}},
		jwt.Options{Now: w.now})
	require.NoError(t, err)
	_, err = lenient.Authenticate(t.Context(), text)
	require.ErrorIs(t, err, auth.ErrUnauthenticated, "an issuer with accept_typ_jwt")
	status, body, _ := w.userInfo("GET", "Bearer "+text)
	require.Equal(t, 401, status)
	require.Equal(t, "invalid_token", body["error"])
	_, body, _ = w.post("/oauth2/introspect", url.Values{"token": {text}}, w.app.ID, w.secret)
	require.Equal(t, map[string]any{"active": false}, body)
	status, _, _ = w.post("/oauth2/revoke", url.Values{"token": {text}, "client_id": {oauth.FirstParty}})
	require.Equal(t, 200, status)
	w.principal(token.AccessToken) // the session goes on
}

func TestUserInfoNeedsALiveAccessToken(t *testing.T) {
	w := newWorld(t)
	app := w.config(w.app, w.app.RedirectURIs[0])
	app.Scopes = []string{"openid"}
	token := w.signIn(app)
	for name, authorization := range map[string]string{
		"nothing": "", "another scheme": "Basic eDp5", "no token": "Bearer ", "a wrong token": "Bearer x.y.z",
		"a refresh token": "Bearer " + token.RefreshToken,
	} {
		status, body, header := w.userInfo("GET", authorization)
		require.Equal(t, 401, status, name)
		require.Equal(t, "invalid_token", body["error"], name)
		require.Contains(t, header.Get("WWW-Authenticate"), "Bearer ", name)
	}
	_, body, _ := w.post("/oauth2/introspect", url.Values{"token": {token.AccessToken}}, w.app.ID, w.secret)
	require.Equal(t, "openid", body["scope"])
	var of session.Session
	of, err := w.store.Session(t.Context(), w.principal(token.AccessToken).SessionID)
	require.NoError(t, err)
	require.Equal(t, w.browser.ID, of.Parent)
	require.NoError(t, w.store.RevokeSession(t.Context(), of.ID))
	status, _, _ := w.userInfo("GET", "Bearer "+token.AccessToken)
	require.Equal(t, 401, status)
}
