package harness

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// Signer makes tokens as an issuer does and keeps its keys in a file.
type Signer struct {
	t    *testing.T
	key  ed25519.PrivateKey
	File string
}

// NewSigner returns a signer with a new key, and writes its public key to a file.
func NewSigner(t *testing.T) Signer {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k1", Use: "sig", Algorithm: "EdDSA"}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(file, set, 0o600))
	return Signer{t, private, file}
}

// Token returns a signed token with the claims.
func (s Signer) Token(claims map[string]any) string {
	s.t.Helper()
	sig, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: s.key, KeyID: "k1"}},
		(&jose.SignerOptions{}).WithType("at+jwt"))
	require.NoError(s.t, err)
	raw, err := json.Marshal(claims)
	require.NoError(s.t, err)
	signed, err := sig.Sign(raw)
	require.NoError(s.t, err)
	text, err := signed.CompactSerialize()
	require.NoError(s.t, err)
	return text
}
