package sso_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/auth/sso/ssotest"
)

var client = sso.Client{ID: ssotest.ClientID, Secret: ssotest.ClientSecret, RedirectURL: "https://lakewarden.example/v1/auth/sso/callback"}

var attempt = sso.Attempt{State: "the-state", Nonce: "the-nonce", Verifier: strings.Repeat("v", 43)}

func providers(tb testing.TB) *sso.Providers {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return sso.New(&http.Client{Transport: transport}, sso.Options{AllowInsecure: true})
}

// authorized returns the provider's response to a sign-in.
func authorized(tb testing.TB, p *ssotest.Provider, found *sso.Provider) sso.Response {
	tb.Helper()
	back, err := url.Parse(p.Authorize(found.AuthorizationURL(client, attempt, "person@acme.example")))
	require.NoError(tb, err)
	require.Equal(tb, "the-state", back.Query().Get("state"))
	return sso.Response{Code: back.Query().Get("code"), Issuer: back.Query().Get("iss")}
}

func signIn(tb testing.TB, p *ssotest.Provider, wanted ...string) (sso.Identity, error) {
	tb.Helper()
	found, err := providers(tb).Provider(tb.Context(), p.Issuer())
	require.NoError(tb, err)
	return found.SignIn(tb.Context(), client, attempt, authorized(tb, p, found), wanted)
}

func TestSignIn(t *testing.T) {
	p := ssotest.New(t)
	p.Claims["role"] = "editor"
	found, err := providers(t).Provider(t.Context(), p.Issuer())
	require.NoError(t, err)
	address, err := url.Parse(found.AuthorizationURL(client, attempt, "person@acme.example"))
	require.NoError(t, err)
	q := address.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": client.ID, "redirect_uri": client.RedirectURL, "scope": "openid email profile",
		"state": "the-state", "nonce": "the-nonce", "code_challenge_method": "S256", "login_hint": "person@acme.example",
	} {
		require.Equal(t, want, q.Get(name), name)
	}
	require.NotContains(t, address.String(), attempt.Verifier)
	response := authorized(t, p, found)
	who, err := found.SignIn(t.Context(), client, attempt, response, []string{"role"})
	require.NoError(t, err)
	require.Equal(t, "subject-1", who.Subject)
	require.Equal(t, "session-1", who.Session)
	require.Equal(t, "person@acme.example", who.Email)
	require.Equal(t, "editor", who.Claims["role"])
	require.Zero(t, p.Hits("/userinfo"), "nothing is missing")

	_, err = found.SignIn(t.Context(), client, attempt, response, nil)
	requireReason(t, "code_refused", err) // the code was used
}

func requireReason(t *testing.T, reason string, err error) {
	t.Helper()
	var refused *sso.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, reason, refused.Reason)
	require.ErrorIs(t, err, sso.ErrRefused)
}

func TestUserInfoCompletesIDTokens(t *testing.T) {
	p := ssotest.New(t)
	p.Claims = map[string]any{"email_verified": true}
	p.UserInfo = map[string]any{"email": "person@acme.example", "email_verified": false}
	_, err := signIn(t, p)
	requireReason(t, "email_not_verified", err) // the confirmation is about the address next to it

	p.UserInfo["email_verified"] = true
	who, err := signIn(t, p)
	require.NoError(t, err)
	require.Equal(t, "person@acme.example", who.Email)

	p.UserInfo["sub"] = "somebody else"
	_, err = signIn(t, p)
	requireReason(t, "userinfo_invalid", err)

	p.Claims = map[string]any{"email": "boss@acme.example"}
	p.UserInfo = map[string]any{"email": "person@acme.example", "email_verified": true, "role": "admin"}
	_, err = signIn(t, p, "role")
	requireReason(t, "email_not_verified", err)
}

func TestAddressesMustBeVerified(t *testing.T) {
	for name, claims := range map[string]map[string]any{
		"not verified": {"email": "a@acme.example", "email_verified": false},
		"omitted":      {"email": "a@acme.example"},
		"a number":     {"email": "a@acme.example", "email_verified": 1},
		"another text": {"email": "a@acme.example", "email_verified": "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ssotest.New(t)
			p.Claims = claims
			_, err := signIn(t, p)
			requireReason(t, "email_not_verified", err)
		})
	}
	p := ssotest.New(t)
	p.Claims = nil
	_, err := signIn(t, p)
	requireReason(t, "email_missing", err)
}

func TestWeakKeysAreRefused(t *testing.T) {
	for bits, reason := range map[int]string{1024: "token_invalid", 2048: ""} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		require.NoError(t, err)
		p := ssotest.New(t)
		p.Handler = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/jwks" {
				return false
			}
			return json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}}) == nil
		}
		p.Tamper = func(claims map[string]any) string { return ssotest.SignWith(p, jose.RS256, key, "k", claims, "JWT") }
		_, err = signIn(t, p)
		if reason == "" {
			require.NoError(t, err)
		} else {
			requireReason(t, reason, err)
		}
	}
}

func TestWrongTokensAreRefused(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	with := func(claims map[string]any, changes map[string]any) map[string]any {
		out := maps.Clone(claims)
		maps.Copy(out, changes)
		maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
		return out
	}
	now := time.Now().Unix()
	for name, tc := range map[string]struct {
		reason string
		token  func(p *ssotest.Provider, claims map[string]any) string
	}{
		"no token": {"token_invalid", func(*ssotest.Provider, map[string]any) string { return "" }},
		"alg none": {"token_invalid", func(_ *ssotest.Provider, claims map[string]any) string {
			text, _ := json.Marshal(claims)
			encode := base64.RawURLEncoding.EncodeToString
			return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(text) + "."
		}},
		"HS256 with the public key": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			der, err := x509.MarshalPKIXPublicKey(p.PublicKey())
			require.NoError(p, err)
			return ssotest.SignWith(p, jose.HS256, der, "k", claims, "JWT")
		}},
		"HS256 with the client secret": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return ssotest.SignWith(p, jose.HS256, []byte(strings.Repeat(ssotest.ClientSecret, 4)), "k", claims, "JWT")
		}},
		"a key of another type under the same id": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return ssotest.SignWith(p, jose.RS256, rsaKey, "k", claims, "JWT")
		}},
		"an unknown key": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return ssotest.SignWith(p, jose.RS256, rsaKey, "unknown", claims, "JWT")
		}},
		"an access token": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return ssotest.SignWith(p, jose.RS256, rsaKey, "k", claims, "at+jwt")
		}},
		"another issuer": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"iss": p.Issuer() + "/"}))
		}},
		"another client": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"aud": "another"}))
		}},
		"another party of two": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"aud": []string{ssotest.ClientID, "another"}, "azp": "another"}))
		}},
		"two audiences without a party": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"aud": []string{ssotest.ClientID, "another"}}))
		}},
		"expired": {"token_expired", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"exp": now - 1}))
		}},
		"without expiry": {"token_expired", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"exp": nil}))
		}},
		"from the future": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"iat": now + 3600}))
		}},
		"without iat": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"iat": nil}))
		}},
		"a replayed nonce": {"nonce_mismatch", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"nonce": "of an earlier sign-in"}))
		}},
		"without nonce": {"nonce_mismatch", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"nonce": nil}))
		}},
		"without subject": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"sub": nil}))
		}},
		"a huge subject": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"sub": strings.Repeat("s", 256)}))
		}},
		"a huge token": {"token_invalid", func(p *ssotest.Provider, claims map[string]any) string {
			return p.Sign(with(claims, map[string]any{"padding": strings.Repeat("s", 40_000)}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := ssotest.New(t)
			p.Tamper = func(claims map[string]any) string { return tc.token(p, claims) }
			_, err := signIn(t, p)
			requireReason(t, tc.reason, err)
		})
	}
}

func TestResponsesOfOtherIssuersAreRefused(t *testing.T) {
	p := ssotest.New(t)
	found, err := providers(t).Provider(t.Context(), p.Issuer())
	require.NoError(t, err)
	for name, change := range map[string]func(*sso.Response){
		"another issuer": func(r *sso.Response) { r.Issuer = "https://evil.example" },
		"no issuer":      func(r *sso.Response) { r.Issuer = "" }, // the provider announces one
	} {
		t.Run(name, func(t *testing.T) {
			response := authorized(t, p, found)
			change(&response)
			_, err := found.SignIn(t.Context(), client, attempt, response, nil)
			requireReason(t, "issuer_mismatch", err)
		})
	}
	_, err = found.SignIn(t.Context(), client, attempt, sso.Response{Issuer: p.Issuer()}, nil)
	requireReason(t, "provider_error", err)
	response := authorized(t, p, found)
	_, err = found.SignIn(t.Context(), sso.Client{ID: client.ID, Secret: "wrong", RedirectURL: client.RedirectURL}, attempt, response, nil)
	requireReason(t, "code_refused", err)
	other := attempt
	other.Verifier = strings.Repeat("w", 43)
	_, err = found.SignIn(t.Context(), client, other, authorized(t, p, found), nil)
	requireReason(t, "code_refused", err)
}

func TestErrorsContainNothingThatProvidersSend(t *testing.T) {
	p := ssotest.New(t)
	p.Handler = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/token" {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"canary","error_description":"canary"}`))
		return true
	}
	_, err := signIn(t, p)
	requireReason(t, "code_refused", err)
	require.NotContains(t, err.Error(), "canary")
	require.NotContains(t, err.Error(), ssotest.ClientSecret)
}

func TestLogoutTokens(t *testing.T) {
	p := ssotest.New(t)
	found, err := providers(t).Provider(t.Context(), p.Issuer())
	require.NoError(t, err)
	l, err := found.VerifyLogout(t.Context(), client, p.LogoutToken(map[string]any{"jti": "once", "sid": "session-1"}))
	require.NoError(t, err)
	require.Equal(t, sso.Logout{Subject: "subject-1", Session: "session-1", TokenID: "once"}, l)
	_, err = found.VerifyLogout(t.Context(), client, p.LogoutToken(map[string]any{"exp": nil, "sub": nil, "sid": "s"}))
	require.NoError(t, err, "earlier drafts have no expiry")

	now := time.Now().Unix()
	for name, changes := range map[string]map[string]any{
		"an ID token":          {"nonce": "n"},
		"no event":             {"events": nil},
		"another event":        {"events": map[string]any{"x": map[string]any{}}},
		"an event of a text":   {"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": "x"}},
		"another client":       {"aud": "another"},
		"another issuer":       {"iss": "https://evil.example"},
		"old":                  {"iat": now - 301},
		"from the future":      {"iat": now + 120},
		"expired":              {"exp": now - 1},
		"without id":           {"jti": nil},
		"about nobody":         {"sub": nil},
		"a session of numbers": {"sub": nil, "sid": 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := found.VerifyLogout(t.Context(), client, p.LogoutToken(changes))
			require.ErrorIs(t, err, sso.ErrLogoutToken)
		})
	}
	_, err = found.VerifyLogout(t.Context(), client, "nonsense")
	require.ErrorIs(t, err, sso.ErrLogoutToken)
	require.Equal(t, p.Issuer()+"/logout?client_id="+client.ID+"&post_logout_redirect_uri=https%3A%2F%2Fa.example%2Fsigned-out",
		found.LogoutURL(client, "https://a.example/signed-out"))
}

func TestCancelledSignInsReturnTheErrorOfTheContext(t *testing.T) {
	p := ssotest.New(t)
	found, err := providers(t).Provider(t.Context(), p.Issuer())
	require.NoError(t, err)
	response := authorized(t, p, found)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = found.SignIn(ctx, client, attempt, response, nil)
	require.ErrorIs(t, err, context.Canceled)
}
