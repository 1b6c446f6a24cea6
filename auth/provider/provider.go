package provider

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/auth/outbound"
)

// ExchangeTime exceeds the time that [Provider.Refresh] takes: a discovery and an exchange.
const ExchangeTime = 3 * outbound.RequestTime

// Providers are the configured providers. They are safe for concurrent use.
type Providers map[string]*Provider

// New returns the presets with the changes of the configuration, by name. The client
// decides which addresses may be reached.
func New(configured map[string]Preset, client *http.Client) Providers {
	bounded := outbound.Client(client)
	all := Providers{}
	for name, preset := range presets() {
		all[name] = &Provider{preset: preset.override(configured[name]), client: bounded}
	}
	return all
}

// Provider returns a provider, or [ErrUnknown].
func (p Providers) Provider(name string) (*Provider, error) {
	found := p[name]
	if found == nil || found.preset.Issuer == "" && found.preset.AuthURL == "" {
		return nil, ErrUnknown
	}
	return found, nil
}

// Provider is an OAuth provider. It is safe for concurrent use.
type Provider struct {
	preset Preset
	client *http.Client
	found  discovered
}

// App is an organisation's application at a provider.
type App struct{ ClientID, ClientSecret, Tenant string }

// Tokens are the result of an exchange.
type Tokens struct {
	Access string `json:"access"`
	// Expiry is the end of Access, or zero if the provider did not tell.
	Expiry time.Time `json:"expiry,omitzero"`
	// Refresh is empty if the provider did not issue a refresh token.
	Refresh string `json:"refresh"`
	// Subject identifies the user at the provider; empty if unknown. It is for display
	// only, because its signature was not verified.
	Subject string `json:"-"`
	// Scopes are those that the provider granted.
	Scopes []string `json:"-"`
}

// Permissions returns the scopes of delegated storage that an application needs.
func (p *Provider) Permissions() []string { return slices.Clone(p.preset.Permissions) }

// AdminConsentURL returns the page where an administrator of the provider approves the
// application, or "".
func (p *Provider) AdminConsentURL(app App) string { return fill(p.preset.AdminConsentURL, app) }

// NewVerifier returns the secret of PKCE for one flow.
func NewVerifier() string { return oauth2.GenerateVerifier() }

// AuthCodeURL returns the page where a user delegates access.
func (p *Provider) AuthCodeURL(ctx context.Context, app App, redirect, state, verifier string) (string, error) {
	config, err := p.config(ctx, app, redirect)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for name, value := range p.preset.Parameters {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return config.AuthCodeURL(state, options...), nil
}

// CheckIssuer checks the parameter iss of a redirect (RFC 9207), which a provider may
// leave out: the code of another provider must not be sent to this one.
func (p *Provider) CheckIssuer(iss string) error {
	if iss != "" && p.preset.Issuer != "" && iss != p.preset.Issuer {
		return ErrGrant
	}
	return nil
}

// Exchange exchanges a code for tokens. It returns [ErrGrant], too, if there is no
// refresh token among them.
func (p *Provider) Exchange(ctx context.Context, app App, redirect, code, verifier string) (Tokens, error) {
	config, err := p.config(ctx, app, redirect)
	if err != nil {
		return Tokens{}, err
	}
	token, err := config.Exchange(p.context(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Tokens{}, failure(ctx, err)
	}
	if token.RefreshToken == "" {
		return Tokens{}, fmt.Errorf("%w: no refresh token", ErrGrant)
	}
	return p.tokens(token), nil
}

// Refresh exchanges a refresh token. If the provider issues no new one, the result has
// the same.
func (p *Provider) Refresh(ctx context.Context, app App, refresh string) (Tokens, error) {
	config, err := p.config(ctx, app, "")
	if err != nil {
		return Tokens{}, err
	}
	token, err := config.TokenSource(p.context(ctx), &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return Tokens{}, failure(ctx, err)
	}
	return p.tokens(token), nil
}

// Revoke revokes a refresh token, if the provider has an endpoint for it.
func (p *Provider) Revoke(ctx context.Context, app App, refresh string) error {
	ends, err := p.endpoints(ctx, app)
	if err != nil || ends.Revoke == "" {
		return err
	}
	form := url.Values{"token": {refresh}, "token_type_hint": {"refresh_token"}}
	if p.preset.SecretInBody {
		form.Set("client_id", app.ClientID)
		form.Set("client_secret", app.ClientSecret)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, ends.Revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return ErrUnavailable
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if !p.preset.SecretInBody {
		request.SetBasicAuth(url.QueryEscape(app.ClientID), url.QueryEscape(app.ClientSecret))
	}
	reply, err := p.client.Do(request)
	if err != nil {
		return failure(ctx, err)
	}
	_ = reply.Body.Close() // the status is the answer
	switch {
	case reply.StatusCode < 300:
		return nil
	case reply.StatusCode < 500:
		return ErrClient
	}
	return ErrUnavailable
}

func (p *Provider) config(ctx context.Context, app App, redirect string) (*oauth2.Config, error) {
	ends, err := p.endpoints(ctx, app)
	if err != nil {
		return nil, err
	}
	return &oauth2.Config{
		ClientID: app.ClientID, ClientSecret: app.ClientSecret, RedirectURL: redirect, Scopes: p.preset.scopes(),
		Endpoint: oauth2.Endpoint{AuthURL: ends.Auth, TokenURL: ends.Token, AuthStyle: p.preset.authStyle()},
	}, nil
}

// context returns a context with the client, which x/oauth2 takes from there.
func (p *Provider) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, p.client)
}

func (p *Provider) tokens(t *oauth2.Token) Tokens {
	out := Tokens{Access: t.AccessToken, Expiry: t.Expiry, Refresh: t.RefreshToken, Scopes: p.preset.scopes()}
	if granted, ok := t.Extra("scope").(string); ok && granted != "" {
		out.Scopes = strings.Fields(granted)
	}
	if text, ok := t.Extra("id_token").(string); ok {
		out.Subject = subject(text)
	}
	return out
}

// subject returns the subject of an id token that came from the token endpoint itself.
func subject(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(raw, &claims) != nil || len(claims.Subject) > 255 || strings.ContainsRune(claims.Subject, 0) {
		return ""
	}
	return claims.Subject
}

// failure classifies an error of x/oauth2 and drops its text, which quotes the reply.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *oauth2.RetrieveError
	switch {
	case !errors.As(err, &refused):
		return ErrUnavailable
	case refused.ErrorCode == "invalid_grant":
		return ErrGrant
	case refused.ErrorCode == "temporarily_unavailable", refused.ErrorCode == "server_error":
		return ErrUnavailable
	case refused.ErrorCode != "" && refused.Response != nil && refused.Response.StatusCode < 500 &&
		refused.Response.StatusCode != http.StatusTooManyRequests:
		return ErrClient
	}
	return ErrUnavailable
}
