package identity_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// TestAnAddressSignsInOneSubject lets another account of the provider have the address of a member,
// and that of the owner.
func TestAnAddressSignsInOneSubject(t *testing.T) {
	t.Parallel()
	s := startSSO(t, object{
		"eve": object{"email": "eve@acme.example", "email_verified": true}, "nina": object{"email": "eve@acme.example", "email_verified": true},
		"boss": object{"email": owner, "email_verified": true}, "mallory": object{"email": owner, "email_verified": true},
	}, func(s *harness.Server) { setPassword(t, s, owner, firstPassword) })
	// refused signs an account in, and returns the page that says what to do.
	refused := func(b *browser, account, email string) page {
		t.Helper()
		p := b.send(b.signIn(login(b, s, email), account, s.URL), nil)
		require.Equal(t, http.StatusSeeOther, p.status, "%s", p.body)
		require.Equal(t, s.URL+"/confirm-identity", p.location)
		shown := b.send(p.location, nil)
		require.Equal(t, http.StatusForbidden, shown.status)
		require.Contains(t, string(shown.body), "not yet confirmed")
		return shown
	}
	eve, _ := signedIn(newBrowser(t), s, "eve", "eve@acme.example")
	user := eve.OK("GET", "/v1/me", nil)["userId"].(string)
	other := refused(newBrowser(t), "nina", "eve@acme.example")
	require.NotContains(t, string(other.body), user)

	// The owner confirms with a password, in the browser that has signed in at the provider.
	b, thief := newBrowser(t), newBrowser(t)
	refused(thief, "mallory", owner)
	refused(b, "boss", owner)
	in := b.Submit(s.URL+"/signin?return_to=/confirm-identity", "email", owner, "password", firstPassword, "return_to", "/confirm-identity")
	require.Equal(t, http.StatusOK, in.Status, "%s", in.Body)
	shown := b.Open(s.URL + "/confirm-identity")
	require.Equal(t, http.StatusOK, shown.Status, "%s", shown.Body)
	require.Contains(t, string(shown.Body), "<strong>boss</strong>")
	done := b.Submit(s.URL + "/confirm-identity")
	require.Equal(t, http.StatusOK, done.Status, "%s", done.Body)
	require.Contains(t, string(done.Body), "Confirmed")
	boss, _ := signedIn(newBrowser(t), s, "boss", owner)
	require.Equal(t, []any{s.Boot.UserID, "admin"}, []any{boss.OK("GET", "/v1/me", nil)["userId"], boss.OK("GET", "/v1/me", nil)["role"]})
	refused(thief, "mallory", owner)

	// The owner, signed in, lets nina in as eve instead.
	identities := "/v1/organisations/" + s.Boot.OrganisationID + "/users/" + user + "/identities"
	bound := boss.OK("GET", identities, nil)["identities"].([]any)
	require.Len(t, bound, 1)
	require.Equal(t, []any{"eve", "sign_in"}, []any{bound[0].(object)["subject"], bound[0].(object)["method"]})
	boss.OK("DELETE", identities+"/"+bound[0].(object)["id"].(string), nil)
	harness.Within(t, "the sign-out of the released subject", func() bool {
		return eve.Call("GET", "/v1/me", nil).Status == http.StatusUnauthorized
	})
	issuer := boss.OK("GET", ssoPath(s), nil)["issuer"]
	made := boss.Call("POST", identities, object{"issuer": issuer, "subject": "nina"})
	require.Equal(t, http.StatusCreated, made.Status, "%s", made.Body)
	nina, _ := signedIn(newBrowser(t), s, "nina", "eve@acme.example")
	require.Equal(t, user, nina.OK("GET", "/v1/me", nil)["userId"])
	refused(newBrowser(t), "eve", "eve@acme.example")

	for action, resource := range map[string]string{"identity.bound": "user/" + user, "identity.released": "user/" + user,
		"sign_in.refused": "user/" + s.Boot.UserID} {
		harness.Within(t, action, func() bool {
			found := boss.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/audit?action="+action+"&resource="+resource, nil)
			return len(found["entries"].([]any)) > 0
		})
	}
}

// TestTheOwnerConfirmsTokens lets the owner use tokens of an issuer that names people by addresses.
func TestTheOwnerConfirmsTokens(t *testing.T) {
	t.Parallel()
	foreign := harness.NewSigner(t)
	const issuer = "https://foreign.example"
	s := harness.Start(t, func(c *harness.Settings) {
		c.Issuers = []config.Issuer{{URL: issuer, JWKSFile: foreign.File, EmailSubjects: true, Scopes: []string{"read"}}}
	})
	setPassword(t, s, owner, firstPassword)
	token := func(subject, email string) string {
		return foreign.Token(object{"iss": issuer, "aud": "lakewarden", "sub": subject, "email": email, "email_verified": true,
			"org": s.Boot.OrganisationID, "exp": time.Now().Add(time.Hour).Unix()})
	}
	mine := token("owner", owner)
	s.Client(mine, "").Call("GET", "/v1/me", nil).Problem(t, http.StatusUnauthorized)
	b := harness.NewBrowser(t)
	in := b.Submit(s.URL+"/signin?return_to=/confirm-identity", "email", owner, "password", firstPassword, "return_to", "/confirm-identity")
	require.Equal(t, http.StatusOK, in.Status, "%s", in.Body)
	for _, other := range []string{token("ana", "ana@acme.example"), "a.b.c"} {
		refused := b.Submit(s.URL+"/confirm-identity", "token", other)
		require.Contains(t, []int{http.StatusForbidden, http.StatusUnprocessableEntity}, refused.Status, "%s", refused.Body)
	}
	done := b.Submit(s.URL+"/confirm-identity", "token", mine)
	require.Equal(t, http.StatusOK, done.Status, "%s", done.Body)
	require.Equal(t, s.Boot.UserID, s.Client(mine, "").OK("GET", "/v1/me", nil)["userId"])
}
