package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth"
)

// ScopeOpenID is the scope with which a client asks who the person is. It permits no request below /v1.
// Every client that acts for people may request it, and people agree to it as to other scopes.
const ScopeOpenID = "openid"

// Claims returns the claims of ID tokens and of the replies about people.
func Claims() []string {
	return []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "email", "email_verified", "name"}
}

// ignored are further scopes of OpenID Connect Core 1.0 §5.4 and §11, which programs often request
// together with [ScopeOpenID]. It covers the claims of the first two, there are none of the others, and
// every client of people gets refresh tokens.
var ignored = []string{"profile", "email", "address", "phone", "offline_access"}

// openIDOf reports whether a request is for [ScopeOpenID], and returns the other scopes that it names.
func openIDOf(text string) (openID bool, others []string) {
	others = strings.Fields(text)
	if !slices.Contains(others, ScopeOpenID) {
		return false, others
	}
	return true, slices.DeleteFunc(others, func(name string) bool { return name == ScopeOpenID || slices.Contains(ignored, name) })
}

// Permissions returns a list of scopes without those of OpenID, which no client needs to register.
func Permissions(scope string) string {
	_, names := openIDOf(scope)
	return strings.Join(names, " ")
}

// hasOpenID reports whether the claim scope of an access token names [ScopeOpenID].
func hasOpenID(scope string) bool { return slices.Contains(strings.Fields(scope), ScopeOpenID) }

// narrow bounds the next tokens by the parameter scope of a refresh.
func (g *granted) narrow(text string) error {
	openID, names := openIDOf(text)
	switch {
	case openID && !g.openID:
		return fosite.ErrInvalidScope.WithHint("The person has not agreed to the scope openid.")
	case !openID && len(names) == 0:
		return nil
	}
	scopes, err := requested(names, g.scopes)
	g.narrowed, g.anonymous = &scopes, !openID
	return err
}

// identifies reports whether the next tokens tell the client who the person is.
func (g *granted) identifies() bool { return g.openID && !g.anonymous }

// scopeText returns the scope of the next access token.
func (g *granted) scopeText(scopes auth.ScopeSet) string {
	if !g.identifies() {
		return scopes.String()
	}
	return strings.TrimSpace(ScopeOpenID + " " + scopes.String())
}

// idClaims are the claims of an ID token: OpenID Connect Core 1.0 §2. Its audience is the client
// alone. It names neither an organisation nor scopes.
type idClaims struct {
	Issuer          string `json:"iss"`
	Subject         string `json:"sub"`
	Audience        string `json:"aud"`
	Expiry          int64  `json:"exp"`
	IssuedAt        int64  `json:"iat"`
	SignedIn        int64  `json:"auth_time"`
	Nonce           string `json:"nonce,omitempty"`
	AccessTokenHash string `json:"at_hash"`
}

// idToken signs an ID token that belongs to an access token. Its type and the claim at_hash keep it
// from being taken for an access token.
func (s *Server) idToken(ctx context.Context, g *granted, client, accessToken string) (string, error) {
	now := s.now()
	hash := sha256.Sum256([]byte(accessToken)) // that of ES256
	return s.sign(ctx, "JWT", idClaims{
		Issuer: s.issuer, Subject: g.session.User.String(), Audience: client, Expiry: now.Add(g.life).Unix(), IssuedAt: now.Unix(),
		SignedIn: g.signedIn.Unix(), Nonce: g.nonce, AccessTokenHash: base64.RawURLEncoding.EncodeToString(hash[:len(hash)/2]),
	})
}

// sign signs the claims of a token of a type.
func (s *Server) sign(ctx context.Context, kind jose.ContentType, claims any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encode claims: %w", err)
	}
	signer, err := s.keys.Sign(ctx, (&jose.SignerOptions{}).WithType(kind))
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed.CompactSerialize()
}
