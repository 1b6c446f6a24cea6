package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// signer makes tokens as an issuer does and keeps its keys in a file.
type signer struct {
	t    *testing.T
	key  ed25519.PrivateKey
	file string
}

func newSigner(t *testing.T) signer {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k1", Use: "sig", Algorithm: "EdDSA"}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(file, set, 0o600))
	return signer{t, private, file}
}

func (s signer) token(claims map[string]any) string {
	s.t.Helper()
	sig, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: s.key, KeyID: "k1"}}, (&jose.SignerOptions{}).WithType("JWT"))
	require.NoError(s.t, err)
	raw, err := json.Marshal(claims)
	require.NoError(s.t, err)
	signed, err := sig.Sign(raw)
	require.NoError(s.t, err)
	text, err := signed.CompactSerialize()
	require.NoError(s.t, err)
	return text
}

func TestTokensOfAConfiguredIssuer(t *testing.T) {
	issuer, foreign, stranger := newSigner(t), newSigner(t), newSigner(t)
	s := startServer(t, func(c *settings) {
		c.Issuers = []config.Issuer{
			{URL: "https://issuer.example", JWKSFile: issuer.file},
			{URL: "https://foreign.example", JWKSFile: foreign.file, EmailSubjects: true, Scopes: []string{"read"}},
		}
	})
	s.table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	ana := s.member("ana@acme.example", "builder", map[string]string{"limit": "4"})
	claims := func(change map[string]any) map[string]any {
		out := map[string]any{
			"iss": "https://issuer.example", "aud": "lakewarden", "sub": ana.user, "org": s.boot.OrganisationID,
			"exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(), "scope": "tables:read tables:query org:read users:write",
		}
		for name, value := range change {
			if out[name] = value; value == nil {
				delete(out, name)
			}
		}
		return out
	}
	good := s.client(issuer.token(claims(nil)), ana.user)
	me := good.ok("GET", "/v1/me", nil)
	require.Equal(t, ana.user, me["userId"])
	require.ElementsMatch(t, []string{"tables:read", "tables:query", "org:read"}, scopesOf(t, me), "a token grants no more than the role")
	require.Equal(t, 10.0, good.count(s.schema+".t"))
	s.policy("t", "id", `{"effect":"permit","subject":{"attribute":"limit","op":"lt"}}`)
	require.Equal(t, 4.0, good.count(s.schema+".t"), "the member's attributes, not the token's")
	forged := s.client(issuer.token(claims(map[string]any{"limit": "100", "role": "admin", "attributes": map[string]string{"limit": "100"}, "scopes": []string{"admin"}})), ana.user)
	require.Equal(t, 4.0, forged.count(s.schema+".t"), "no other claim grants anything")
	require.Equal(t, "builder", forged.ok("GET", "/v1/me", nil)["role"])

	// A person may make keys of their own, no wider than themselves.
	key, _ := good.newKey(map[string]any{"scopes": []string{"tables:query"}})
	require.Equal(t, 4.0, key.count(s.schema+".t"))
	code, _ := good.call("POST", "/v1/api-keys", map[string]any{"name": "x", "scopes": []string{"write"}}).problem(t, 403)
	require.Equal(t, "scope_escalation", code)

	email := s.client(foreign.token(claims(map[string]any{"iss": "https://foreign.example", "sub": "f-1", "email": "Ana@ACME.example", "email_verified": true, "scope": nil})), ana.user)
	require.ElementsMatch(t, viewerScopes, scopesOf(t, email.ok("GET", "/v1/me", nil)))
	require.Equal(t, 4.0, email.count(s.schema+".t"))

	_, other := s.organisation("globex")
	for name, token := range map[string]string{
		"expired":             issuer.token(claims(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})),
		"no expiry":           issuer.token(claims(map[string]any{"exp": nil})),
		"other audience":      issuer.token(claims(map[string]any{"aud": "other"})),
		"no audience":         issuer.token(claims(map[string]any{"aud": nil})),
		"unknown issuer":      issuer.token(claims(map[string]any{"iss": "https://other.example"})),
		"other issuer's name": stranger.token(claims(nil)),
		"other key":           foreign.token(claims(nil)),
		"unknown user":        issuer.token(claims(map[string]any{"sub": uuid.NewString()})),
		"other organisation":  issuer.token(claims(map[string]any{"org": other.OrganisationID})),
		"no organisation":     issuer.token(claims(map[string]any{"org": nil})),
		"no subject":          issuer.token(claims(map[string]any{"sub": nil})),
		"not yet":             issuer.token(claims(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})),
		"e-mail not verified": foreign.token(claims(map[string]any{"iss": "https://foreign.example", "email": "ana@acme.example", "email_verified": false})),
		"cut":                 good.key[:len(good.key)-4],
	} {
		r := s.client(token, "").call("GET", "/v1/me", nil)
		require.Equal(t, 401, r.status, "%s: %s", name, r.body)
		r.problem(t, 401)
		require.Contains(t, r.header.Get("WWW-Authenticate"), "Bearer", name)
	}
	s.admin.ok("PUT", "/v1/organisations/"+s.boot.OrganisationID+"/users/"+ana.user+"/role", map[string]string{"role": "viewer"})
	require.Equal(t, "viewer", good.ok("GET", "/v1/me", nil)["role"], "the role of now")
}
