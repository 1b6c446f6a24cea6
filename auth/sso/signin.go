package sso

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4/json"
	"golang.org/x/oauth2"
)

// Client is an organisation's registration at its provider.
type Client struct {
	ID, Secret string
	// RedirectURL is the address of the server to which the provider returns.
	RedirectURL string
}

// Attempt holds the secrets of one sign-in. They are random, used for one sign-in, and
// remembered until the provider returns.
type Attempt struct {
	State, Nonce, Verifier string
}

// NewAttempt returns an attempt with a random nonce and verifier, and without a state.
func NewAttempt() Attempt {
	return Attempt{Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
}

// Response holds the parameters with which the provider returns.
type Response struct {
	Code string
	// Issuer is the parameter iss of RFC 9207; it may be empty.
	Issuer string
}

// Identity is a person as a provider describes it.
type Identity struct {
	// Subject identifies the person at the provider, and Session the session there.
	// Session may be empty.
	Subject, Session string
	// Email is verified by the provider. It is as the provider spells it.
	Email string
	// Name is for display; it may be empty.
	Name string
	// Claims are all claims of the ID token, and those that only the userinfo endpoint has.
	Claims map[string]any
}

// maxIdentifier bounds a subject and a session id.
const maxIdentifier = 255

func (p *Provider) oauth(c Client) *oauth2.Config {
	style, _ := p.metadata.authStyle()
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: c.RedirectURL, Scopes: Scopes(),
		Endpoint: oauth2.Endpoint{AuthURL: p.metadata.Authorization, TokenURL: p.metadata.Token, AuthStyle: style},
	}
}

// Scopes returns the scopes that a sign-in asks for.
func Scopes() []string { return []string{oidc.ScopeOpenID, oidc.ScopeEmail, oidc.ScopeProfile} }

// AuthorizationURL returns the address at which a person signs in. hint is the e-mail
// address that the person entered; it may be empty.
func (p *Provider) AuthorizationURL(c Client, a Attempt, hint string) string {
	return AuthorizationURL(p.metadata.Authorization, c, a, hint)
}

// AuthorizationURL returns the request of a sign-in at an authorization endpoint.
func AuthorizationURL(endpoint string, c Client, a Attempt, hint string) string {
	config := oauth2.Config{ClientID: c.ID, RedirectURL: c.RedirectURL, Scopes: Scopes(), Endpoint: oauth2.Endpoint{AuthURL: endpoint}}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if hint != "" {
		options = append(options, oauth2.SetAuthURLParam("login_hint", hint))
	}
	return config.AuthCodeURL(a.State, options...)
}

// SignIn exchanges the code of a response and returns the person who signed in. Claims that
// are wanted are looked for at the userinfo endpoint, if the ID token lacks them. Errors
// match [ErrRefused] or [ErrUnavailable], or are that of ctx.
func (p *Provider) SignIn(ctx context.Context, c Client, a Attempt, r Response, wanted []string) (Identity, error) {
	if r.Issuer != p.Issuer && (r.Issuer != "" || p.metadata.IssuerInResponse) {
		return Identity{}, refused("issuer_mismatch", nil)
	}
	if r.Code == "" {
		return Identity{}, refused("provider_error", nil)
	}
	tokens, err := p.oauth(c).Exchange(oidc.ClientContext(ctx, p.client), r.Code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Identity{}, exchangeError(ctx, err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	claims, err := p.verifyIDToken(ctx, c, a, raw)
	if err != nil {
		return Identity{}, err
	}
	if err := p.complete(ctx, claims, tokens.AccessToken, wanted); err != nil {
		return Identity{}, err
	}
	return identity(claims)
}

// exchangeError classifies an error of the token endpoint, and omits its reply.
func exchangeError(ctx context.Context, err error) error {
	var answered *oauth2.RetrieveError
	var unreachable *url.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &answered) && answered.Response.StatusCode < 500:
		return refused("code_refused", nil)
	case errors.As(err, &answered), errors.As(err, &unreachable):
		return ErrUnavailable
	}
	return refused("code_refused", nil)
}

// verifyIDToken returns the claims of a valid ID token of this sign-in.
func (p *Provider) verifyIDToken(ctx context.Context, c Client, a Attempt, raw string) (map[string]any, error) {
	token, claims, err := p.verify(ctx, c, raw, false)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Nonce == "" || token.Nonce != a.Nonce:
		return nil, refused("nonce_mismatch", nil)
	case token.IssuedAt.IsZero() || token.IssuedAt.After(p.now().Add(maxSkew)):
		return nil, refused("token_invalid", errors.New("iat"))
	case token.Subject == "" || len(token.Subject) > maxIdentifier:
		return nil, refused("token_invalid", errors.New("sub"))
	}
	return claims, nil
}

// complete adds claims of the userinfo endpoint that the ID token lacks. An address is never
// combined with the confirmation of another one.
func (p *Provider) complete(ctx context.Context, claims map[string]any, accessToken string, wanted []string) error {
	_, hasEmail := claims["email"]
	lacks := func(name string) bool { _, ok := claims[name]; return !ok }
	if p.metadata.UserInfo == "" || hasEmail && !slices.ContainsFunc(wanted, lacks) {
		return nil
	}
	body, err := read(ctx, p.client, p.metadata.UserInfo, accessToken)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return ErrUnavailable
	}
	var found map[string]any
	if err := json.Unmarshal(body, &found); err != nil || found["sub"] != claims["sub"] {
		return refused("userinfo_invalid", nil)
	}
	if hasEmail {
		delete(found, "email_verified")
	} else {
		delete(claims, "email_verified")
	}
	for name, value := range found {
		if lacks(name) {
			claims[name] = value
		}
	}
	return nil
}

// identity returns the person that claims describe.
func identity(claims map[string]any) (Identity, error) {
	i := Identity{Claims: claims}
	i.Subject, _ = claims["sub"].(string)
	i.Session, _ = claims["sid"].(string)
	i.Email, _ = claims["email"].(string)
	i.Name, _ = claims["name"].(string)
	if len(i.Session) > maxIdentifier {
		return Identity{}, refused("token_invalid", errors.New("sid"))
	}
	if strings.TrimSpace(i.Email) == "" {
		return Identity{}, refused("email_missing", nil)
	}
	if verified := claims["email_verified"]; verified != true && verified != "true" { // some providers send a text
		return Identity{}, refused("email_not_verified", nil)
	}
	return i, nil
}
