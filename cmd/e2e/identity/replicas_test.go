package identity_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/auth/sso/ssotest"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// accepts returns the condition that a server answers a token with a status.
func accepts(token string, status int) func(*harness.Server) bool {
	return func(s *harness.Server) bool { return s.Client(token, "").Call("GET", "/v1/me", nil).Status == status }
}

// TestSignInsReachEveryReplica checks that three servers on one database act as one: for
// sessions, signing keys, logouts by a provider, invitations and members. What one replica changes, its next
// request follows, and the others follow within a second.
func TestSignInsReachEveryReplica(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	replicas := harness.StartReplicas(t, 3, func(c *harness.Settings) {
		people.Trust(c)
		c.PublicURL = "https://lake.example"
		c.AllowPrivateEndpoints = true
	})
	first := replicas[0]
	everywhere := func(what string, holds func(*harness.Server) bool) {
		t.Helper()
		harness.Reaches(t, replicas, what, holds)
	}

	// Sessions.
	r := newRobot(t, first, object{"name": "Robot", "role": "viewer"})
	for _, on := range replicas {
		token := r.at(on).client(t, on).Key
		everywhere("a new session", accepts(token, 200))
		r.revoke(t, on, token)
		require.True(t, accepts(token, 401)(on), "the next request on the same replica")
		everywhere("a revoked session", accepts(token, 401))
	}

	// Signing keys.
	before := r.client(t, first).Key
	everywhere("a token before the rotation", accepts(before, 200))
	rotateSigning(t, first)
	keys := func(s *harness.Server) list { return document(t, s, "/oauth2/jwks")["keys"].(list) }
	everywhere("a new signing key", func(s *harness.Server) bool { return len(keys(s)) == 2 })
	for _, on := range replicas {
		token := ""
		harness.Within(t, "the new key signs", func() bool {
			token = r.at(on).client(t, on).Key
			return keyOf(t, token) != keyOf(t, before)
		})
		everywhere("a token of the new key", accepts(token, 200))
	}
	everywhere("a token of the old key", accepts(before, 200))

	// Logouts by a provider: every replica takes a part in the sign-in and gets a logout.
	provider := signInAt(t, first, "sso.example")
	for i, on := range replicas {
		tokens, bystander := provider.signIn(t, replicas[(i+1)%3], replicas[(i+2)%3], "ends"), provider.signIn(t, on, on, "stays")
		access, refresh := tokens["access_token"].(string), tokens["refresh_token"].(string)
		everywhere("a sign-in at a provider", accepts(access, 200))
		reply, err := http.PostForm(on.URL+"/v1/auth/sso/backchannel-logout", url.Values{
			"logout_token": {provider.LogoutToken(object{"sid": "ends"})},
		})
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		require.Equal(t, http.StatusOK, reply.StatusCode)
		require.True(t, accepts(access, 401)(on), "the next request on the same replica")
		everywhere("a logout by a provider", accepts(access, 401))
		everywhere("its refresh token", func(s *harness.Server) bool { return refreshed(t, s, refresh) == "invalid_grant" })
		everywhere("another sign-in of the person", accepts(bystander["access_token"].(string), 200))
	}

	// Invitations and members.
	boss := people.Person(first, first.Boot.UserID, "")
	ivy := people.Person(first, first.Member("ivy@acme.example", "viewer", nil).User, "")
	second := boss.Call("POST", "/v1/organisations", object{"name": "Second"}).JSON(t)["id"].(string)
	owner, member := people.Person(first, first.Boot.UserID, second), people.Person(first, ivy.User, second)
	everywhere("a person who is no member", accepts(member.Key, 401))
	invite := func(on *harness.Server) string {
		on.Client(owner.Key, owner.User).OK("POST", "/v1/organisations/"+second+"/invite", object{"email": "ivy@acme.example", "role": "editor"})
		return first.MailedToken("ivy@acme.example")
	}
	old, token := invite(replicas[1]), invite(replicas[2])
	for _, on := range replicas {
		refused(t, on.Client(ivy.Key, ivy.User), 404, "not_found", "POST", "/v1/invitations/accept", object{"token": old})
	}
	on := replicas[1].Client(ivy.Key, ivy.User)
	on.OK("POST", "/v1/invitations/accept", object{"token": token})
	require.True(t, accepts(member.Key, 200)(replicas[1]), "the next request on the same replica")
	everywhere("a member by invitation", accepts(member.Key, 200))
	for _, on := range replicas {
		refused(t, on.Client(ivy.Key, ivy.User), 404, "not_found", "POST", "/v1/invitations/accept", object{"token": token})
	}
	replicas[2].Client(owner.Key, owner.User).OK("DELETE", "/v1/organisations/"+second+"/users/"+ivy.User, nil)
	require.True(t, accepts(member.Key, 401)(replicas[2]), "the next request on the same replica")
	everywhere("a removed member", accepts(member.Key, 401))
}

// provided is an identity provider where the members of an organisation sign in.
type provided struct {
	*ssotest.Provider
	domain string
}

// signInAt makes a provider that of the server's first organisation, for a domain.
func signInAt(t *testing.T, s *harness.Server, domain string) provided {
	t.Helper()
	p := provided{ssotest.New(t), domain}
	s.Admin.OK("PUT", ssoPath(s), object{"issuer": p.Issuer(), "clientId": ssotest.ClientID, "clientSecret": ssotest.ClientSecret,
		"domains": []string{domain}, "defaultRole": "viewer"})
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	_, err = store.VerifyEmailDomain(t.Context(), catalog.OrgID(s.Boot.OrganisationID), domain, catalog.DomainByOperator)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	return p
}

// signIn signs a person in, as a session of the provider that begins at one server and comes
// back to another, and returns the tokens. Cookies are for the public address, which tests
// cannot reach.
func (p provided) signIn(t *testing.T, begun, ended *harness.Server, session string) object {
	t.Helper()
	email := "person@" + p.domain
	p.Claims = object{"email": email, "email_verified": true, "sid": session}
	begin := request(t, http.MethodPost, begun.URL+"/v1/auth/sso/login", `{"email":"`+email+`"}`)
	reply, err := http.DefaultClient.Do(begin)
	require.NoError(t, err)
	var body struct{ AuthorizationURL string }
	require.NoError(t, errors.Join(json.NewDecoder(reply.Body).Decode(&body), reply.Body.Close()))
	back, err := url.Parse(p.Authorize(body.AuthorizationURL))
	require.NoError(t, err)
	callback := request(t, http.MethodGet, ended.URL+back.RequestURI(), "")
	for _, cookie := range reply.Cookies() {
		callback.AddCookie(cookie)
	}
	reply, err = http.DefaultClient.Do(callback)
	require.NoError(t, err)
	var tokens object
	require.NoError(t, errors.Join(json.NewDecoder(reply.Body).Decode(&tokens), reply.Body.Close()))
	require.Equal(t, http.StatusOK, reply.StatusCode, "%v", tokens)
	return tokens
}

func request(t *testing.T, method, address, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// refreshed returns the error of the exchange of a refresh token, or "".
func refreshed(t *testing.T, s *harness.Server, token string) string {
	t.Helper()
	reply, err := http.PostForm(s.URL+"/oauth2/token", url.Values{
		"grant_type": {"refresh_token"}, "client_id": {"lakewarden"}, "refresh_token": {token},
	})
	require.NoError(t, err)
	var body struct{ Error string }
	require.NoError(t, errors.Join(json.NewDecoder(reply.Body).Decode(&body), reply.Body.Close()))
	return body.Error
}

// at returns the service account at another replica.
func (r robot) at(s *harness.Server) robot {
	r.config.TokenURL = s.URL + "/oauth2/token"
	return r
}

// keyOf returns the id of the key that signed a token.
func keyOf(t *testing.T, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	require.NoError(t, err)
	var header struct{ Kid string }
	require.NoError(t, json.Unmarshal(text, &header))
	require.NotEmpty(t, header.Kid)
	return header.Kid
}

// rotateSigning adds a signing key that signs at once, as the command line would ten minutes
// before.
func rotateSigning(t *testing.T, s *harness.Server) {
	t.Helper()
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	keyring, err := secret.File{Path: s.Config.KeyFile}.LoadFor(t.Context(), store)
	require.NoError(t, err)
	_, err = sqlstore.NewSigningKeys(store.DB(), secret.SigningKeys{Keyring: keyring}).Rotate(t.Context())
	require.NoError(t, err)
	require.NoError(t, store.DB().Change(t.Context(), func(tx sqldb.Session) error {
		_, err := tx.Exec(t.Context(), "UPDATE signing_keys SET signs_at = created_at")
		return err
	}))
}
