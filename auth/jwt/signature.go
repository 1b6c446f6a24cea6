package jwt

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/lakewarden/lakewarden/auth"
)

// signature is what an issuer signed, and with which key.
type signature struct {
	issuer *Issuer
	header header
	key    jose.JSONWebKey
	claims *claims
}

// signed verifies the form of a token, its signature, its audience and its times.
func (a *Authenticator) signed(ctx context.Context, bearer string) (signature, error) {
	parts := strings.Split(bearer, ".")
	if len(parts) != 3 || strings.ContainsAny(bearer, "\r\n") { // base64 decoders skip line ends
		return signature{}, auth.ErrMalformed
	}
	h, err := parseHeader(parts[0])
	if err != nil {
		return signature{}, err
	}
	name, err := peekIssuer(parts[1])
	if err != nil {
		return signature{}, err
	}
	issuer := a.issuers[name]
	if issuer == nil {
		return signature{}, refuse("unknown issuer")
	}
	if issuer.AccessTokensOnly && !h.accessToken {
		return signature{}, refuse("typ is not at+jwt")
	}
	key, err := issuer.key(ctx, h)
	if err != nil {
		return signature{}, err
	}
	parsed, err := jose.ParseSignedCompact(bearer, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(h.alg)})
	if err != nil {
		return signature{}, auth.ErrMalformed
	}
	payload, err := parsed.Verify(key.Key)
	if err != nil {
		return signature{}, refuse("signature")
	}
	c := &claims{}
	if !decodeJSON(payload, c) {
		return signature{}, auth.ErrMalformed
	}
	if c.Issuer != issuer.URL {
		return signature{}, refuse("iss")
	}
	if !slices.Contains(c.Audience, issuer.Audience) {
		return signature{}, refuse("aud")
	}
	if !h.accessToken && c.idToken() {
		return signature{}, refuse("ID token")
	}
	now := a.now()
	if err := c.checkTimes(now); err != nil {
		return signature{}, err
	}
	return signature{issuer, h, key, c}, c.checkLife(now, issuer.LongestLife)
}

// current reports whether the issuer still has the key under the same id. If not, the
// token must be verified again. An error means that the key was withdrawn, or that this
// is not known.
func (s signature) current(ctx context.Context) (bool, error) {
	key, err := s.issuer.key(ctx, s.header)
	if err != nil {
		return false, err
	}
	public, ok := key.Key.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(s.key.Key), nil
}

// key returns the issuer's key for tokens with the header.
func (i *Issuer) key(ctx context.Context, h header) (jose.JSONWebKey, error) {
	if !slices.Contains(i.Algorithms, h.alg) {
		return jose.JSONWebKey{}, refuse("alg not accepted")
	}
	key, err := i.Keys.Key(ctx, h.kid)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	if !Fits(key, h.alg) {
		return jose.JSONWebKey{}, refuse("key does not fit alg")
	}
	return key, nil
}

// Fits reports whether a public key of an issuer may verify signatures of alg. The type of
// the key must match, its own attributes must not contradict, and an RSA key has at least
// 2,048 bits.
func Fits(key jose.JSONWebKey, alg string) bool {
	if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != alg {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return alg == RS256 && public.N.BitLen() >= 2048
	case *ecdsa.PublicKey:
		return alg == ES256 && public.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return alg == EdDSA
	}
	return false
}
