package sso

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/json"
)

// logoutEvent is the member of the claim events that makes a token a logout token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// LogoutTokenAge is how old a logout token may be. A token is remembered for that long, so
// that it is used once.
const LogoutTokenAge = 5 * time.Minute

// Logout is the end of sessions at a provider, as a logout token states it.
type Logout struct {
	// Subject, Session, or both are set. Without a session, all sessions of the subject
	// have ended.
	Subject, Session string
	// TokenID is the identifier of the token, unique at its issuer.
	TokenID string
}

// maxAudience bounds the clients of one logout token.
const maxAudience = 10

// PeekLogout reads the issuer and the clients of a logout token before it is verified, to find
// the provider that verifies it. Nothing else may be done with them. It returns
// [ErrLogoutToken].
func PeekLogout(raw string) (issuer string, clients []string, err error) {
	if len(raw) > maxToken {
		return "", nil, ErrLogoutToken
	}
	_, rest, _ := strings.Cut(raw, ".")
	part, _, _ := strings.Cut(rest, ".")
	payload, err := base64.RawURLEncoding.DecodeString(part)
	var claims struct {
		Issuer   string          `json:"iss"`
		Audience json.RawMessage `json:"aud"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Issuer == "" {
		return "", nil, ErrLogoutToken
	}
	var one string
	if json.Unmarshal(claims.Audience, &one) == nil {
		clients = []string{one}
	} else if json.Unmarshal(claims.Audience, &clients) != nil || len(clients) == 0 || len(clients) > maxAudience {
		return "", nil, ErrLogoutToken
	}
	return claims.Issuer, clients, nil
}

// VerifyLogout verifies a logout token of OpenID Connect Back-Channel Logout. The caller
// checks that its TokenID was not used before. Errors match [ErrLogoutToken] or
// [ErrUnavailable], or are that of ctx.
func (p *Provider) VerifyLogout(ctx context.Context, c Client, raw string) (Logout, error) {
	token, claims, err := p.verify(ctx, c, raw, true)
	if errors.Is(err, ErrRefused) {
		return Logout{}, ErrLogoutToken
	} else if err != nil {
		return Logout{}, err
	}
	now := p.now()
	events, _ := claims["events"].(map[string]any)
	_, isLogout := events[logoutEvent].(map[string]any)
	_, hasNonce := claims["nonce"]
	l := Logout{}
	l.Subject, _ = claims["sub"].(string)
	l.Session, _ = claims["sid"].(string)
	l.TokenID, _ = claims["jti"].(string)
	wrong := ""
	switch {
	case !isLogout:
		wrong = "events"
	case hasNonce: // an ID token
		wrong = "nonce"
	case token.IssuedAt.Before(now.Add(-LogoutTokenAge)) || token.IssuedAt.After(now.Add(maxSkew)):
		wrong = "iat"
	case claims["exp"] != nil && !now.Before(token.Expiry):
		wrong = "exp"
	case l.TokenID == "" || len(l.TokenID) > maxIdentifier:
		wrong = "jti"
	case l.Subject == "" && l.Session == "", len(l.Subject) > maxIdentifier, len(l.Session) > maxIdentifier:
		wrong = "sub and sid"
	}
	if wrong != "" {
		return Logout{}, fmt.Errorf("%w: %s", ErrLogoutToken, wrong)
	}
	return l, nil
}

// LogoutURL returns the address at which a person ends the session at the provider, or "" if
// the provider has none. The provider then returns to the given address.
func (p *Provider) LogoutURL(c Client, returnTo string) string {
	u, err := url.Parse(p.metadata.EndSession)
	if err != nil || p.metadata.EndSession == "" {
		return ""
	}
	query := u.Query()
	query.Set("client_id", c.ID)
	query.Set("post_logout_redirect_uri", returnTo)
	u.RawQuery = query.Encode()
	return u.String()
}
