package identity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// How a route that may return a credential treats an API key.
const (
	// boundToKey: what it returns ends with the key. The test makes one at each of these routes.
	boundToKey = "bound to key"
	// forPeople: it refuses keys.
	forPeople = "for people"
	// withoutKey: it takes no API key, or returns nothing that its caller did not have.
	withoutKey = "without key"
	// noCredential: a property of its reply is named like a credential and is none.
	noCredential = "no credential"
)

// credentialRoutes classifies the operations of the API description whose replies have a
// property that may be a credential, and the endpoints of the authorization server.
var credentialRoutes = map[string]string{
	"createApiKey": boundToKey, "rotateApiKey": boundToKey, "createServiceAccount": boundToKey, "rotateServiceAccountSecret": boundToKey,
	"createServiceAccountApiKey": boundToKey, "createClient": boundToKey, "rotateClientSecret": boundToKey,
	"inviteUser":     boundToKey, // by e-mail
	"token_endpoint": boundToKey, "registration_endpoint": boundToKey,

	"beginProviderLink": forPeople,

	"ssoCallback": withoutKey, "ssoLogin": withoutKey, "logout": withoutKey, "authorization_endpoint": withoutKey,
	"revocation_endpoint": withoutKey, "introspection_endpoint": withoutKey, "userinfo_endpoint": withoutKey,

	"analyzeTable": noCredential, "explainRows": noCredential, "getOperationAnalysis": noCredential, "createOrganisation": noCredential,
	"getOrganisation": noCredential, "transferOrganisation": noCredential, "undeleteOrganisation": noCredential,
	"updateOrganisationConfig": noCredential, "updateOrganisation": noCredential, "deleteMe": noCredential,
}

var (
	// credentialNames matches the names of properties that may hold a credential.
	credentialNames = regexp.MustCompile(`(?i)key|secret|token|url|uri|link|password|credential|cookie|code|jwt|bearer`)
	// otherNames are the properties with such a name that never do.
	otherNames = []string{"api_keys", "api_key", "key_prefix", "adminConsentUrl", "baseUrl", "child_key", "parent_key",
		"client_tokens_per_minute", "code", "credentialExpiresAt", "credentialState", "isPrimaryKey", "keyId", "keys", "links",
		"nextPageToken", "next_page_token", "organisation_analysis_tokens_per_day", "refused_credentials_per_minute",
		"require_primary_key", "token_type", "redirectUris", "secretEndsAt", "keysChecked"}
)

// suspects returns the operations of the API description whose successful replies have a
// property that may hold a credential, and the endpoints of the authorization server.
func suspects(t *testing.T, s *harness.Server) []string {
	t.Helper()
	described := s.Admin.OK("GET", "/v1/openapi.json", nil)
	schemas := described["components"].(object)["schemas"].(object)
	var has func(schema any, seen []string) bool
	has = func(schema any, seen []string) bool {
		switch node := schema.(type) {
		case list:
			return slices.ContainsFunc(node, func(one any) bool { return has(one, seen) })
		case object:
			if reference, ok := node["$ref"].(string); ok {
				name := reference[strings.LastIndexByte(reference, '/')+1:]
				return !slices.Contains(seen, name) && has(schemas[name], append(slices.Clone(seen), name))
			}
			properties, _ := node["properties"].(object)
			for name, property := range properties {
				if credentialNames.MatchString(name) && !slices.Contains(otherNames, name) || has(property, seen) {
					return true
				}
			}
			for _, part := range []string{"items", "additionalProperties", "oneOf", "anyOf", "allOf"} {
				if has(node[part], seen) {
					return true
				}
			}
		}
		return false
	}
	var found []string
	for _, operations := range described["paths"].(object) {
		for _, operation := range operations.(object) {
			op, ok := operation.(object)
			if !ok || op["operationId"] == nil {
				continue
			}
			for status, reply := range op["responses"].(object) {
				content, _ := reply.(object)["content"].(object)
				if status < "400" && slices.ContainsFunc(slices.Collect(maps.Values(content)), func(c any) bool {
					return has(c.(object)["schema"], nil)
				}) {
					found = append(found, op["operationId"].(string))
					break
				}
			}
		}
	}
	for name := range document(t, s, "/.well-known/oauth-authorization-server") {
		if strings.HasSuffix(name, "_endpoint") {
			found = append(found, name)
		}
	}
	return found
}

// TestEveryRouteThatReturnsACredentialIsClassified fails for a new route that may return a
// credential, until it is entered in the list above and, if keys may call it, in the tests
// below.
func TestEveryRouteThatReturnsACredentialIsClassified(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	want := slices.DeleteFunc(slices.Sorted(maps.Keys(credentialRoutes)), func(route string) bool {
		return route == "inviteUser" // its reply has none: it sends an e-mail
	})
	found := suspects(t, s)
	slices.Sort(found)
	require.Equal(t, want, slices.Compact(found))
	key, _ := s.Admin.NewKey(object{"scopes": list{"admin"}})
	refused(t, key, 403, "sign_in_required", "GET", "/v1/organisations/"+s.Boot.OrganisationID+"/provider-apps/provider_one/link", nil)
}

// Classes of operations that change or end a credential, by what they do for an API key.
const (
	// refusedToKeys operations change only credentials that end with the key.
	refusedToKeys = "refused to keys"
	// leavesNothing operations make nothing usable that was not usable before.
	leavesNothing = "leaves nothing"
)

// credentialChanges has the class of each operation whose path is below that of an operation that
// makes a credential. The operations that are bound to the key are tested with [credentialRoutes].
var credentialChanges = map[string]string{
	"updateClient": refusedToKeys, "updateServiceAccount": refusedToKeys,
	"rotateApiKey": boundToKey, "rotateClientSecret": boundToKey, "rotateServiceAccountSecret": boundToKey,
	"createServiceAccountApiKey": boundToKey,
	"revokeApiKey":               leavesNothing, "deleteClient": leavesNothing, "deleteServiceAccount": leavesNothing,
	"deleteInvitation": leavesNothing, "deleteProviderLink": leavesNothing,
	"acceptInvitation": withoutKey,
}

// TestKeysChangeNoCredentialThatOutlivesThem checks, with a key that is valid for ten minutes, that
// no operation changes a credential that a person made. It fails for an operation without a class.
func TestKeysChangeNoCredentialThatOutlivesThem(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	paths := map[string]string{}
	for path, operations := range s.Admin.OK("GET", "/v1/openapi.json", nil)["paths"].(object) {
		for method, operation := range operations.(object) {
			if method != "get" && credentialPlace.MatchString(path) {
				paths[operation.(object)["operationId"].(string)] = strings.ToUpper(method) + " " + path
			}
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(credentialChanges)), slices.Collect(maps.Keys(paths)))

	l := newLifetimes(t, []*harness.Server{s})
	key, _ := s.Admin.NewKey(object{"scopes": list{"admin"}, "expires_in": "10m"})
	second, _ := key.NewKey(object{"scopes": list{"admin"}})
	own := &lifetimes{T: t, org: l.org}
	own.app = l.call(key, l.path("/clients"), object{"name": "Own", "redirectUris": list{"https://app.example/"}, "scopes": list{"admin"}})
	own.robot = l.call(key, l.path("/service-accounts"), object{"name": "Own", "role": "viewer"})
	change := func(c *harness.Client, of *lifetimes, id string) harness.Reply {
		method, path, _ := strings.Cut(paths[id], " ")
		path = strings.NewReplacer("{org_id}", l.org, "{client_id}", of.app["client"].(object)["id"].(string),
			"{account_id}", of.robot["serviceAccount"].(object)["id"].(string)).Replace(path)
		require.NotContains(t, path, "{")
		return c.Call(method, path, object{"name": "Changed"})
	}
	for id, class := range credentialChanges {
		if class != refusedToKeys {
			continue
		}
		for _, c := range []*harness.Client{key, second} {
			code, _ := change(c, l, id).Problem(t, 403)
			require.Equal(t, "outlives_key", code, id)
		}
		code, _ := change(second, own, id).Problem(t, 403)
		require.Equal(t, "outlives_key", code, "%s: of the key that made this one", id)
		for _, c := range []*harness.Client{key, s.Admin} {
			require.Equal(t, 200, change(c, own, id).Status, id)
		}
		require.Equal(t, 200, change(s.Admin, l, id).Status, id)
	}
	uris := object{"redirectUris": list{"https://evil.example/"}}
	code, _ := key.Call("PATCH", l.path("/clients/"+l.app["client"].(object)["id"].(string)), uris).Problem(t, 403)
	require.Equal(t, "outlives_key", code)
}

// credentialPlace matches the paths of single credentials.
var credentialPlace = regexp.MustCompile(`/(api-keys|clients|service-accounts|invitations)/|/link$`)

// credential is something that was made with a key.
type credential struct {
	route string
	works func(*harness.Server) bool
}

// lifetimes is a test of the credentials that one key makes.
type lifetimes struct {
	*testing.T
	replicas []*harness.Server
	org      string
	// app and robot were made by a person, and so was the key that is to be rotated.
	app, robot, old object
	made            []credential
}

func (l *lifetimes) first() *harness.Server { return l.replicas[0] }

func (l *lifetimes) path(path string) string { return "/v1/organisations/" + l.org + path }

// call makes a credential.
func (l *lifetimes) call(c *harness.Client, path string, body any) object {
	l.Helper()
	reply := c.Call("POST", path, body)
	require.Less(l, reply.Status, 300, "%s %s", path, reply.Body)
	return reply.JSON(l.T)
}

func (l *lifetimes) add(route string, works func(*harness.Server) bool) {
	l.made = append(l.made, credential{route, works})
}

// bearer adds a key or an access token.
func (l *lifetimes) bearer(route, text string) *harness.Client {
	l.add(route, accepts(text, 200))
	return l.first().Client(text, "")
}

// token requests a token, and returns the reply or nil.
func (l *lifetimes) token(s *harness.Server, form url.Values) object {
	l.Helper()
	reply, err := http.PostForm(s.URL+"/oauth2/token", form)
	require.NoError(l, err)
	var out object
	require.NoError(l, json.NewDecoder(reply.Body).Decode(&out))
	require.NoError(l, reply.Body.Close())
	if reply.StatusCode != http.StatusOK {
		return nil
	}
	return out
}

// service adds the secret of a service account and an access token.
func (l *lifetimes) service(route string, reply object) *harness.Client {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {reply["clientId"].(string)},
		"client_secret": {reply["clientSecret"].(string)}}
	l.add(route, func(s *harness.Server) bool { return l.token(s, form) != nil })
	return l.bearer("token_endpoint", l.token(l.first(), form)["access_token"].(string))
}

// consented adds a refresh token of a client that a person has consented to, with the access
// token that the client gets for it. Every check exchanges the newest refresh token.
func (l *lifetimes) consented(route, client, secret string) {
	l.Helper()
	store, err := l.first().OpenCatalog(l.Context())
	require.NoError(l, err)
	defer func() { require.NoError(l, store.Close()) }()
	signIns, org := sqlstore.New(store.DB()), uuid.MustParse(l.org)
	of, err := signIns.CreateSession(l.Context(), session.Session{User: uuid.MustParse(l.first().Boot.UserID), Org: org, Client: client,
		Method: session.MethodPassword, ExpiresAt: time.Now().Add(time.Hour)})
	require.NoError(l, err)
	refresh := session.NewSecret()
	require.NoError(l, signIns.CreateGrant(l.Context(), session.Hash(refresh), session.Grant{Kind: session.GrantRefresh, Session: of.ID,
		Client: client, Request: json.RawMessage(`{"org":"` + l.org + `","scopes":["tables:read"]}`), ExpiresAt: time.Now().Add(time.Hour)}))
	exchange := func(s *harness.Server) object {
		form := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {refresh}}
		if secret != "" {
			form.Set("client_secret", secret)
		}
		tokens := l.token(s, form)
		if tokens != nil {
			refresh = tokens["refresh_token"].(string)
		}
		return tokens
	}
	l.bearer("token_endpoint", exchange(l.first())["access_token"].(string))
	l.add(route, func(s *harness.Server) bool { return exchange(s) != nil })
}

// makeAll makes a credential at every route with a key.
func (l *lifetimes) makeAll(key *harness.Client) {
	l.Helper()
	newKey := func(by *harness.Client, path string) *harness.Client {
		return l.first().Client(l.call(by, path, object{"name": "k", "scopes": list{"admin"}})["key"].(string), "")
	}
	account := object{"name": "Robot", "role": "admin"}
	for _, by := range []*harness.Client{key, newKey(key, "/v1/api-keys")} { // also in the second generation
		l.bearer("createApiKey", by.Key)
		made := l.call(by, l.path("/service-accounts"), account)
		program := l.service("createServiceAccount", made)
		l.bearer("createApiKey", newKey(program, "/v1/api-keys").Key) // with a token
		l.service("createServiceAccount", l.call(program, l.path("/service-accounts"), account))
		id := made["serviceAccount"].(object)["id"].(string)
		l.bearer("createServiceAccountApiKey", newKey(by, l.path("/service-accounts/"+id+"/api-keys")).Key)
		l.bearer("createServiceAccountApiKey", newKey(l.first().Admin, l.path("/service-accounts/"+id+"/api-keys")).Key) // by a person

		client := l.call(by, l.path("/clients"), object{"name": "App", "redirectUris": list{"https://app.example/"}, "scopes": list{"admin"}})
		l.consented("createClient", client["client"].(object)["id"].(string), client["clientSecret"].(string))
		registered := l.call(by, "/oauth2/register", object{"client_name": "App", "redirect_uris": list{"https://app.example/"},
			"token_endpoint_auth_method": "none", "scope": "tables:read"})
		l.consented("registration_endpoint", registered["client_id"].(string), "")
	}
	robot, app := l.robot["serviceAccount"].(object)["id"].(string), l.app["client"].(object)["id"].(string)
	l.service("rotateServiceAccountSecret", l.call(key, l.path("/service-accounts/"+robot+"/rotate-secret"), nil))
	l.consented("rotateClientSecret", app, l.call(key, l.path("/clients/"+app+"/rotate-secret"), nil)["clientSecret"].(string))
	l.bearer("rotateApiKey", l.call(key, "/v1/api-keys/"+l.old["id"].(string)+"/rotate", nil)["key"].(string))
	email := "guest-" + uuid.NewString() + "@acme.example"
	l.call(key, l.path("/invite"), object{"email": email, "role": "viewer"})
	l.add("inviteUser", func(s *harness.Server) bool {
		open := s.Admin.OK("GET", l.path("/invitations?page_size=1000"), nil)["invitations"].(list)
		i := slices.IndexFunc(open, func(one any) bool { return one.(object)["email"] == email })
		if i < 0 {
			return false
		}
		expires, err := time.Parse(time.RFC3339, open[i].(object)["expiresAt"].(string))
		require.NoError(l, err)
		return time.Now().Before(expires)
	})

	tried := map[string]bool{}
	for _, c := range l.made {
		tried[c.route] = true
		for _, replica := range l.replicas {
			require.True(l, c.works(replica), c.route)
		}
	}
	for route, class := range credentialRoutes {
		require.Equal(l, class == boundToKey, tried[route], route)
	}
}

// over checks that everything has ended on every replica.
func (l *lifetimes) over(what string) {
	l.Helper()
	for i, c := range l.made {
		harness.Reaches(l, l.replicas, fmt.Sprintf("%s: %s (%d)", what, c.route, i), func(s *harness.Server) bool { return !c.works(s) })
	}
}

// newLifetimes starts a test with what a person has made: the key of the command line.
func newLifetimes(t *testing.T, replicas []*harness.Server) *lifetimes {
	t.Helper()
	l := &lifetimes{T: t, replicas: replicas, org: replicas[0].Boot.OrganisationID}
	admin := l.first().Admin
	l.app = l.call(admin, l.path("/clients"), object{"name": "Lasting", "redirectUris": list{"https://app.example/"}, "scopes": list{"admin"}})
	l.robot = l.call(admin, l.path("/service-accounts"), object{"name": "Lasting", "role": "viewer"})
	_, l.old = admin.NewKey(object{"scopes": list{"write"}})
	require.Nil(t, l.app["client"].(object)["endsAt"])
	require.Nil(t, l.robot["serviceAccount"].(object)["secretEndsAt"])
	return l
}

// TestCredentialsEndWithTheKeyThatMadeThem checks every route that returns a credential, on two
// replicas: what a key of ten minutes makes there ends when the key is revoked, and when it
// expires.
func TestCredentialsEndWithTheKeyThatMadeThem(t *testing.T) {
	t.Parallel()
	replicas := harness.StartReplicas(t, 2, func(c *harness.Settings) { c.PublicURL = "https://lake.example" })

	l := newLifetimes(t, replicas)
	key, record := l.first().Admin.NewKey(object{"scopes": list{"admin"}, "expires_in": "10m"})
	l.makeAll(key)
	id := record["id"].(string)
	dry := l.first().Admin.OK("DELETE", "/v1/api-keys/"+id+"?dry_run=true", nil)
	kinds := map[string]int{}
	for _, e := range dry["ends"].(list) {
		kinds[e.(object)["kind"].(string)]++
	}
	require.Equal(t, map[string]int{"api_key": 8, "service_account": 4, "client": 4, "client_secret": 2, "invitation": 1}, kinds)
	require.Equal(t, true, dry["dry_run"])
	require.Equal(t, false, dry["is_revoked"])
	for _, c := range l.made {
		require.True(t, c.works(replicas[1]), "after a dry run: %s", c.route)
	}
	ended := replicas[1].Admin.OK("DELETE", "/v1/api-keys/"+id, nil)
	require.Equal(t, dry["ends"], ended["ends"])
	require.Equal(t, true, ended["is_revoked"])
	l.over("a revoked key")

	// A key that ends soon takes over by rotation, since no key may be requested for so short a
	// time. The rotation hands everything to the successor, and nothing outlives it.
	l = newLifetimes(t, replicas)
	key, record = l.first().Admin.NewKey(object{"scopes": list{"admin"}, "expires_in": "10m"})
	l.makeAll(key)
	successor := l.call(key, "/v1/api-keys/"+record["id"].(string)+"/rotate", nil)
	l.first().Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	l.made = l.made[1:] // the key itself, which the successor replaces
	for _, c := range l.made {
		require.True(t, c.works(replicas[1]), "after the rotation: %s", c.route)
	}
	soon := soonEnding(t, l.first(), 20*time.Second)
	last := l.call(soon, "/v1/api-keys/"+successor["api_key"].(object)["id"].(string)+"/rotate", nil)
	ends, err := time.Parse(time.RFC3339, last["api_key"].(object)["expires_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), ends, 20*time.Second)
	<-time.After(time.Until(ends))
	for _, c := range append(l.made, credential{"the successor", accepts(last["key"].(string), 200)}) {
		for _, replica := range replicas {
			require.False(t, c.works(replica), "an expired key: %s", c.route)
		}
	}
}

// soonEnding returns a client with a key of the first administrator that ends soon.
func soonEnding(t *testing.T, s *harness.Server, life time.Duration) *harness.Client {
	t.Helper()
	store, err := s.OpenCatalog(context.Background())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	key := apikey.Generate()
	_, err = store.CreateAPIKey(t.Context(), catalog.NewAPIKey{Org: catalog.OrgID(s.Boot.OrganisationID), User: catalog.UserID(s.Boot.UserID),
		AllWorkspaces: true, Name: "soon", Prefix: key.Prefix(), Hash: key.Hash(), Scopes: harness.AdminScopes, ExpiresAt: time.Now().Add(life)})
	require.NoError(t, err)
	return s.Client(key.Reveal(), s.Boot.UserID)
}

// TestPeopleMakeLastingCredentials checks what does not end with a key: what a person makes who
// has signed in, and the person whom a key has invited.
func TestPeopleMakeLastingCredentials(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	person := people.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	account := person.Call("POST", org+"/service-accounts", object{"name": "Robot", "role": "admin"}).JSON(t)
	require.Nil(t, account["serviceAccount"].(object)["endsAt"])
	key, record := person.NewKey(object{"scopes": list{"admin"}, "expires_in": "10m"})

	other := people.Person(s, s.Boot.UserID, "").Call("POST", "/v1/organisations", object{"name": "Second"}).JSON(t)["id"].(string)
	guest := people.Person(s, s.Member("guest@acme.example", "viewer", nil).User, "")
	elsewhere := "/v1/organisations/" + other
	key2, record2 := people.Person(s, s.Boot.UserID, other).NewKey(object{"scopes": list{"admin"}, "expires_in": "10m"})
	key2.OK("POST", elsewhere+"/invite", object{"email": "guest@acme.example", "role": "viewer"})
	guest.OK("POST", "/v1/invitations/accept", object{"token": s.MailedToken("guest@acme.example")})
	people.Person(s, s.Boot.UserID, other).OK("DELETE", "/v1/api-keys/"+record2["id"].(string), nil)
	require.Equal(t, 200, people.Person(s, guest.User, other).Call("GET", "/v1/me", nil).Status, "people do not end with a key")

	for _, later := range []object{{"expires_in": "11m"}, {"expires_at": time.Now().Add(time.Hour).Format(time.RFC3339)}} {
		later["name"] = "later"
		code, fields := key.Call("POST", "/v1/api-keys", later).Problem(t, 422)
		require.Equal(t, "invalid_field", code)
		require.Len(t, fields, 1)
		require.Contains(t, later, fields[0])
	}
	person.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	r := robot{id: account["serviceAccount"].(object)["id"].(string)}
	r.config.ClientID, r.config.ClientSecret = account["clientId"].(string), account["clientSecret"].(string)
	require.Equal(t, 200, r.at(s).client(t, s).Call("GET", "/v1/me", nil).Status)
}
