package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// NewSecret returns a random text of 256 bits in base64url: a token, a cookie, a state.
func NewSecret() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// Hash returns the SHA-256 of a secret, in which form it is stored.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
