package sso

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

// maxURL bounds the length of an issuer and of the addresses in its document.
const maxURL = 2048

// algorithms are the signature algorithms of tokens.
var algorithms = []string{jwt.RS256, jwt.ES256, jwt.EdDSA}

// Provider is an identity provider as its discovery document describes it. It is
// immutable except for its cached keys, and safe for concurrent use.
type Provider struct {
	// Issuer is the exact issuer of its tokens.
	Issuer   string
	metadata metadata
	client   *http.Client
	keys     *jwt.KeySet
	now      func() time.Time
}

// metadata are the members of a discovery document that are used.
type metadata struct {
	Authorization    string   `json:"authorization_endpoint"`
	Token            string   `json:"token_endpoint"`
	Keys             string   `json:"jwks_uri"`
	UserInfo         string   `json:"userinfo_endpoint"`
	EndSession       string   `json:"end_session_endpoint"`
	ResponseTypes    []string `json:"response_types_supported"`
	Algorithms       []string `json:"id_token_signing_alg_values_supported"`
	TokenAuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	// IssuerInResponse announces the parameter iss of RFC 9207.
	IssuerInResponse bool `json:"authorization_response_iss_parameter_supported"`
}

// discover reads and checks the discovery document of an issuer.
func (p *Providers) discover(ctx context.Context, issuer string) (*Provider, error) {
	if !p.acceptable(issuer) || strings.Contains(issuer, "?") {
		return nil, issuerRefused("must be an https URL without query, fragment and user name", nil)
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), issuer)
	var mismatch *oidc.IssuerMismatchError
	var unreachable *url.Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &mismatch):
		return nil, issuerRefused("its discovery document names another issuer", nil)
	case errors.As(err, &unreachable):
		return nil, issuerRefused("cannot be reached", unreachable.Err)
	default: // the text of the error contains the reply
		return nil, issuerRefused("has no readable discovery document", nil)
	}
	var m metadata
	if err := found.Claims(&m); err != nil {
		return nil, issuerRefused("has no readable discovery document", nil)
	}
	if reason := p.objection(m); reason != "" {
		return nil, issuerRefused(reason, nil)
	}
	provider := &Provider{Issuer: issuer, metadata: m, client: p.client, now: p.now}
	provider.keys = jwt.NewKeySet(func(ctx context.Context) ([]byte, error) { return read(ctx, p.client, m.Keys, "") }, p.now)
	return provider, nil
}

// objection returns why a discovery document is not acceptable, or "".
func (p *Providers) objection(m metadata) string {
	for _, endpoint := range []struct {
		address  string
		optional bool
	}{{m.Authorization, false}, {m.Token, false}, {m.Keys, false}, {m.UserInfo, true}, {m.EndSession, true}} {
		if !p.acceptable(endpoint.address) && (endpoint.address != "" || !endpoint.optional) {
			return "its discovery document lacks an endpoint, or names one that is not an https URL"
		}
	}
	if len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code") {
		return "does not support the authorization code flow"
	}
	if len(m.Algorithms) > 0 && !slices.ContainsFunc(m.Algorithms, func(a string) bool { return slices.Contains(algorithms, a) }) {
		return "signs tokens with none of RS256, ES256 and EdDSA"
	}
	if _, ok := m.authStyle(); !ok {
		return "accepts clients neither by client_secret_basic nor by client_secret_post"
	}
	return ""
}

// acceptable reports whether an address may be used as an issuer or endpoint.
func (p *Providers) acceptable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= maxURL && u.Hostname() != "" && u.User == nil && !strings.Contains(address, "#") &&
		(u.Scheme == "https" || u.Scheme == "http" && p.insecure) &&
		!strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c > '~' })
}

// authStyle returns how the client authenticates. It is not found out by trying, because a
// code can be used once.
func (m metadata) authStyle() (oauth2.AuthStyle, bool) {
	switch {
	case len(m.TokenAuthMethods) == 0, slices.Contains(m.TokenAuthMethods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader, true
	case slices.Contains(m.TokenAuthMethods, "client_secret_post"):
		return oauth2.AuthStyleInParams, true
	}
	return 0, false
}

// loadKeys checks that the keys of the provider can be read.
func (p *Provider) loadKeys(ctx context.Context) error {
	if _, err := p.keys.Key(ctx, ""); errors.Is(err, auth.ErrUnavailable) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return issuerRefused("its keys cannot be read", err)
	}
	return nil
}
