package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"

	"github.com/lakewarden/lakewarden/auth"
)

// Prefix is the prefix of every key.
const Prefix = "lw_"

const (
	visibleLen  = 8
	secretLen   = 32
	checksumLen = 6
	prefixLen   = len(Prefix) + visibleLen
	bodyLen     = prefixLen + 1 + secretLen // what the checksum covers
	keyLen      = bodyLen + checksumLen
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Key is a well-formed key with its secret. The zero value is not a key.
type Key struct{ text string }

// Hash is the SHA-256 of a key's text. It is stored instead of the key.
type Hash [sha256.Size]byte

// Generate creates a new key from the system's secure random source.
func Generate() Key {
	body := Prefix + randomText(visibleLen) + "_" + randomText(secretLen)
	return Key{text: body + checksum(body)}
}

// Parse checks the form and the checksum of a key. Otherwise the error is
// [auth.ErrMalformed]. It does not check whether the key exists.
func Parse(text string) (Key, error) {
	if len(text) != keyLen || !strings.HasPrefix(text, Prefix) || text[prefixLen] != '_' {
		return Key{}, auth.ErrMalformed
	}
	for i := len(Prefix); i < keyLen; i++ {
		if i != prefixLen && strings.IndexByte(alphabet, text[i]) < 0 {
			return Key{}, auth.ErrMalformed
		}
	}
	if checksum(text[:bodyLen]) != text[bodyLen:] {
		return Key{}, auth.ErrMalformed
	}
	return Key{text: text}, nil
}

// claimedPrefix returns the visible prefix at the beginning of text, or "" if text does
// not have the form of a key's prefix.
func claimedPrefix(text string) string {
	if len(text) <= prefixLen || !strings.HasPrefix(text, Prefix) || text[prefixLen] != '_' {
		return ""
	}
	for i := len(Prefix); i < prefixLen; i++ {
		if strings.IndexByte(alphabet, text[i]) < 0 {
			return ""
		}
	}
	return text[:prefixLen]
}

// Prefix returns the visible part, lw_ and eight characters.
func (k Key) Prefix() string {
	if k.text == "" {
		return ""
	}
	return k.text[:prefixLen]
}

// Reveal returns the whole key with its secret. It is only for the reply that shows the
// key once.
func (k Key) Reveal() string { return k.text }

// Hash returns the hash of the key for storage.
func (k Key) Hash() Hash { return sha256.Sum256([]byte(k.text)) }

// Matches compares with a stored hash in constant time.
func (h Hash) Matches(stored []byte) bool { return subtle.ConstantTimeCompare(h[:], stored) == 1 }

// String returns the prefix only.
func (k Key) String() string { return k.Prefix() + "_…" }

// Format keeps every verb of fmt, %#v included, from printing the secret.
func (k Key) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(k.String())) }

// LogValue excludes the secret from logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText excludes the secret from encoded values.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// randomText returns n uniformly random characters of the alphabet. Bytes of 248 and
// above are drawn again, because 256 is not a multiple of 62.
func randomText(n int) string {
	const fair = 256 / len(alphabet) * len(alphabet)
	text := make([]byte, 0, n)
	var buf [64]byte
	for len(text) < n {
		_, _ = rand.Read(buf[:]) // documented never to fail
		for _, b := range buf {
			if int(b) < fair && len(text) < n {
				text = append(text, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(text)
}

// checksum returns the CRC-32 (IEEE) of body as six base62 digits, padded with
// zeros.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var digits [checksumLen]byte
	for i := checksumLen - 1; i >= 0; i-- {
		digits[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(digits[:])
}
