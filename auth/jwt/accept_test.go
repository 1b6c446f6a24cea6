package jwt_test

import (
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

func TestTokenOfOurOwnIssuer(t *testing.T) {
	w := newWorld(t)
	want := auth.Principal{
		OrgID: w.org, UserID: w.ada, Email: "ada@example.com", Role: auth.RoleEditor, Method: auth.MethodJWT,
		Granted: auth.NewScopeSet(auth.ScopeTablesQuery, auth.ScopeRowsInsert, auth.ScopeOrgUpdate),
		Scopes:  auth.NewScopeSet(auth.ScopeTablesQuery, auth.ScopeRowsInsert),
	}
	for name, token := range map[string]string{
		"RS256":               sign(w.header(), w.claims(), w.rsa),
		"ES256":               sign(object{"alg": "ES256", "kid": "ec", "typ": "JWT"}, w.claims(), w.ec),
		"EdDSA":               sign(object{"alg": "EdDSA", "kid": "ed", "typ": "jwt"}, w.claims(), w.ed),
		"full media type":     sign(with(w.header(), "typ", "application/at+jwt"), w.claims(), w.rsa),
		"thumbprint ignored":  sign(with(w.header(), "x5t", "abc"), w.claims(), w.rsa),
		"audience list":       sign(w.header(), with(w.claims(), "aud", []string{"other", "lakewarden"}), w.rsa),
		"no nbf, no iat":      sign(w.header(), with(with(w.claims(), "nbf", nil), "iat", nil), w.rsa),
		"fraction of seconds": sign(w.header(), with(w.claims(), "exp", float64(now.Unix())+0.75), w.rsa),
		"strange claims": sign(w.header(), with(with(with(w.claims(), "role", "admin"), "roles", []string{"admin"}), "scp",
			[]string{"users:write"}), w.rsa),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := w.Authenticate(t.Context(), token)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestTokenWithoutScopeCarriesNothing(t *testing.T) {
	w := newWorld(t)
	for _, scope := range []any{nil, "", " ", "admin", "write", "TABLES:QUERY", "tables:query,rows:insert"} {
		p, err := w.Authenticate(t.Context(), sign(w.header(), with(w.claims(), "scope", scope), w.rsa))
		require.NoError(t, err)
		require.True(t, p.Granted.Empty(), "scope %q", scope)
	}
}

func TestTokenWithoutOrganisation(t *testing.T) {
	w := newWorld(t)
	homeless := w.claims()
	delete(homeless, "org")
	token := sign(w.header(), homeless, w.rsa)
	_, err := w.Authenticate(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrUnauthenticated, "only some issuers have such tokens")

	issuer := jwt.Issuer{URL: home, Algorithms: []string{jwt.RS256}, Orgless: true,
		Keys: keySet(t, jose.JSONWebKey{KeyID: "rsa", Key: w.rsa.Public()})}
	authenticate := func(token string) (auth.Principal, error) {
		a, err := jwt.New(w.members, []jwt.Issuer{issuer}, jwt.Options{Now: func() time.Time { return now }})
		require.NoError(t, err)
		return a.Authenticate(t.Context(), token)
	}
	p, err := authenticate(token)
	require.NoError(t, err)
	require.ErrorIs(t, p.InOrganisation(), auth.ErrOrganisationRequired)
	require.Equal(t, w.ada, p.UserID)
	require.Equal(t, auth.Role(""), p.Role, "roles belong to organisations")
	require.True(t, p.Scopes.Empty())
	require.False(t, p.MayManageOwnKeys())
	_, err = authenticate(sign(w.header(), with(homeless, "sub", w.bob.String()), w.rsa))
	require.ErrorIs(t, err, auth.ErrNoMember, "not a person")
	p, err = authenticate(sign(w.header(), w.claims(), w.rsa))
	require.NoError(t, err)
	require.NoError(t, p.InOrganisation())

	issuer.EmailSubjects = true
	_, err = authenticate(sign(w.header(), with(with(homeless, "email", "ada@example.com"), "email_verified", true), w.rsa))
	require.ErrorIs(t, err, auth.ErrUnauthenticated, "a foreign issuer speaks for its organisations only")
}

func TestTokenOfAForeignIssuer(t *testing.T) {
	w := newWorld(t)
	p, err := w.Authenticate(t.Context(), w.foreignToken(func(object) {}))
	require.NoError(t, err)
	require.Equal(t, w.ada, p.UserID)
	require.Equal(t, w.org, p.OrgID)
	require.Equal(t, auth.RoleViewer.Scopes(), p.Scopes, "the issuer's default")
	require.True(t, p.Confined, "an organisation has decided who the subject is")
	p, err = w.Authenticate(t.Context(), w.foreignToken(func(c object) { c["scope"] = "users:write rows:delete"; c["org"] = w.org.String() }))
	require.NoError(t, err)
	require.Equal(t, auth.NewScopeSet(auth.ScopeRowsDelete), p.Scopes, "the role still bounds it")
}

func TestCatalogFailureIsNotARefusal(t *testing.T) {
	w := newWorld(t)
	w.members.err = t.Context().Err()
	_, err := w.Authenticate(t.Context(), sign(w.header(), w.claims(), w.rsa))
	require.NoError(t, err)
	w.members.err = jwt.ErrConfig // any error will do
	_, err = w.Authenticate(t.Context(), sign(w.header(), w.claims(), w.rsa))
	require.ErrorIs(t, err, auth.ErrUnavailable)
	require.NotErrorIs(t, err, auth.ErrUnauthenticated)
}

func TestConfigurationIsChecked(t *testing.T) {
	keys := keySet(t)
	good := jwt.Issuer{URL: home, Algorithms: []string{jwt.RS256}, Keys: keys}
	for name, issuers := range map[string][]jwt.Issuer{
		"no url":           {{Algorithms: good.Algorithms, Keys: keys}},
		"no keys":          {{URL: home, Algorithms: good.Algorithms}},
		"no algorithms":    {{URL: home, Keys: keys}},
		"none":             {{URL: home, Keys: keys, Algorithms: []string{"none"}}},
		"symmetric":        {{URL: home, Keys: keys, Algorithms: []string{"RS256", "HS256"}}},
		"configured twice": {good, good},
	} {
		_, err := jwt.New(&members{}, issuers, jwt.Options{})
		require.ErrorIs(t, err, jwt.ErrConfig, name)
	}
}
