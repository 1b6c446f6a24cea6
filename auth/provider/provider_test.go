package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/auth/provider/providertest"
)

const redirect = "https://lakewarden.example/callback"

var app = provider.App{ClientID: providertest.ClientID, ClientSecret: providertest.ClientSecret}

func at(t *testing.T, preset provider.Preset) *provider.Provider {
	t.Helper()
	require.NoError(t, preset.Validate())
	p, err := provider.New(map[string]provider.Preset{provider.Two: preset}, &http.Client{Timeout: 2 * time.Second}).Provider(provider.Two)
	require.NoError(t, err)
	return p
}

func TestFlow(t *testing.T) {
	server := providertest.New(t)
	for name, preset := range map[string]provider.Preset{
		"discovered": {Issuer: server.URL},
		"configured": {AuthURL: server.URL + "/authorize", TokenURL: server.URL + "/token", RevokeURL: server.URL + "/revoke"},
	} {
		t.Run(name, func(t *testing.T) {
			p, ctx, before := at(t, preset), t.Context(), server.Revoked()
			verifier := provider.NewVerifier()
			address, err := p.AuthCodeURL(ctx, app, redirect, "the state", verifier)
			require.NoError(t, err)
			require.NotContains(t, address, url.QueryEscape(app.ClientSecret))
			require.NotContains(t, address, verifier)
			back := server.Approve(t, address)
			require.Equal(t, "the state", back.Query().Get("state"))
			require.NoError(t, p.CheckIssuer(back.Query().Get("iss")))
			code := back.Query().Get("code")

			tokens, err := p.Exchange(ctx, app, redirect, code, verifier)
			require.NoError(t, err)
			require.NotEmpty(t, tokens.Access)
			require.Equal(t, "subject-1", tokens.Subject)
			require.Equal(t, []string{"openid", "offline_access"}, tokens.Scopes)
			require.WithinDuration(t, time.Now().Add(time.Hour), tokens.Expiry, time.Minute)
			_, err = p.Exchange(ctx, app, redirect, code, verifier)
			require.ErrorIs(t, err, provider.ErrGrant, "a code works once")

			next, err := p.Refresh(ctx, app, tokens.Refresh)
			require.NoError(t, err)
			require.NotEqual(t, tokens.Refresh, next.Refresh, "this provider rotates")
			require.NotEqual(t, tokens.Access, next.Access)
			require.NoError(t, p.Revoke(ctx, app, next.Refresh))
			require.Equal(t, before+1, server.Revoked())
			_, err = p.Refresh(ctx, app, next.Refresh)
			require.ErrorIs(t, err, provider.ErrGrant)
		})
	}
}

func TestPKCE(t *testing.T) {
	server := providertest.New(t)
	p := at(t, provider.Preset{Issuer: server.URL})
	address, err := p.AuthCodeURL(t.Context(), app, redirect, "s", provider.NewVerifier())
	require.NoError(t, err)
	code := server.Approve(t, address).Query().Get("code")
	_, err = p.Exchange(t.Context(), app, redirect, code, provider.NewVerifier())
	require.ErrorIs(t, err, provider.ErrGrant, "the verifier of another flow")
}

func TestRefusals(t *testing.T) {
	server := providertest.New(t)
	p := at(t, provider.Preset{Issuer: server.URL})
	wrong := app
	wrong.ClientSecret = "wrong"
	_, err := p.Refresh(t.Context(), wrong, "token that is secret")
	require.ErrorIs(t, err, provider.ErrClient)
	require.ErrorIs(t, p.Revoke(t.Context(), wrong, "token"), provider.ErrClient)
	require.ErrorIs(t, p.CheckIssuer("https://other.example"), provider.ErrGrant)
	server.Break(true)
	_, err = p.Refresh(t.Context(), app, "token that is secret")
	require.ErrorIs(t, err, provider.ErrUnavailable)
	for _, part := range []string{"token that", "text of the provider", wrong.ClientSecret} {
		require.NotContains(t, err.Error(), part)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Refresh(ctx, app, "token")
	require.ErrorIs(t, err, context.Canceled)
}

// TestHostileProviders checks replies that no provider sends.
func TestHostileProviders(t *testing.T) {
	for name, reply := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "/token", r.URL.Path, "the redirect is followed")
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"a long reply": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token":%q}`, strings.Repeat("a", 3<<20))
		},
		"a slow reply": func(_ http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm() // a server notices the end of a connection after the body
			<-r.Context().Done()
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "text of the provider") },
		"no token": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(reply)
			defer server.Close()
			p := at(t, provider.Preset{AuthURL: server.URL + "/authorize", TokenURL: server.URL + "/token"})
			_, err := p.Refresh(t.Context(), app, "token")
			require.ErrorIs(t, err, provider.ErrUnavailable)
			require.NotContains(t, err.Error(), "text of the provider")
		})
	}
}

func TestRefusedDiscoveryDocuments(t *testing.T) {
	for name, document := range map[string]string{
		"issuer": `{"issuer":"https://other.example","authorization_endpoint":"%s/a","token_endpoint":"%[1]s/t"}`,
		"none":   `{"issuer":%[1]q}`,
		"script": `{"issuer":%[1]q,"authorization_endpoint":"javascript:alert(1)","token_endpoint":"%[1]s/t"}`,
		"text":   `<html>`,
		"size":   `{"issuer":%[1]q,"authorization_endpoint":"%[1]s/a","token_endpoint":"%[1]s/t"}` + strings.Repeat(" ", 3<<20),
	} {
		var server *httptest.Server
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if strings.Contains(document, "%") {
				_, _ = fmt.Fprintf(w, document, server.URL)
				return
			}
			_, _ = fmt.Fprint(w, document)
		}))
		_, err := at(t, provider.Preset{Issuer: server.URL}).AuthCodeURL(t.Context(), app, redirect, "s", provider.NewVerifier())
		require.ErrorIs(t, err, provider.ErrUnavailable, name)
		server.Close()
	}
}

func TestPresets(t *testing.T) {
	all := provider.New(nil, http.DefaultClient)
	_, err := all.Provider(provider.Two)
	require.ErrorIs(t, err, provider.ErrUnknown, "needs an issuer")
	_, err = all.Provider("provider_four")
	require.ErrorIs(t, err, provider.ErrUnknown)

	one, err := all.Provider(provider.One)
	require.NoError(t, err)
	require.Equal(t, []string{"https://www.googleapis.com/auth/devstorage.read_write"}, one.Permissions())
	require.Empty(t, one.AdminConsentURL(app))
	address, err := one.AuthCodeURL(t.Context(), app, redirect, "s", provider.NewVerifier())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(address, "https://accounts.google.com/o/oauth2/v2/auth?"), address)
	require.Contains(t, address, "access_type=offline")

	three, err := all.Provider(provider.Three)
	require.NoError(t, err)
	tenant := provider.App{ClientID: "a&b", Tenant: "contoso.example.com"}
	require.Equal(t, "https://login.microsoftonline.com/contoso.example.com/adminconsent?client_id=a%26b", three.AdminConsentURL(tenant))
	address, err = three.AuthCodeURL(t.Context(), tenant, redirect, "s", provider.NewVerifier())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(address, "https://login.microsoftonline.com/contoso.example.com/oauth2/v2.0/authorize?"), address)
	require.Contains(t, address, "code_challenge_method=S256")

	moved, err := provider.New(map[string]provider.Preset{provider.One: {Issuer: "https://other.example"}}, http.DefaultClient).
		Provider(provider.One)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = moved.AuthCodeURL(ctx, app, redirect, "s", provider.NewVerifier())
	require.ErrorIs(t, err, context.Canceled, "the addresses of the preset do not apply to another issuer")
}

func TestValidate(t *testing.T) {
	for _, bad := range []provider.Preset{
		{AuthURL: "https://a.example/a"}, {TokenURL: "https://a.example/a"}, {Issuer: "a.example"}, {Issuer: "ftp://a.example"},
		{Issuer: "https://user:password@a.example"}, {Issuer: "https://a.example/#x"}, {RevokeURL: "/relative"},
		{AdminConsentURL: "https://{tenant}/x"}, {AuthURL: "https://{tenant}.a.example/a", TokenURL: "https://a.example/t"},
		{Issuer: "https://%zz/"},
	} {
		require.Error(t, bad.Validate(), "%+v", bad)
	}
	require.NoError(t, provider.Preset{}.Validate())
	require.NoError(t, provider.Preset{
		AuthURL: "https://a.example/{tenant}/a", TokenURL: "http://127.0.0.1:1/t", AdminConsentURL: "https://a.example/?c={client_id}",
	}.Validate())
}
