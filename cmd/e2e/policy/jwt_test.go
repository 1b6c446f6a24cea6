package policy_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

func TestTokensOfAConfiguredIssuer(t *testing.T) {
	t.Parallel()
	issuer, foreign, stranger := harness.NewSigner(t), harness.NewSigner(t), harness.NewSigner(t)
	s := harness.Start(t, func(c *harness.Settings) {
		c.Issuers = []config.Issuer{
			{URL: "https://issuer.example", JWKSFile: issuer.File},
			{URL: "https://foreign.example", JWKSFile: foreign.File, EmailSubjects: true, Scopes: []string{"read"}},
		}
	})
	s.Table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	ana := s.Member("ana@acme.example", "builder", map[string]string{"limit": "4"})
	claims := func(change map[string]any) map[string]any {
		out := map[string]any{
			"iss": "https://issuer.example", "aud": "lakewarden", "sub": ana.User, "org": s.Boot.OrganisationID,
			"exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(), "scope": "tables:read tables:query org:read users:write",
		}
		for name, value := range change {
			if out[name] = value; value == nil {
				delete(out, name)
			}
		}
		return out
	}
	good := s.Client(issuer.Token(claims(nil)), ana.User)
	me := good.OK("GET", "/v1/me", nil)
	require.Equal(t, ana.User, me["userId"])
	require.ElementsMatch(t, []string{"tables:read", "tables:query", "org:read"}, harness.ScopesOf(t, me),
		"a token grants no more than the role")
	require.Equal(t, 10.0, good.Count(s.Schema+".t"))
	s.Policy("t", "id", `{"effect":"permit","subject":{"attribute":"limit","op":"lt"}}`)
	require.Equal(t, 4.0, good.Count(s.Schema+".t"), "the member's attributes, not the token's")
	forged := s.Client(issuer.Token(claims(map[string]any{"limit": "100", "role": "admin", "attributes": map[string]string{"limit": "100"},
		"scopes": []string{"admin"}})), ana.User)
	require.Equal(t, 4.0, forged.Count(s.Schema+".t"), "no other claim grants anything")
	require.Equal(t, "builder", forged.OK("GET", "/v1/me", nil)["role"])

	// A person may make keys of their own, no wider than themselves. A token for less than the role needs the
	// scope for it.
	code, _ := good.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "scopes": []string{"tables:query"}}).Problem(t, 403)
	require.Equal(t, "insufficient_scope", code)
	makes := s.Client(issuer.Token(claims(map[string]any{"scope": "tables:query apikeys:create"})), ana.User)
	key, _ := makes.NewKey(map[string]any{"scopes": []string{"tables:query"}})
	require.Equal(t, 4.0, key.Count(s.Schema+".t"))
	code, _ = makes.Call("POST", "/v1/api-keys", map[string]any{"name": "x", "scopes": []string{"write"}}).Problem(t, 403)
	require.Equal(t, "scope_escalation", code)

	email := s.Client(foreign.Token(claims(map[string]any{"iss": "https://foreign.example", "sub": "f-1", "email": "Ana@ACME.example",
		"email_verified": true, "scope": nil})), ana.User)
	require.ElementsMatch(t, harness.ViewerScopes, harness.ScopesOf(t, email.OK("GET", "/v1/me", nil)))
	require.Equal(t, 4.0, email.Count(s.Schema+".t"))

	_, other := s.Organisation("globex")
	for name, token := range map[string]string{
		"expired":             issuer.Token(claims(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})),
		"no expiry":           issuer.Token(claims(map[string]any{"exp": nil})),
		"other audience":      issuer.Token(claims(map[string]any{"aud": "other"})),
		"no audience":         issuer.Token(claims(map[string]any{"aud": nil})),
		"unknown issuer":      issuer.Token(claims(map[string]any{"iss": "https://other.example"})),
		"other issuer's name": stranger.Token(claims(nil)),
		"other key":           foreign.Token(claims(nil)),
		"unknown user":        issuer.Token(claims(map[string]any{"sub": uuid.NewString()})),
		"other organisation":  issuer.Token(claims(map[string]any{"org": other.OrganisationID})),
		"no subject":          issuer.Token(claims(map[string]any{"sub": nil})),
		"not yet":             issuer.Token(claims(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})),
		"e-mail not verified": foreign.Token(claims(map[string]any{"iss": "https://foreign.example", "email": "ana@acme.example",
			"email_verified": false})),
		"cut": good.Key[:len(good.Key)-4],
	} {
		r := s.Client(token, "").Call("GET", "/v1/me", nil)
		require.Equal(t, 401, r.Status, "%s: %s", name, r.Body)
		r.Problem(t, 401)
		require.Contains(t, r.Header.Get("WWW-Authenticate"), "Bearer", name)
	}
	nowhere := s.Client(issuer.Token(claims(map[string]any{"org": nil})), ana.User)
	code, _ = nowhere.Call("GET", "/v1/organisations/"+s.Boot.OrganisationID, nil).Problem(t, 403)
	require.Equal(t, "organisation_required", code)
	s.Admin.OK("PUT", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+ana.User+"/role", map[string]string{"role": "viewer"})
	require.Equal(t, "viewer", good.OK("GET", "/v1/me", nil)["role"], "the role of now")
}
