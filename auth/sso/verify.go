package sso

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

const (
	// maxToken is the largest size of a token that is parsed.
	maxToken = 32 << 10
	// maxSkew is how far a provider's clock may be ahead.
	maxSkew = time.Minute
)

// verify checks the form, signature, issuer, audience and expiry of a token for a client.
// Without anyExpiry, a token without an expiry has expired.
func (p *Provider) verify(ctx context.Context, c Client, raw string, anyExpiry bool) (*oidc.IDToken, map[string]any, error) {
	if len(raw) > maxToken {
		return nil, nil, refused("token_invalid", errors.New("size"))
	}
	token, err := oidc.NewVerifier(p.Issuer, signatures{p}, &oidc.Config{
		ClientID: c.ID, SupportedSigningAlgs: algorithms, SkipExpiryCheck: anyExpiry, Now: p.now,
	}).Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case strings.Contains(err.Error(), errKeysUnavailable.Error()): // the library does not wrap
		return nil, nil, ErrUnavailable
	case errors.As(err, &expired):
		return nil, nil, refused("token_expired", nil)
	default: // the text of the error can contain claims
		return nil, nil, refused("token_invalid", nil)
	}
	// The library accepts a second spelling of one issuer.
	if token.Issuer != p.Issuer {
		return nil, nil, refused("token_invalid", errors.New("iss"))
	}
	var claims map[string]any
	if err := token.Claims((*strictClaims)(&claims)); err != nil {
		return nil, nil, refused("token_invalid", errors.New("claims"))
	}
	azp, present := claims["azp"]
	if present && azp != c.ID || !present && len(token.Audience) > 1 {
		return nil, nil, refused("token_invalid", errors.New("azp"))
	}
	return token, claims, nil
}

// strictClaims are claims decoded by a decoder that refuses duplicate names.
type strictClaims map[string]any

// UnmarshalJSON implements json.Unmarshaler of the standard library.
func (s *strictClaims) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*map[string]any)(s))
}

// errKeysUnavailable is found again by its text, because the library's verifier does not wrap
// the errors of key sets.
var errKeysUnavailable = errors.New("keys of the provider unavailable")

// signatures verifies signatures with the keys of a provider.
type signatures struct{ provider *Provider }

var _ oidc.KeySet = signatures{}

// VerifySignature implements [oidc.KeySet]. The verifier has checked the algorithm.
func (s signatures) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	accepted := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, a := range algorithms {
		accepted[i] = jose.SignatureAlgorithm(a)
	}
	signed, err := jose.ParseSignedCompact(token, accepted)
	if err != nil {
		return nil, errors.New("not a signed token")
	}
	header := signed.Signatures[0].Protected
	if header.KeyID == "" || header.JSONWebKey != nil {
		return nil, errors.New("key not named by kid alone")
	}
	if !slices.Contains(typesOfTokens, strings.ToLower(typeOf(header))) {
		return nil, errors.New("typ not accepted")
	}
	key, err := s.provider.keys.Key(ctx, header.KeyID)
	switch {
	case errors.Is(err, auth.ErrUnavailable):
		return nil, errKeysUnavailable
	case err != nil:
		return nil, errors.New("unknown key")
	case !jwt.Fits(key, header.Algorithm):
		return nil, errors.New("key does not fit")
	}
	return signed.Verify(key.Key)
}

// typesOfTokens are the media types of ID tokens and logout tokens. An access token has
// another one, and is not accepted as either.
var typesOfTokens = []string{"", "jwt", "logout+jwt", "application/logout+jwt"}

func typeOf(h jose.Header) string {
	typ, _ := h.ExtraHeaders[jose.HeaderType].(string)
	return typ
}
