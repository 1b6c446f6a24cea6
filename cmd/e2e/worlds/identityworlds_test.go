package worlds_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/session"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// identityWorlds is one server whose records of identity come and go. The ids and names of
// the requests stay the same.
type identityWorlds struct {
	*harness.Server
	people  harness.Signer
	store   catalog.Store
	signIns *signin.Store
	org     string // the path of the organisation
	// other is a member of the organisation whose records are hidden from the callers.
	other string
}

func newIdentityWorlds(t *testing.T) *identityWorlds {
	w := &identityWorlds{people: harness.NewSigner(t)}
	w.Server = harness.Start(t, func(c *harness.Settings) {
		w.people.Trust(c)
		c.Providers = map[string]config.Provider{"provider_two": {Issuer: "https://provider.example", Permissions: []string{"storage"}}}
	})
	store, err := w.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w.signIns = signin.New(store.DB())
	w.store, w.org = store, "/v1/organisations/"+w.Boot.OrganisationID
	w.other = w.Member("other@acme.example", "builder", nil).User
	return w
}

// hidden are records of the organisation that only its administrators see.
type hidden struct{ invitation, client, account, key, workspace, gone, token, identity, session string }

// hide creates records that mention the canary.
func (w *identityWorlds) hide() (h hidden) {
	t := w.T
	t.Helper()
	made := func(r harness.Reply) object {
		t.Helper()
		require.Equal(t, 201, r.Status, "%s", r.Body)
		return r.JSON(t)
	}
	w.Admin.OK("POST", w.org+"/invite", object{"email": "hidden@elsewhere.example", "role": "admin"})
	h.token = w.MailedToken("hidden@elsewhere.example")
	h.invitation = w.Admin.OK("GET", w.org+"/invitations", nil)["invitations"].(list)[0].(object)["id"].(string)
	h.client = made(w.Admin.Call("POST", w.org+"/clients", object{"name": harness.Canary + "client",
		"redirectUris": list{"https://hidden.example/cb"}, "scopes": list{"org:read"}}))["client"].(object)["id"].(string)
	_, key := w.Admin.NewKey(object{"name": harness.Canary + "key"})
	h.key = key["id"].(string)
	w.Admin.OK("POST", w.org+"/provider-apps/provider_two", object{"clientId": harness.Canary + "app", "clientSecret": "x"})
	org := catalog.OrgID(w.Boot.OrganisationID)
	_, err := w.store.PutProviderLink(t.Context(), catalog.NewProviderLink{AppVersion: 1, SealedToken: []byte("x"), Subject: harness.Canary,
		ProviderLinkKey: catalog.ProviderLinkKey{Org: org, Provider: "provider_two", User: catalog.UserID(w.other)}})
	require.NoError(t, err)
	_, err = w.store.PutSSOConfig(t.Context(), org, catalog.NewSSOConfig{Issuer: "https://hidden.example", ClientID: harness.Canary,
		SealedSecret: []byte("x"), DefaultRole: catalog.RoleViewer, MaxRole: catalog.RoleAdmin, Domains: []string{"hidden.example"}})
	require.NoError(t, err)
	_, err = w.store.VerifyEmailDomain(t.Context(), org, "hidden.example", catalog.DomainByOperator)
	require.NoError(t, err)
	h.identity = made(w.Admin.Call("POST", w.org+"/users/"+w.other+"/identities", object{"issuer": "https://hidden.example",
		"subject": harness.Canary}))["id"].(string)
	w.Admin.OK("PUT", w.org+"/users/"+w.other+"/attributes", object{"team": harness.Canary})
	boss := w.people.Person(w.Server, w.Boot.UserID, "")
	h.gone = made(boss.Call("POST", "/v1/organisations", object{"name": harness.Canary + "gone"}))["id"].(string)
	theirs := w.people.Person(w.Server, w.Boot.UserID, h.gone)
	_, err = w.store.AddMember(t.Context(), catalog.OrgID(h.gone), catalog.UserID(w.other), catalog.RoleAdmin)
	require.NoError(t, err)
	theirs.OK("DELETE", "/v1/organisations/"+h.gone, nil)
	w.setPassword("other@acme.example")
	signedIn, err := w.signIns.CreateSession(t.Context(), session.Session{User: uuid.MustParse(w.other),
		Org: uuid.MustParse(w.Boot.OrganisationID), Client: "https://" + harness.Canary + ".example/client.json",
		Method: session.MethodPassword, ExpiresAt: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	h.session = signedIn.ID.String()
	return h
}

// setPassword gives an account, which exists, a password that nobody knows.
func (w *identityWorlds) setPassword(email string) {
	w.T.Helper()
	user, err := w.store.UserByEmail(w.T.Context(), email)
	require.NoError(w.T, err)
	hash, err := password.New(password.Options{}).Hash(w.T.Context(), password.Source{}, "nobody knows this password")
	require.NoError(w.T, err)
	require.NoError(w.T, w.store.SetPassword(w.T.Context(), user.ID, hash))
}

// remove removes what hide has created.
func (w *identityWorlds) remove(h hidden) {
	w.T.Helper()
	w.Admin.OK("DELETE", w.org+"/invitations/"+h.invitation, nil)
	w.Admin.OK("DELETE", w.org+"/clients/"+h.client, nil)
	w.Admin.OK("DELETE", "/v1/api-keys/"+h.key, nil)
	w.Admin.OK("DELETE", w.org+"/provider-apps/provider_two", nil)
	w.Admin.OK("DELETE", w.org+"/sso", nil)
	w.Admin.OK("DELETE", w.org+"/users/"+w.other+"/identities/"+h.identity, nil)
	w.Admin.OK("PUT", w.org+"/users/"+w.other+"/attributes", object{})
}

// asks are the requests of the routes of identity, in an organisation.
func (w *identityWorlds) asks(h hidden) (asks []harness.Ask) {
	add := func(method, path string, body any) {
		asks = append(asks, harness.Ask{Method: method, Path: path, Body: body})
	}
	for _, path := range []string{"/v1/me", "/v1/me/attributes", "/v1/me/sessions",
		"/v1/organisations", "/v1/organisations?pageSize=1", "/v1/api-keys",
		"/v1/api-keys?all=true", "/v1/api-keys/" + h.key, "/oauth2/register/" + h.client, "/v1/limits", "/v1/operations", "/v1/tables"} {
		add("GET", path, nil)
	}
	for _, tail := range []string{"", "/users", "/users?pageSize=1", "/users/" + w.other, "/users/" + w.other + "/attributes",
		"/users/" + w.other + "/effective-policies", "/users/" + w.other + "/identities", "/users/" + w.other + "/sessions",
		"/invitations", "/invitations/" + h.invitation, "/clients", "/clients/" + h.client,
		"/service-accounts", "/service-accounts/" + h.account, "/sso", "/provider-apps", "/provider-apps/provider_two", "/provider-links",
		"/provider-apps/provider_one/link", "/workspaces", "/workspaces/" + h.workspace, "/workspaces/" + h.workspace + "/members", "/audit",
		"/policies", "/domains"} {
		add("GET", w.org+tail, nil)
	}
	add("GET", "/v1/organisations/"+h.gone, nil)
	for _, change := range []struct {
		method, path string
		body         any
	}{
		{"POST", w.org + "/invite", object{"email": "hidden@elsewhere.example", "role": "viewer"}},
		{"POST", w.org + "/users", object{"email": "hidden@elsewhere.example", "role": "viewer"}},
		{"POST", w.org + "/recover", object{"email": "other@acme.example"}}, {"DELETE", "/v1/me?dry_run=true", nil},
		{"PATCH", w.org, object{"name": "mine"}},
		{"PUT", w.org + "/users/" + w.other + "/role", object{"role": "viewer"}}, {"DELETE", w.org + "/users/" + w.other, nil},
		{"DELETE", w.org + "/users/" + w.other + "/sessions/" + h.session, nil}, {"DELETE", "/v1/me/sessions/" + h.session, nil},
		{"DELETE", w.org + "/invitations/" + h.invitation, nil}, {"DELETE", w.org + "/clients/" + h.client, nil},
		{"PATCH", w.org + "/clients/" + h.client, object{"name": "mine"}}, {"POST", w.org + "/clients/" + h.client + "/rotate-secret", nil},
		{"PATCH", w.org + "/service-accounts/" + h.account, object{"name": "mine"}},
		{"POST", w.org + "/service-accounts/" + h.account + "/rotate-secret", nil},
		{"POST", w.org + "/service-accounts/" + h.account + "/api-keys", object{"name": "mine"}},
		{"DELETE", w.org + "/service-accounts/" + h.account, nil}, {"DELETE", w.org + "/sso", nil},
		{"PUT", w.org + "/sso", object{"issuer": "https://hidden.example", "clientId": "x", "domains": list{"hidden.example"},
			"defaultRole": "viewer", "dry_run": true}},
		{"POST", w.org + "/users/" + w.other + "/identities", object{"issuer": "https://hidden.example", "subject": harness.Canary}},
		{"DELETE", w.org + "/users/" + w.other + "/identities/" + h.identity, nil},
		{"DELETE", w.org + "/identities?issuer=https://hidden.example", nil},
		{"DELETE", w.org + "/identities?issuer=https://hidden.example&dry_run=true", nil},
		{"POST", w.org + "/sso/domains/hidden.example/verify", nil}, {"DELETE", w.org + "/provider-apps/provider_two", nil},
		{"POST", w.org + "/provider-apps/provider_two", object{"clientId": "x", "clientSecret": "x"}},
		{"DELETE", w.org + "/provider-apps/provider_two/link", nil}, {"DELETE", w.org, nil}, {"POST", w.org + "/undelete", nil},
		{"POST", w.org + "/transfer", object{"userId": w.other}}, {"PATCH", w.org + "/config", object{"sandbox_enabled": true}},
		{"POST", "/v1/organisations/" + h.gone + "/undelete", nil}, {"DELETE", "/v1/organisations/" + h.gone, nil},
		{"POST", "/v1/invitations/accept", object{"token": h.token}}, {"POST", "/v1/invitations/accept", object{"token": "made-up"}},
		{"DELETE", "/v1/api-keys/" + h.key, nil}, {"POST", "/v1/api-keys/" + h.key + "/rotate", nil},
		{"DELETE", "/oauth2/register/" + h.client, nil},
	} {
		add(change.method, change.path, change.body)
	}
	return asks
}

// ask makes all requests of one caller, one after the other.
func (w *identityWorlds) ask(c *harness.Client, asks []harness.Ask) []harness.Answer {
	w.T.Helper()
	out := make([]harness.Answer, len(asks))
	for i, a := range asks {
		got, err := c.Answer(i, a)
		require.NoError(w.T, err)
		require.Less(w.T, got.Status, 500, "%s: %s", a, got.Body)
		out[i] = masked(got)
	}
	return out
}

var (
	// random matches secrets that are new in each reply.
	random = regexp.MustCompile(`[A-Za-z0-9_-]{43}|[A-Z2-7]{26}`)
	// changed matches the time at which attributes were changed and whether the organisation
	// requires single sign-on, which members see, and the last use of the caller's own key.
	changed = regexp.MustCompile(`"updatedAt":"[^"]*"|"last_used_at":("[^"]*"|null)|"ssoRequired":(true|false)`)
)

// masked replaces what differs from one reply to the next.
func masked(a harness.Answer) harness.Answer {
	a.Body = changed.ReplaceAllString(random.ReplaceAllString(a.Body, "random"), "")
	for name, values := range a.Header {
		for i, value := range values {
			a.Header[name][i] = random.ReplaceAllString(value, "random")
		}
	}
	return a
}

// same compares the answers of callers in two worlds.
func (w *identityWorlds) same(asks []harness.Ask, callers map[string]*harness.Client, first, second map[string][]harness.Answer) {
	t := w.T.(*testing.T)
	for name := range callers {
		t.Run(name, func(t *testing.T) {
			count := map[int]int{}
			for _, a := range first[name] {
				count[a.Status]++
			}
			t.Logf("by status: %v", count)
			(&worlds{t: t}).compare(asks[:len(first[name])], [2][]harness.Answer{first[name], second[name]})
		})
	}
}

// TestTwoWorldsOfIdentityForMembers creates and removes what members do not see: invitations,
// clients, single sign-on, provider applications and links of others, keys and attributes of
// others, and deleted organisations.
func TestTwoWorldsOfIdentityForMembers(t *testing.T) {
	t.Parallel()
	w := newIdentityWorlds(t)
	viewer, builder := w.Member("viewer@acme.example", "viewer", nil), w.Member("builder@acme.example", "builder", nil)
	narrow, _ := builder.NewKey(object{"scopes": list{"tables:read"}})
	callers := map[string]*harness.Client{
		"a key of a viewer": viewer, "a viewer": w.people.Person(w.Server, viewer.User, w.Boot.OrganisationID), "a narrow key": narrow,
		"a viewer in no organisation": w.people.Person(w.Server, viewer.User, ""),
	}
	h := w.hide()
	h.account, h.workspace = harness.MissingID, harness.MissingID
	asks := w.asks(h)
	admin := slices.DeleteFunc(slices.Clone(asks), func(a harness.Ask) bool { return a.Method != http.MethodGet })
	wild, mild := map[string][]harness.Answer{}, map[string][]harness.Answer{}
	for name, c := range callers {
		wild[name] = w.ask(c, asks)
	}
	before := w.ask(w.Admin, admin)
	w.remove(h)
	for name, c := range callers {
		mild[name] = w.ask(c, asks)
	}
	w.same(asks, callers, mild, wild)
	differing := 0
	for i, after := range w.ask(w.Admin, admin) {
		if after.Status != before[i].Status || after.Body != before[i].Body {
			differing++
		}
	}
	require.Greater(t, differing, 10, "the worlds differ for an administrator")
}

// TestTwoWorldsOfIdentityForOthers changes everything in an organisation, up to its
// existence, and asks people of another one, of none, and nobody in particular.
func TestTwoWorldsOfIdentityForOthers(t *testing.T) {
	t.Parallel()
	w := newIdentityWorlds(t)
	made := func(r harness.Reply, id string) string {
		t.Helper()
		require.Equal(t, 201, r.Status, "%s", r.Body)
		return r.JSON(t)[id].(string)
	}
	boss := w.people.Person(w.Server, w.Boot.UserID, "")
	second := made(boss.Call("POST", "/v1/organisations", object{"name": "Second"}), "id")
	owner := w.people.Person(w.Server, w.Boot.UserID, second)
	member := func(email string, role catalog.Role) string {
		added, err := w.store.CreateUser(t.Context(), catalog.NewUser{Email: email})
		require.NoError(t, err)
		_, err = w.store.AddMember(t.Context(), catalog.OrgID(second), added.ID, role)
		require.NoError(t, err)
		return string(added.ID)
	}
	bea, cara := member("bea@second.example", catalog.RoleAdmin), member("cara@second.example", catalog.RoleViewer)
	owner.OK("DELETE", "/v1/organisations/"+second+"/users/"+cara, nil)
	owner.OK("PATCH", "/v1/organisations/"+second+"/config", object{"sandbox_enabled": true})
	callers := map[string]*harness.Client{
		"an administrator of another organisation": w.people.Person(w.Server, bea, second),
		"a person in no organisation":              w.people.Person(w.Server, cara, ""), "nobody": w.Client("", ""),
		"a member of none with a token of one": w.people.Person(w.Server, cara, w.Boot.OrganisationID),
	}
	h := w.hide()
	account := w.Admin.Call("POST", w.org+"/service-accounts", object{"name": harness.Canary + "robot", "role": "viewer"})
	require.Equal(t, 201, account.Status, "%s", account.Body)
	h.account = account.JSON(t)["serviceAccount"].(object)["id"].(string)
	h.workspace = made(w.Admin.Call("POST", w.org+"/workspaces", object{"name": harness.Canary + "room"}), "id")
	w.Admin.OK("PATCH", w.org+"/config", object{"sandbox_enabled": true})
	table := object{"catalog": "lake", "schema": "sandbox", "name": "trial", "columns": list{harness.Col("v", "string")}}
	w.Admin.OK("POST", "/v1/tables", table)
	const trial = "/v1/tables/lake/sandbox/trial"
	w.Admin.OK("POST", trial+"/rows", harness.RowsOf(object{"v": harness.Canary}))

	asks := w.asks(h)
	for _, path := range []string{trial, trial + "/columns", trial + "/rows", trial + "/details", trial + "/history",
		"/v1/storages/configs", "/v1/tables?pageSize=1"} {
		asks = append(asks, harness.Ask{Method: "GET", Path: path})
	}
	asks = append(asks, harness.SQLAsk("SELECT * FROM sandbox.trial"), harness.SQLAsk("SHOW TABLES"),
		harness.SQLAsk("SELECT * FROM information_schema.tables"), harness.SQLAsk("SELECT * FROM "+w.Schema+".trial"),
		harness.Ask{Method: "POST", Path: trial + "/rows", Body: harness.RowsOf(object{"v": "x"})},
		harness.Ask{Method: "POST", Path: "/v1/tables?dry_run=true", Body: table}, harness.Ask{Method: "DELETE", Path: trial})
	answers := func() map[string][]harness.Answer {
		out := map[string][]harness.Answer{}
		for name, c := range callers {
			some := asks
			if strings.HasPrefix(name, "a member") {
				some = asks[:15] // more refused credentials exceed a rate
			}
			out[name] = w.ask(c, some)
		}
		return out
	}
	wild := answers()
	w.remove(h)
	w.Admin.OK("DELETE", trial+"?purge=true", nil)
	w.Admin.OK("PATCH", w.org+"/config", object{"sandbox_enabled": false})
	w.Admin.OK("DELETE", w.org+"/workspaces/"+h.workspace, nil)
	w.Admin.OK("DELETE", w.org+"/service-accounts/"+h.account, nil)
	w.Admin.OK("DELETE", w.org+"/users/"+w.other, nil)
	mild := answers()
	w.same(asks, callers, mild, wild)
	w.people.Person(w.Server, w.Boot.UserID, w.Boot.OrganisationID).OK("DELETE", w.org, nil)
	w.same(asks, callers, mild, answers())
}

// TestTwoWorldsOfAddresses asks as nobody about an address that no account has, which then
// has one, with a password, keys and a membership. Links in e-mails are the only difference.
func TestTwoWorldsOfAddresses(t *testing.T) {
	t.Parallel()
	w := newIdentityWorlds(t)
	const ivy = "ivy@acme.example"
	nobody := w.Client("", "")
	asks := []harness.Ask{
		{Method: "POST", Path: "/v1/auth/recover", Body: object{"email": ivy}},
		{Method: "POST", Path: "/v1/auth/recover", Body: object{"email": strings.ToUpper(ivy)}},
		{Method: "POST", Path: "/v1/auth/sso/login", Body: object{"email": ivy}},
		{Method: "GET", Path: "/signin?login_hint=" + ivy},
		{Method: "GET", Path: "/oauth2/authorize?" + url.Values{"client_id": {"lakewarden"}, "response_type": {"code"},
			"state": {"state-of-mine"}, "redirect_uri": {"http://127.0.0.1:7/"}, "code_challenge_method": {"S256"},
			"code_challenge": {strings.Repeat("c", 43)},
			"login_hint":     {ivy}}.Encode()},
		{Method: "GET", Path: "/confirm-identity"},
		{Method: "GET", Path: "/accept-invitation?token=made-up"}, {Method: "GET", Path: "/set-password?token=made-up"},
	}
	// An organisation of one's own is no way to find out either.
	boss := w.people.Person(w.Server, w.Boot.UserID, "")
	second := boss.Call("POST", "/v1/organisations", object{"name": "Second"}).JSON(t)["id"].(string)
	owner := w.people.Person(w.Server, w.Boot.UserID, second)
	inside := []harness.Ask{
		{Method: "POST", Path: "/v1/organisations/" + second + "/invite", Body: object{"email": ivy, "role": "viewer"}},
		{Method: "POST", Path: "/v1/organisations/" + second + "/users", Body: object{"email": ivy, "displayName": "I", "role": "viewer"}},
		{Method: "POST", Path: "/v1/organisations/" + second + "/recover", Body: object{"email": ivy}},
		{Method: "GET", Path: "/v1/organisations/" + second + "/users"},
	}
	pages := func() (out []harness.Answer) {
		for _, form := range [][]string{
			{"/signin", "email", ivy, "password", "not the password"}, {"/signin", "email", ivy, "password", ""},
			{"/signin", "email", ivy, "password", "not the password", "sso", "1"}, {"/recover", "email", ivy},
		} {
			shown := harness.NewBrowser(t).Submit(w.URL+form[0], form[1:]...)
			for _, name := range []string{"Date", "Ratelimit-Remaining", "Ratelimit-Reset"} {
				shown.Header.Del(name)
			}
			out = append(out, masked(harness.Answer{Status: shown.Status, Body: string(shown.Body), Header: shown.Header}))
		}
		return out
	}
	invited := func() []harness.Answer {
		out := w.ask(owner, inside)
		for i := range out { // an invitation is a new one each time
			out[i].Body = times.ReplaceAllString(uuids.ReplaceAllString(out[i].Body, "id"), "time")
		}
		return out
	}
	unknown := map[string][]harness.Answer{"nobody": w.ask(nobody, asks), "an administrator": invited(), "a browser": pages()}
	w.Member(ivy, "admin", map[string]string{"team": "a"})
	w.setPassword(ivy)
	known := map[string][]harness.Answer{"nobody": w.ask(nobody, asks), "an administrator": invited(), "a browser": pages()}
	w.MailedToken(ivy) // the worlds differ
	w.same(asks, map[string]*harness.Client{"nobody": nobody}, unknown, known)
	w.same(inside, map[string]*harness.Client{"an administrator": owner}, unknown, known)
	w.same(make([]harness.Ask, len(known["a browser"])), map[string]*harness.Client{"a browser": nil}, unknown, known)
	require.Equal(t, http.StatusUnprocessableEntity, known["a browser"][0].Status)
	require.Contains(t, known["a browser"][0].Body, "address or the password is wrong")
}
