package jwt_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2027, 3, 4, 5, 6, 7, 500_000_000, time.UTC)

const (
	home    = "https://lakewarden.example"
	foreign = "https://idp.example"
)

// world holds two issuers with their keys, one organisation and two members.
type world struct {
	*jwt.Authenticator
	org, otherOrg uuid.UUID
	ada, bob      uuid.UUID

	rsa      *rsa.PrivateKey
	ec       *ecdsa.PrivateKey
	ed       ed25519.PrivateKey
	foreign  *rsa.PrivateKey
	stranger *rsa.PrivateKey
	weak     *rsa.PrivateKey
	members  *members
}

type members struct {
	byID    map[[2]uuid.UUID]jwt.Member
	byEmail map[string]jwt.Member
	people  map[uuid.UUID]jwt.Member
	err     error
	calls   int
}

func (m *members) MemberByID(_ context.Context, org, user uuid.UUID) (jwt.Member, bool, error) {
	m.calls++
	member, ok := m.byID[[2]uuid.UUID{org, user}]
	return member, ok, m.err
}

func (m *members) PersonByID(_ context.Context, user uuid.UUID) (jwt.Member, bool, error) {
	person, ok := m.people[user]
	return person, ok, m.err
}

func (m *members) MemberBySubject(_ context.Context, of jwt.Subject) (jwt.Member, bool, error) {
	if of.ID == "stranger" {
		return jwt.Member{}, false, &auth.UnboundError{Org: of.Org, Issuer: of.Issuer, Subject: of.ID, Reason: "bound_to_another_subject"}
	}
	member, ok := m.byEmail[of.Org.String()+" "+of.Email]
	return member, ok, m.err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{org: uuid.New(), otherOrg: uuid.New(), ada: uuid.New(), bob: uuid.New()}
	newRSA := func(bits int) *rsa.PrivateKey {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		require.NoError(t, err)
		return key
	}
	w.rsa, w.foreign, w.stranger, w.weak = newRSA(2048), newRSA(2048), newRSA(2048), newRSA(1024)
	var err error
	w.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	_, w.ed, err = ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)

	ada := jwt.Member{UserID: w.ada, Email: "ada@example.com", Role: auth.RoleEditor}
	bob := jwt.Member{UserID: w.bob, Email: "bob@example.com"} // left the organisation
	w.members = &members{
		byID:    map[[2]uuid.UUID]jwt.Member{{w.org, w.ada}: ada, {w.org, w.bob}: bob},
		byEmail: map[string]jwt.Member{w.org.String() + " ada@example.com": ada, w.otherOrg.String() + " ada@example.com": ada},
		people:  map[uuid.UUID]jwt.Member{w.ada: ada},
	}
	homeKeys := keySet(t,
		jose.JSONWebKey{KeyID: "rsa", Key: w.rsa.Public()},
		jose.JSONWebKey{KeyID: "ec", Key: w.ec.Public(), Use: "sig"},
		jose.JSONWebKey{KeyID: "ed", Key: w.ed.Public(), Algorithm: "EdDSA"},
		jose.JSONWebKey{KeyID: "weak", Key: w.weak.Public()},
		jose.JSONWebKey{KeyID: "wide", Key: wide.Public()},
		jose.JSONWebKey{KeyID: "enc", Key: w.rsa.Public(), Use: "enc"},
		jose.JSONWebKey{KeyID: "rs512", Key: w.rsa.Public(), Algorithm: "RS512"},
		jose.JSONWebKey{KeyID: "oct", Key: []byte("a symmetric key in a public set!")},
		jose.JSONWebKey{KeyID: "twice", Key: w.rsa.Public()},
		jose.JSONWebKey{KeyID: "twice", Key: w.stranger.Public()},
	)
	w.Authenticator, err = jwt.New(w.members, []jwt.Issuer{
		{URL: home, Algorithms: []string{jwt.RS256, jwt.ES256, jwt.EdDSA}, Keys: homeKeys},
		{
			URL: foreign, Algorithms: []string{jwt.RS256}, EmailSubjects: true, Organisations: []uuid.UUID{w.org},
			Keys:          keySet(t, jose.JSONWebKey{KeyID: "f1", Key: w.foreign.Public()}),
			DefaultScopes: auth.RoleViewer.Scopes(),
		},
	}, jwt.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	return w
}

func keySet(t *testing.T, keys ...jose.JSONWebKey) *jwt.KeySet {
	document, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	require.NoError(t, err)
	return jwt.NewKeySet(func(context.Context) ([]byte, error) { return document, nil }, nil)
}

type object = map[string]any

func (w *world) header() object { return object{"alg": "RS256", "kid": "rsa", "typ": "at+jwt"} }

func (w *world) claims() object {
	return object{
		"iss": home, "aud": "lakewarden", "sub": w.ada.String(), "org": w.org.String(),
		"exp": now.Unix() + 900, "nbf": now.Unix(), "iat": now.Unix(), "scope": "tables:query rows:insert org:update",
	}
}

func (w *world) foreignToken(change func(object)) string {
	c := object{
		"iss": foreign, "aud": []string{"account", "lakewarden"}, "sub": "idp|1234",
		"exp": now.Unix() + 900, "email": "ada@example.com", "email_verified": true,
	}
	change(c)
	return sign(object{"alg": "RS256", "kid": "f1", "typ": "JWT"}, c, w.foreign)
}

// sign signs any header and claims with the key, even invalid ones. Strings are used as
// raw JSON.
func sign(header, claims any, key any) string {
	input := encode(header) + "." + encode(claims)
	digest := sha256.Sum256([]byte(input))
	var signature []byte
	var err error
	switch key := key.(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	case *ecdsa.PrivateKey:
		r, s, signErr := ecdsa.Sign(rand.Reader, key, digest[:])
		signature, err = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), signErr
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, []byte(input))
	case []byte:
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(input))
		signature = mac.Sum(nil)
	}
	if err != nil {
		panic(err)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func encode(v any) string {
	raw, ok := v.(string)
	if !ok {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		raw = string(data)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(raw))
}

func with(o object, name string, value any) object {
	if value == nil {
		delete(o, name)
	} else {
		o[name] = value
	}
	return o
}

// TestIssuersOfOrganisationsConfine checks that a token of an issuer that is limited to some
// organisations reaches nothing of a person elsewhere.
func TestIssuersOfOrganisationsConfine(t *testing.T) {
	w := newWorld(t)
	p, err := w.Authenticate(t.Context(), w.foreignToken(func(object) {}))
	require.NoError(t, err)
	require.True(t, p.Confined)
	p, err = w.Authenticate(t.Context(), sign(w.header(), w.claims(), w.rsa))
	require.NoError(t, err)
	require.False(t, p.Confined)
}
