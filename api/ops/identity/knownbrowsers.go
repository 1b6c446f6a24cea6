package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// KnownBrowserLife is how long a browser is known after a sign-in.
const KnownBrowserLife = 180 * 24 * time.Hour

// KnownBrowsers marks browsers in which a person signed in, so that their next sign-ins do not wait
// for those who guess passwords from the same address. A mark proves that and nothing else: it is
// neither a session nor a reason to skip the password. It belongs to one e-mail address.
type KnownBrowsers struct {
	// Key returns the key that authenticates marks, the same on every replica.
	Key func() ([]byte, error)
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// The parts of a mark before its authentication code: an id and the Unix time of the sign-in.
const (
	knownID    = 16
	knownBytes = knownID + 8
)

// Mark returns the mark of a browser in which the person with an e-mail address has just signed in; ""
// if the key is not available, because the sign-in does not depend on it.
func (k KnownBrowsers) Mark(email string) string {
	mark := make([]byte, knownBytes)
	_, _ = rand.Read(mark[:knownID]) // never fails
	binary.BigEndian.PutUint64(mark[knownID:], uint64(clock(k.Now).Unix()))
	code := k.code(mark, email)
	if code == nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(mark, code...))
}

// ID returns the id of the browser with a mark if it was made for the e-mail address, else "".
func (k KnownBrowsers) ID(mark, email string) string {
	raw, err := base64.RawURLEncoding.DecodeString(mark)
	if err != nil || len(raw) != knownBytes+sha256.Size {
		return ""
	}
	code := k.code(raw[:knownBytes], email)
	at := time.Unix(int64(binary.BigEndian.Uint64(raw[knownID:knownBytes])), 0)
	if code == nil || !hmac.Equal(code, raw[knownBytes:]) || clock(k.Now).Sub(at) > KnownBrowserLife {
		return ""
	}
	return hex.EncodeToString(raw[:knownID])
}

func (k KnownBrowsers) code(mark []byte, email string) []byte {
	if k.Key == nil {
		return nil
	}
	key, err := k.Key()
	if err != nil {
		return nil
	}
	code := hmac.New(sha256.New, key)
	code.Write(mark)
	code.Write([]byte(email))
	return code.Sum(nil)
}
