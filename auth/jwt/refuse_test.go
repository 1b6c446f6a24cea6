package jwt_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

// Every token here differs from an accepted one in one respect.
func TestRefusedTokens(t *testing.T) {
	w := newWorld(t)
	good := sign(w.header(), w.claims(), w.rsa)
	parts := strings.Split(good, ".")
	_, err := w.Authenticate(t.Context(), good)
	require.NoError(t, err, "the base of all tokens below")

	der := x509.MarshalPKCS1PublicKey(&w.rsa.PublicKey)
	publicJWK, err := json.Marshal(jose.JSONWebKey{Key: w.stranger.Public(), KeyID: "rsa"})
	require.NoError(t, err)
	head := func(name string, value any) string { return sign(with(w.header(), name, value), w.claims(), w.rsa) }
	claim := func(name string, value any) string { return sign(w.header(), with(w.claims(), name, value), w.rsa) }
	rawClaims, err := json.Marshal(w.claims())
	require.NoError(t, err)
	splice := func(prefix string) string { return sign(w.header(), "{"+prefix+","+string(rawClaims[1:]), w.rsa) }
	flip := func(i, at int) string {
		p := append([]string(nil), parts...)
		b := []byte(p[i])
		b[at] = map[bool]byte{true: 'B', false: 'A'}[b[at] == 'A']
		p[i] = string(b)
		return strings.Join(p, ".")
	}

	tokens := map[string]string{
		// Form.
		"empty":                     "",
		"dots only":                 "..",
		"one part":                  parts[0],
		"two parts":                 parts[0] + "." + parts[1],
		"four parts":                good + "." + parts[2],
		"five parts, as encryption": strings.Repeat(parts[0]+".", 4) + parts[2],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"padded":                    parts[0] + "=." + parts[1] + "." + parts[2],
		"line end inside":           parts[0] + ".\n" + parts[1] + "." + parts[2],
		"standard base64": base64.StdEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"rsa","typ":"JWT?>?>"}`)) + "." +
			parts[1] + "." + parts[2],
		"JSON serialisation":           `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"an ID token by its nonce":     sign(with(w.header(), "typ", "JWT"), with(w.claims(), "nonce", "n"), w.rsa),
		"an ID token by its hash":      sign(with(w.header(), "typ", "JWT"), with(w.claims(), "at_hash", "h"), w.rsa),
		"an ID token by its type":      sign(with(w.header(), "typ", "JWT"), with(w.claims(), "typ", "ID"), w.rsa),
		"too long":                     claim("filler", strings.Repeat("x", 9000)),
		"header is not an object":      sign(`["RS256"]`, w.claims(), w.rsa),
		"header is broken":             sign(`{"alg":"RS256"`, w.claims(), w.rsa),
		"header twice the same member": sign(`{"alg":"RS256","alg":"RS256","kid":"rsa","typ":"JWT"}`, w.claims(), w.rsa),
		"claims are not an object":     sign(w.header(), `"lakewarden"`, w.rsa),
		"claims are broken":            sign(w.header(), `{"iss":`, w.rsa),
		"claims are null":              sign(w.header(), `null`, w.rsa),
		"claims twice the same member": splice(`"sub":"` + w.bob.String() + `"`),
		"two issuers":                  splice(`"iss":"` + foreign + `"`),

		// Algorithms and keys.
		"alg none":                  strings.Join([]string{encode(with(w.header(), "alg", "none")), parts[1], ""}, "."),
		"alg none, signature kept":  encode(with(w.header(), "alg", "none")) + "." + parts[1] + "." + parts[2],
		"alg None":                  head("alg", "None"),
		"alg missing":               head("alg", nil),
		"alg null":                  sign(`{"alg":null,"kid":"rsa","typ":"JWT"}`, w.claims(), w.rsa),
		"alg lower case":            head("alg", "rs256"),
		"alg RS384":                 head("alg", "RS384"),
		"alg PS256":                 head("alg", "PS256"),
		"HS256 with the public key": sign(with(w.header(), "alg", "HS256"), w.claims(), der),
		"HS256 with the set's oct key": sign(object{"alg": "HS256", "kid": "oct", "typ": "JWT"}, w.claims(),
			[]byte("a symmetric key in a public set!")),
		"RS256 with an EC key's id":  head("kid", "ec"),
		"ES256 with an RSA key's id": sign(object{"alg": "ES256", "kid": "rsa", "typ": "JWT"}, w.claims(), w.ec),
		"EdDSA with an EC key's id":  sign(object{"alg": "EdDSA", "kid": "ec", "typ": "JWT"}, w.claims(), w.ed),
		"ES256 with zero signature": encode(object{"alg": "ES256", "kid": "ec", "typ": "JWT"}) + "." + parts[1] + "." +
			base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"another key":                  sign(w.header(), w.claims(), w.stranger),
		"the foreign issuer's key":     sign(w.header(), w.claims(), w.foreign),
		"the foreign issuer's key id":  sign(with(w.header(), "kid", "f1"), w.claims(), w.foreign),
		"kid unknown":                  head("kid", "other"),
		"kid missing":                  head("kid", nil),
		"kid empty":                    head("kid", ""),
		"kid a number":                 head("kid", 1),
		"kid a path":                   head("kid", "../../../../dev/null"),
		"kid SQL":                      head("kid", "' UNION SELECT 'x"),
		"key for encryption":           head("kid", "enc"),
		"key for another algorithm":    head("kid", "rs512"),
		"key id used twice, one key":   head("kid", "twice"),
		"key id used twice, other":     sign(with(w.header(), "kid", "twice"), w.claims(), w.stranger),
		"key too short":                sign(with(w.header(), "kid", "weak"), w.claims(), w.weak),
		"key on another curve":         sign(object{"alg": "ES256", "kid": "wide", "typ": "JWT"}, w.claims(), w.ec),
		"signature of another token":   parts[0] + "." + parts[1] + "." + strings.Split(claim("jti", "1"), ".")[2],
		"claims of another token":      parts[0] + "." + encode(with(w.claims(), "sub", w.bob.String())) + "." + parts[2],
		"header bit changed":           flip(0, 5),
		"claims bit changed":           flip(1, 30),
		"signature bit changed":        flip(2, 30),
		"embedded jwk":                 sign(`{"alg":"RS256","kid":"rsa","typ":"JWT","jwk":`+string(publicJWK)+`}`, w.claims(), w.stranger),
		"jku":                          sign(with(w.header(), "jku", "https://evil.example/jwks"), w.claims(), w.stranger),
		"jku with the right signature": head("jku", home+"/jwks"),
		"x5u":                          head("x5u", "https://evil.example/cert"),
		"x5c":                          head("x5c", []string{base64.StdEncoding.EncodeToString(der)}),
		"crit":                         head("crit", []string{"exp"}),
		"crit empty":                   head("crit", []string{}),
		"b64 false":                    head("b64", false),
		"zip":                          head("zip", "DEF"),
		"cty of a nested token":        head("cty", "JWT"),
		"enc":                          head("enc", "A256GCM"),
		"unknown header parameter":     head("x-admin", true),
		"typ missing":                  head("typ", nil),
		"typ of a proof":               head("typ", "dpop+jwt"),
		"typ of a logout token":        head("typ", "logout+jwt"),
		"typ a number":                 head("typ", 1),

		// Claims.
		"iss missing":            claim("iss", nil),
		"iss unknown":            claim("iss", "https://evil.example"),
		"iss with slash":         claim("iss", home+"/"),
		"iss upper case":         claim("iss", strings.ToUpper(home)),
		"iss a list":             claim("iss", []string{home}),
		"aud missing":            claim("aud", nil),
		"aud empty":              claim("aud", []string{}),
		"aud other":              claim("aud", "other"),
		"aud a prefix":           claim("aud", "lakewarden.example"),
		"aud upper case":         claim("aud", "Lakewarden"),
		"aud a number":           claim("aud", 1),
		"aud an object":          claim("aud", object{"lakewarden": true}),
		"exp missing":            claim("exp", nil),
		"exp null":               sign(w.header(), strings.Replace(string(rawClaims), fmt.Sprint(now.Unix()+900), "null", 1), w.rsa),
		"exp a string":           claim("exp", fmt.Sprint(now.Unix()+900)),
		"exp too big a number":   sign(w.header(), strings.Replace(string(rawClaims), fmt.Sprint(now.Unix()+900), "1e999", 1), w.rsa),
		"exp negative":           claim("exp", -1),
		"nbf in the future":      claim("nbf", now.Unix()+1),
		"nbf a string":           claim("nbf", "0"),
		"iat far in the future":  claim("iat", now.Unix()+3600),
		"sub missing":            claim("sub", nil),
		"sub empty":              claim("sub", ""),
		"sub an e-mail":          claim("sub", "ada@example.com"),
		"sub upper case":         claim("sub", strings.ToUpper(w.ada.String())),
		"sub in braces":          claim("sub", "{"+w.ada.String()+"}"),
		"sub as urn":             claim("sub", w.ada.URN()),
		"sub nil":                claim("sub", uuid.Nil.String()),
		"sub unknown":            claim("sub", uuid.NewString()),
		"sub a former member":    claim("sub", w.bob.String()),
		"sub a number":           claim("sub", 1),
		"org missing":            claim("org", nil),
		"org unknown":            claim("org", uuid.NewString()),
		"org without membership": claim("org", w.otherOrg.String()),
		"org a list":             claim("org", []string{w.org.String()}),
		"org empty":              claim("org", ""),
		"scope a list":           claim("scope", []string{"tables:query"}),

		// The foreign issuer.
		"foreign: e-mail missing":           w.foreignToken(func(c object) { delete(c, "email") }),
		"foreign: not verified":             w.foreignToken(func(c object) { c["email_verified"] = false }),
		"foreign: verified missing":         w.foreignToken(func(c object) { delete(c, "email_verified") }),
		"foreign: verified as text":         w.foreignToken(func(c object) { c["email_verified"] = "true" }),
		"foreign: not confirmed":            w.foreignToken(func(c object) { c["sub"] = "stranger" }),
		"foreign: unknown e-mail":           w.foreignToken(func(c object) { c["email"] = "eve@example.com" }),
		"foreign: e-mail in sub":            w.foreignToken(func(c object) { delete(c, "email"); c["sub"] = "ada@example.com" }),
		"foreign: our user id, no e-mail":   w.foreignToken(func(c object) { delete(c, "email"); c["sub"] = w.ada.String() }),
		"foreign: another organisation":     w.foreignToken(func(c object) { c["org"] = w.otherOrg.String() }),
		"foreign: sub missing":              w.foreignToken(func(c object) { delete(c, "sub") }),
		"foreign: claims to be ours":        w.foreignToken(func(c object) { c["iss"] = home }),
		"foreign: algorithm only ours uses": sign(object{"alg": "EdDSA", "kid": "f1", "typ": "JWT"}, object{"iss": foreign}, w.ed),
	}
	require.Greater(t, len(tokens), 100)
	for name, token := range tokens {
		t.Run(name, func(t *testing.T) {
			p, err := w.Authenticate(t.Context(), token)
			require.ErrorIs(t, err, auth.ErrUnauthenticated)
			require.Zero(t, p)
			for _, part := range strings.Split(token, ".") {
				if len(part) > 8 {
					require.NotContains(t, err.Error(), part, "an error must not hold the token")
				}
			}
		})
	}
}

func TestTokenTimesAreExact(t *testing.T) {
	w := newWorld(t)
	at := float64(now.Unix()) + 0.5 // now, as the token writes it
	for _, c := range []struct {
		name  string
		claim string
		value float64
		want  error
	}{
		{"exp just ahead", "exp", at + 0.001, nil},
		{"exp now", "exp", at, auth.ErrExpired},
		{"exp just over", "exp", at - 0.001, auth.ErrExpired},
		{"nbf now", "nbf", at, nil},
		{"nbf just ahead", "nbf", at + 0.001, auth.ErrUnauthenticated},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Authenticate(t.Context(), sign(w.header(), with(w.claims(), c.claim, c.value), w.rsa))
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
		})
	}
}

// The server cannot revoke the tokens of another issuer, so they end soon.
func TestTokensOfOtherIssuersAreShort(t *testing.T) {
	w := newWorld(t)
	issuer := jwt.Issuer{URL: home, Algorithms: []string{jwt.RS256}, LongestLife: 24 * time.Hour, AccessTokensOnly: true,
		Keys: keySet(t, jose.JSONWebKey{KeyID: "rsa", Key: w.rsa.Public()})}
	a, err := jwt.New(w.members, []jwt.Issuer{issuer}, jwt.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	day := int64(24 * 60 * 60)
	for _, c := range []struct {
		issued   any
		life     int64 // from now on
		accepted bool
	}{{now.Unix(), day, true}, {now.Unix(), day + 1, false}, {nil, day, true}, {nil, day + 1, false}, {now.Unix() - 100, day - 100, true},
		{now.Unix() - 100, day - 99, false}} {
		_, err := a.Authenticate(t.Context(), sign(w.header(), with(with(w.claims(), "iat", c.issued), "exp", now.Unix()+c.life), w.rsa))
		if c.accepted {
			require.NoError(t, err, "%v", c)
		} else {
			require.ErrorIs(t, err, auth.ErrUnauthenticated, "%v", c)
		}
	}
	_, err = a.Authenticate(t.Context(), sign(with(w.header(), "typ", "JWT"), w.claims(), w.rsa))
	require.ErrorIs(t, err, auth.ErrUnauthenticated, "typ is JWT")
}
