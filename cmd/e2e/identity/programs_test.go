package identity_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// robot is a service account with the credentials of its client.
type robot struct {
	id     string
	config clientcredentials.Config
}

// newRobot creates a service account.
func newRobot(t *testing.T, s *harness.Server, body object) robot {
	t.Helper()
	made := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/service-accounts", body)
	require.Equal(t, 201, made.Status, "%s", made.Body)
	reply := made.JSON(t)
	account := reply["serviceAccount"].(object)
	require.Equal(t, account["clientId"], reply["clientId"])
	require.True(t, strings.HasPrefix(reply["clientSecret"].(string), "lwcs_"))
	return robot{account["id"].(string), clientcredentials.Config{
		ClientID: reply["clientId"].(string), ClientSecret: reply["clientSecret"].(string), TokenURL: s.URL + "/oauth2/token",
		AuthStyle: oauth2.AuthStyleInHeader,
	}}
}

// client returns a caller with a new token.
func (r robot) client(t *testing.T, s *harness.Server) *harness.Client {
	t.Helper()
	token, err := r.config.Token(t.Context())
	require.NoError(t, err)
	return s.Client(token.AccessToken, r.id)
}

// revoke revokes the session of a token.
func (r robot) revoke(t *testing.T, s *harness.Server, token string) {
	t.Helper()
	form := url.Values{"token": {token}, "client_id": {r.config.ClientID}, "client_secret": {r.config.ClientSecret}}
	resp, err := http.PostForm(s.URL+"/oauth2/revoke", form)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
}

// TestServiceAccountQueriesUnderPolicies follows a program from its account to its end.
func TestServiceAccountQueriesUnderPolicies(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Regional("sales")
	org, from := "/v1/organisations/"+s.Boot.OrganisationID, s.Schema+".sales"
	all := s.Admin.Count(from)
	r := newRobot(t, s, object{"name": "Nightly job", "role": "editor"})
	c := r.client(t, s)
	me := c.OK("GET", "/v1/me", nil)
	require.Equal(t, r.id, me["userId"])
	require.Equal(t, "editor", me["role"])
	require.Equal(t, all, c.Count(from))

	s.Policy("sales", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"}}`)
	require.Zero(t, c.Count(from), "policies apply to it as to every member")
	s.Admin.OK("PUT", org+"/users/"+r.id+"/attributes", object{"region": "a"})
	some := c.Count(from)
	require.Positive(t, some)
	require.Less(t, some, all)

	s.Admin.OK("PUT", org+"/users/"+r.id+"/role", object{"role": "viewer"})
	require.NotContains(t, harness.ScopesOf(t, c.OK("GET", "/v1/me", nil)), "rows:insert")
	made := s.Admin.Call("POST", org+"/service-accounts/"+r.id+"/api-keys", object{"name": "k", "scopes": []string{"tables:query"}})
	require.Equal(t, 201, made.Status, "%s", made.Body)
	key := s.Client(made.JSON(t)["key"].(string), r.id)
	require.Equal(t, some, key.Count(from), "its keys act as the account")
	refused(t, s.Admin, 403, "scope_escalation", "POST", org+"/service-accounts/"+r.id+"/api-keys",
		object{"name": "k", "scopes": []string{"rows:insert"}})

	other := r.client(t, s)
	r.revoke(t, s, c.Key)
	require.Equal(t, 401, c.Call("GET", "/v1/me", nil).Status)
	require.Equal(t, some, other.Count(from), "another token is another session")

	rotated := s.Admin.OK("POST", org+"/service-accounts/"+r.id+"/rotate-secret", nil)
	_, err := r.config.Token(t.Context())
	require.Error(t, err, "the old secret")
	r.config.ClientSecret = rotated["clientSecret"].(string)
	last := r.client(t, s)
	s.Admin.OK("PATCH", org+"/service-accounts/"+r.id, object{"scopes": []string{"tables:read"}})
	require.Equal(t, 401, last.Call("GET", "/v1/me", nil).Status, "its token names a scope that the account has lost")
	last = r.client(t, s)
	require.Equal(t, 403, last.Query("SELECT 1").Status)

	s.Admin.OK("DELETE", org+"/service-accounts/"+r.id, nil)
	for _, gone := range []*harness.Client{last, key} {
		require.Equal(t, 401, gone.Call("GET", "/v1/me", nil).Status)
	}
	_, err = r.config.Token(t.Context())
	require.Error(t, err)
	refused(t, s.Admin, 404, "not_found", "GET", org+"/service-accounts/"+r.id, nil)
	audit := string(s.Admin.Call("GET", org+"/audit?page_size=1000", nil).Body)
	require.NotContains(t, audit, r.config.ClientSecret)
	require.Empty(t, harness.Leaked(t, s, r.config.ClientSecret))
}

// TestProgramsOnReplicas checks that two servers on one database act as one.
func TestProgramsOnReplicas(t *testing.T) {
	t.Parallel()
	replicas := harness.StartReplicas(t, 2, func(c *harness.Settings) { c.PublicURL = "https://lake.example" })
	first, second := replicas[0], replicas[1]
	require.Equal(t, document(t, first, "/oauth2/jwks"), document(t, second, "/oauth2/jwks"))

	r := newRobot(t, first, object{"name": "Robot", "role": "viewer"})
	there := second.Client(r.client(t, first).Key, r.id)
	require.Equal(t, 200, there.Call("GET", "/v1/me", nil).Status)
	soon := func(what string, change func()) {
		t.Helper()
		require.Equal(t, 200, there.Call("GET", "/v1/me", nil).Status, what)
		change()
		harness.Within(t, what, func() bool { return there.Call("GET", "/v1/me", nil).Status == 401 })
		there = second.Client(r.client(t, first).Key, r.id)
	}
	soon("a revoked token", func() { r.revoke(t, first, there.Key) })
	soon("a lost scope", func() {
		first.Admin.OK("PATCH", "/v1/organisations/"+first.Boot.OrganisationID+"/service-accounts/"+r.id, object{"scopes": []string{"org:read"}})
	})
	token := there.Key
	first.Restart()
	require.Equal(t, 200, first.Client(token, r.id).Call("GET", "/v1/me", nil).Status, "the keys that sign are in the database")
}

// document returns a JSON document of a server.
func document(t *testing.T, s *harness.Server, path string) object {
	t.Helper()
	resp, err := http.Get(s.URL + path)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	require.Equal(t, 200, resp.StatusCode, path)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
	var out object
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// TestProgramsFindTheServer follows a client from a refusal to its registration.
func TestProgramsFindTheServer(t *testing.T) {
	t.Parallel()
	const public = "https://lake.example"
	s := harness.Start(t, func(c *harness.Settings) { c.PublicURL = public })
	challenge := s.Client("", "").Call("GET", "/v1/me", nil).Header.Get("WWW-Authenticate")
	require.Equal(t, `Bearer realm="lakewarden", resource_metadata="`+public+`/.well-known/oauth-protected-resource"`, challenge)
	resource := document(t, s, "/.well-known/oauth-protected-resource")
	require.Equal(t, public, resource["resource"])
	require.Equal(t, list{public}, resource["authorization_servers"])
	server := document(t, s, "/.well-known/oauth-authorization-server")
	require.Equal(t, server, document(t, s, "/.well-known/openid-configuration"))
	require.Equal(t, public, server["issuer"])
	require.Equal(t, list{"S256"}, server["code_challenge_methods_supported"])
	require.Equal(t, true, server["authorization_response_iss_parameter_supported"])
	for name, path := range map[string]string{"authorization_endpoint": "/oauth2/authorize", "token_endpoint": "/oauth2/token",
		"jwks_uri": "/oauth2/jwks", "registration_endpoint": "/oauth2/register", "revocation_endpoint": "/oauth2/revoke",
		"introspection_endpoint": "/oauth2/introspect"} {
		require.Equal(t, public+path, server[name])
	}

	body := object{"client_name": "App", "redirect_uris": list{"https://app.example/cb"}, "token_endpoint_auth_method": "none",
		"scope": "tables:read tables:query", "software_id": "unknown members are ignored"}
	made := s.Admin.Call("POST", "/oauth2/register", body)
	require.Equal(t, 201, made.Status, "%s", made.Body)
	require.NotContains(t, made.JSON(t), "client_secret")
	id := made.JSON(t)["client_id"].(string)
	found := s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/clients/"+id, nil)
	require.Equal(t, list{"tables:query", "tables:read"}, found["scopes"])
	require.Equal(t, true, found["public"])
	confidential := s.Admin.Call("POST", "/oauth2/register", object{"redirect_uris": list{"https://app.example/cb"}, "client_name": "B"})
	require.Equal(t, 201, confidential.Status, "%s", confidential.Body)
	require.NotEmpty(t, confidential.JSON(t)["client_secret"])
	require.Equal(t, 0.0, confidential.JSON(t)["client_secret_expires_at"])

	for name, c := range map[string]struct {
		change object
		code   string
	}{
		"redirect URI":      {object{"redirect_uris": list{"http://evil.example/"}}, "invalid_redirect_uri"},
		"no redirect URI":   {object{"redirect_uris": nil}, "invalid_redirect_uri"},
		"implicit":          {object{"grant_types": list{"implicit"}}, "invalid_client_metadata"},
		"a service account": {object{"grant_types": list{"client_credentials"}}, "invalid_client_metadata"},
		"response type":     {object{"response_types": list{"token"}}, "invalid_client_metadata"},
		"method":            {object{"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"},
		"scope":             {object{"scope": "everything"}, "invalid_client_metadata"},
		"name":              {object{"client_name": "Lakewarden CLI"}, "invalid_client_metadata"},
		"type":              {object{"client_name": 1}, "invalid_client_metadata"},
	} {
		wrong := object{}
		for key, value := range body {
			wrong[key] = value
		}
		for key, value := range c.change {
			wrong[key] = value
		}
		reply := s.Admin.Call("POST", "/oauth2/register", wrong)
		require.Equal(t, 400, reply.Status, "%s: %s", name, reply.Body)
		require.Equal(t, c.code, reply.JSON(t)["error"], name)
	}
	nameless := s.Admin.Call("POST", "/oauth2/register", object{"redirect_uris": list{"https://app.example/cb"}})
	require.Equal(t, 201, nameless.Status, "%s", nameless.Body)
	require.Equal(t, "Client without a name", nameless.JSON(t)["client_name"])
	require.NotContains(t, nameless.JSON(t), "registration_client_uri", "it would need a registration_access_token")
	weak, _ := s.Admin.NewKey(object{"scopes": list{"write"}})
	narrow, _ := s.Admin.NewKey(object{"scopes": list{"users:write"}})
	for _, c := range []struct {
		by     *harness.Client
		status int
		code   string
	}{{s.Client("", ""), 401, "invalid_token"}, {s.Client("made up", ""), 401, "invalid_token"}, {weak, 403, "insufficient_scope"},
		{narrow, 403, "insufficient_scope"}} {
		reply := c.by.Call("POST", "/oauth2/register", body)
		require.Equal(t, c.status, reply.Status, "%s", reply.Body)
		require.Equal(t, c.code, reply.JSON(t)["error"])
		require.NotEmpty(t, reply.JSON(t)["error_description"])
	}
	stranger, _ := s.Organisation("globex")
	require.Equal(t, 404, stranger.Call("DELETE", "/oauth2/register/"+id, nil).Status)
	require.Equal(t, 200, s.Admin.Call("GET", "/oauth2/register/"+id, nil).Status)
	require.Equal(t, 204, s.Admin.Call("DELETE", "/oauth2/register/"+id, nil).Status)
	require.Equal(t, 404, s.Admin.Call("GET", "/oauth2/register/"+id, nil).Status)
	_, err := catalog.ParseID[catalog.ClientID](id)
	require.NoError(t, err)

	for path, allow := range map[string]string{"/oauth2/token": "POST", "/oauth2/revoke": "POST", "/oauth2/jwks": "GET"} {
		reply := s.Admin.Call("PUT", path, nil)
		require.Equal(t, 405, reply.Status, path)
		require.Equal(t, allow, reply.Header.Get("Allow"))
	}
}

// TestFailedClientsAreSlowedDown checks that wrong secrets are counted, and never keep the
// right one out.
func TestFailedClientsAreSlowedDown(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	r := newRobot(t, s, object{"name": "Robot", "role": "viewer"})
	wrong := r.config
	wrong.ClientSecret = "lwcs_guess"
	limited := false
	for range 100 {
		_, err := wrong.Token(t.Context())
		var refusal *oauth2.RetrieveError
		require.ErrorAs(t, err, &refusal)
		if limited = refusal.Response.StatusCode == http.StatusTooManyRequests; limited {
			require.NotEmpty(t, refusal.Response.Header.Get("Retry-After"))
			break
		}
		require.Equal(t, 401, refusal.Response.StatusCode)
	}
	require.True(t, limited)
	require.Equal(t, 200, r.client(t, s).Call("GET", "/v1/me", nil).Status)
}
