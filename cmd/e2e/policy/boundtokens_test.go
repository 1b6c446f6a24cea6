package policy_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// TestTokensOfOtherIssuersAreBoundToOneMember checks that the address in a token of a foreign issuer
// names a member once only, and an administrator never.
func TestTokensOfOtherIssuersAreBoundToOneMember(t *testing.T) {
	t.Parallel()
	foreign := harness.NewSigner(t)
	const issuer = "https://foreign.example"
	s := harness.Start(t, func(c *harness.Settings) {
		c.Issuers = []config.Issuer{{URL: issuer, JWKSFile: foreign.File, EmailSubjects: true, Scopes: []string{"read"}}}
	})
	base := "/v1/organisations/" + s.Boot.OrganisationID
	ana, ben, boss := s.Member("ana@acme.example", "builder", nil), s.Member("ben@acme.example", "viewer", nil),
		s.Member("boss@acme.example", "admin", nil)
	me := func(subject, email string) harness.Reply {
		return s.Client(foreign.Token(map[string]any{"iss": issuer, "aud": "lakewarden", "sub": subject, "email": email, "email_verified": true,
			"org": s.Boot.OrganisationID, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}), "").Call("GET", "/v1/me", nil)
	}
	is := func(who *harness.Client, subject, email string) {
		t.Helper()
		r := me(subject, email)
		require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
		require.Equal(t, who.User, r.JSON(t)["userId"])
	}
	is(ana, "s-ana", "ana@acme.example")
	is(ana, "s-ana", "ana@acme.example")
	is(ben, "s-ben", "ben@acme.example")
	is(ben, "s-ben", "ana@acme.example") // whatever the address becomes
	is(ana, "s-ana", "nobody@elsewhere.example")
	me("s-mallory", "ana@acme.example").Problem(t, http.StatusUnauthorized)
	me("s-boss", "boss@acme.example").Problem(t, http.StatusUnauthorized)
	me("s-nobody", "nobody@acme.example").Problem(t, http.StatusUnauthorized)
	for reason, user := range map[string]*harness.Client{"bound_to_another_subject": ana, "confirmation_required": boss} {
		harness.Within(t, "the audit entry of the refusal", func() bool {
			found := s.Admin.OK("GET", base+"/audit?action=authenticate&resource=user/"+user.User, nil)["entries"].([]any)
			return len(found) == 1 && found[0].(map[string]any)["details"].(map[string]any)["reason"] == reason
		})
	}

	identities := base + "/users/" + boss.User + "/identities"
	bound := s.Admin.Call("POST", identities, map[string]any{"issuer": issuer, "subject": "s-boss"})
	require.Equal(t, http.StatusCreated, bound.Status, "%s", bound.Body)
	is(boss, "s-boss", "boss@acme.example")
	listed := s.Admin.OK("GET", base+"/users/"+ana.User+"/identities", nil)["identities"].([]any)
	require.Len(t, listed, 1)
	require.Equal(t, []any{issuer, "s-ana", "token"}, []any{listed[0].(map[string]any)["issuer"], listed[0].(map[string]any)["subject"],
		listed[0].(map[string]any)["method"]})
	code, _ := s.Admin.Call("POST", identities, map[string]any{"issuer": issuer, "subject": "s-ana"}).Problem(t, http.StatusConflict)
	require.Equal(t, "already_exists", code)

	// Keys other than those of the command line end, and a binding does not.
	key, _ := s.Admin.NewKey(map[string]any{"scopes": harness.AdminScopes})
	code, _ = key.Call("POST", identities, map[string]any{"issuer": issuer, "subject": "s-evil"}).Problem(t, http.StatusForbidden)
	require.Equal(t, "sign_in_required", code)
	code, _ = boss.Call("POST", base+"/users/"+s.Boot.UserID+"/identities", map[string]any{"issuer": issuer, "subject": "s-boss-2"}).
		Problem(t, http.StatusForbidden)
	require.Equal(t, "not_owner", code)

	s.Admin.OK("DELETE", identities+"/"+bound.JSON(t)["id"].(string), nil)
	harness.Within(t, "the end of a released identity", func() bool {
		return me("s-boss", "boss@acme.example").Status == http.StatusUnauthorized
	})
	counted := s.Admin.OK("DELETE", base+"/identities?issuer="+issuer+"&dry_run=true", nil)
	require.Equal(t, map[string]any{"dry_run": true, "released": 2.0}, counted)
	is(ana, "s-ana", "ana@acme.example")
	require.Equal(t, map[string]any{"dry_run": false, "released": 2.0}, s.Admin.OK("DELETE", base+"/identities?issuer="+issuer, nil))
	harness.Within(t, "the end of released identities", func() bool { return me("s-mallory", "ben@acme.example").Status == http.StatusOK })
}
