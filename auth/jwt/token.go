package jwt

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/json"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
)

// maxToken is the largest size of a token that is parsed.
const maxToken = 8 << 10

// header is a token's header after its parameters were checked.
type header struct {
	alg, kid string
	// accessToken reports the type of RFC 9068, which no other token has.
	accessToken bool
}

// harmless holds the header parameters that may be present. The thumbprints are
// ignored, because the key is found by kid alone.
var harmless = []string{"alg", "typ", "kid", "x5t", "x5t#S256"}

// parseHeader decodes the header strictly. go-jose's JSON decoder refuses
// duplicate members and compares names exactly.
func parseHeader(part string) (header, error) {
	var members map[string]json.RawMessage
	if !decode(part, &members) {
		return header{}, auth.ErrMalformed
	}
	for name := range members {
		if !slices.Contains(harmless, name) {
			return header{}, refuse("header parameter not accepted")
		}
	}
	var h header
	var typ string
	for name, into := range map[string]*string{"alg": &h.alg, "kid": &h.kid, "typ": &typ} {
		raw, ok := members[name]
		if !ok || json.Unmarshal(raw, into) != nil || *into == "" {
			return header{}, refuse("header lacks alg, kid or typ")
		}
	}
	switch strings.ToLower(typ) { // media types ignore case: RFC 7515 §4.1.9
	case "jwt":
	case "at+jwt", "application/at+jwt":
		h.accessToken = true
	default:
		return header{}, refuse("typ not accepted")
	}
	return h, nil
}

// claims holds the claims of a token that are used.
type claims struct {
	Issuer        string       `json:"iss"`
	Subject       string       `json:"sub"`
	Audience      audience     `json:"aud"`
	Expiry        *numericDate `json:"exp"`
	NotBefore     *numericDate `json:"nbf"`
	IssuedAt      *numericDate `json:"iat"`
	Organisation  *string      `json:"org"`
	Scope         *string      `json:"scope"`
	Session       *string      `json:"sid"`
	ID            string       `json:"jti"`
	Client        string       `json:"client_id"`
	Email         string       `json:"email"`
	EmailVerified *bool        `json:"email_verified"`
	// The following claims identify an ID token: OpenID Connect Core 1.0 §2 and §3.3.2.11. Some
	// servers add the claim typ.
	Nonce           *string `json:"nonce"`
	AccessTokenHash *string `json:"at_hash"`
	CodeHash        *string `json:"c_hash"`
	Type            string  `json:"typ"`
}

// idToken reports whether the claims are those of an ID token, which is for a client and gives no
// access.
func (c *claims) idToken() bool {
	return c.Nonce != nil || c.AccessTokenHash != nil || c.CodeHash != nil || strings.EqualFold(c.Type, "ID")
}

// checkLife returns an error if the token is valid for longer than longest, unless that is zero.
func (c *claims) checkLife(now time.Time, longest time.Duration) error {
	from := float64(now.UnixNano()) / 1e9
	if c.IssuedAt != nil {
		from = float64(*c.IssuedAt)
	}
	if longest > 0 && float64(*c.Expiry)-from > longest.Seconds() {
		return refuse("valid for too long")
	}
	return nil
}

// peekIssuer reads iss before the signature is checked, to select the keys for that
// check. Nothing else of the result may be used.
func peekIssuer(part string) (string, error) {
	var c struct {
		Issuer string `json:"iss"`
	}
	if !decode(part, &c) || c.Issuer == "" {
		return "", auth.ErrMalformed
	}
	return c.Issuer, nil
}

// claimedAccount returns the issuer and subject that a refused token claims, or "" if
// it cannot be read. The claim is unverified.
func claimedAccount(token string) string {
	parts := strings.Split(token, ".")
	var c struct {
		Issuer  string `json:"iss"`
		Subject string `json:"sub"`
	}
	if len(token) > maxToken || len(parts) != 3 || !decode(parts[1], &c) || c.Subject == "" {
		return ""
	}
	return c.Issuer + " " + c.Subject
}

// checkTimes requires exp > now and, if present, nbf <= now. It also refuses a token
// issued in the future, whose issuer has a wrong clock.
func (c *claims) checkTimes(now time.Time) error {
	at := float64(now.UnixNano()) / 1e9
	switch {
	case c.Expiry == nil:
		return refuse("exp missing")
	case at >= float64(*c.Expiry):
		return auth.ErrExpired
	case c.NotBefore != nil && at < float64(*c.NotBefore):
		return refuse("not valid yet")
	case c.IssuedAt != nil && at+maxSkew.Seconds() < float64(*c.IssuedAt):
		return refuse("issued in the future")
	}
	return nil
}

// maxSkew is how far an issuer's clock may be ahead in iat, which grants nothing. exp
// and nbf are exact.
const maxSkew = time.Minute

// numericDate is a number of seconds since 1970, possibly with a fraction. The decoder
// refuses strings.
type numericDate float64

// time returns the date, or the zero time for a missing one.
func (d *numericDate) time() time.Time {
	if d == nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(float64(*d) * 1e6)).UTC()
}

// audience is one string or a list of them.
type audience []string

// UnmarshalJSON accepts both forms of RFC 7519 §4.1.3.
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audience{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return err
	}
	*a = many
	return nil
}

// parseID parses an id in its canonical form only, so that each user has one spelling.
func parseID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil || id.String() != text {
		return uuid.Nil, false
	}
	return id, true
}

// decode decodes one base64url part as a JSON object.
func decode(part string, into any) bool {
	data, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return err == nil && decodeJSON(data, into)
}

func decodeJSON(data []byte, into any) bool {
	return len(data) > 0 && data[0] == '{' && json.Unmarshal(data, into) == nil
}
