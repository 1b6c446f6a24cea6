package provider

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// discoveryLife is the time for which a discovery document is reused.
const discoveryLife = time.Hour

// endpoints are the addresses of a provider for one application.
type endpoints struct{ Auth, Token, Revoke string }

// discovered caches the endpoints from a discovery document.
type discovered struct {
	mu    sync.Mutex
	ends  endpoints
	until time.Time
}

// endpoints returns the configured addresses, or those that the issuer publishes.
func (p *Provider) endpoints(ctx context.Context, app App) (endpoints, error) {
	if p.preset.AuthURL != "" {
		return endpoints{fill(p.preset.AuthURL, app), fill(p.preset.TokenURL, app), fill(p.preset.RevokeURL, app)}, nil
	}
	p.found.mu.Lock()
	defer p.found.mu.Unlock()
	if time.Now().Before(p.found.until) {
		return p.found.ends, nil
	}
	ends, err := p.discover(ctx)
	if err != nil {
		return endpoints{}, err
	}
	if p.preset.RevokeURL != "" {
		ends.Revoke = p.preset.RevokeURL
	}
	p.found.ends, p.found.until = ends, time.Now().Add(discoveryLife)
	return ends, nil
}

// discover reads the issuer's discovery document.
func (p *Provider) discover(ctx context.Context) (none endpoints, err error) {
	address := strings.TrimSuffix(p.preset.Issuer, "/") + "/.well-known/openid-configuration"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return none, ErrUnavailable
	}
	request.Header.Set("Accept", "application/json")
	reply, err := p.client.Do(request)
	if err != nil {
		return none, failure(ctx, err)
	}
	defer func() { _ = reply.Body.Close() }()
	var document struct {
		Issuer string `json:"issuer"`
		Auth   string `json:"authorization_endpoint"`
		Token  string `json:"token_endpoint"`
		Revoke string `json:"revocation_endpoint"`
	}
	text, readErr := io.ReadAll(reply.Body)
	if reply.StatusCode != http.StatusOK || readErr != nil || json.Unmarshal(text, &document) != nil ||
		document.Issuer != p.preset.Issuer {
		return none, ErrUnavailable
	}
	// A document of an issuer with TLS must not lead away from it.
	scheme, _, _ := strings.Cut(p.preset.Issuer, "://")
	for _, end := range []string{document.Auth, document.Token, document.Revoke} {
		if !strings.HasPrefix(end, scheme+"://") && (end != "" || document.Auth == "" || document.Token == "") {
			return none, ErrUnavailable
		}
	}
	return endpoints{document.Auth, document.Token, document.Revoke}, nil
}
