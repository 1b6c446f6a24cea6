package identity_test

import (
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// kinds returns what a list of sessions has, in its order.
func kinds(sessions object) (kinds []string) {
	for _, s := range sessions["sessions"].(list) {
		one := s.(object)
		kind := one["kind"].(string)
		if name, _ := one["clientName"].(string); name != "" {
			kind += " " + name
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// one returns the session of a kind in a list.
func one(t *testing.T, sessions object, kind string) object {
	t.Helper()
	found := slices.IndexFunc(sessions["sessions"].(list), func(s any) bool { return s.(object)["kind"] == kind })
	require.GreaterOrEqual(t, found, 0, "%v", sessions)
	return sessions["sessions"].(list)[found].(object)
}

// signInAtPage signs a person in at the page of the server.
func signInAtPage(b *browser, s *harness.Server, email string) {
	b.Helper()
	p := b.submit(b.send(s.URL+"/signin", nil), url.Values{"email": {email}, "password": {firstPassword}})
	require.Contains(b, string(p.body), "Signed in", "%s", p.body)
}

// people starts a server on which two people have passwords.
func people(t *testing.T) (s *harness.Server, ana, bob *harness.Client) {
	t.Helper()
	s = harness.Start(t, nil)
	ana, bob = s.Member("ana@acme.example", "editor", nil), s.Member("bob@acme.example", "viewer", nil)
	for _, email := range []string{"ana@acme.example", "bob@acme.example"} {
		setFirstPassword(t, s, newBrowser(t), email)
	}
	return s, ana, bob
}

func TestNewSignInsOfABrowser(t *testing.T) {
	t.Parallel()
	s, ana, _ := people(t)
	b := newBrowser(t)
	config := flow(s, "lakewarden", "http://127.0.0.1:7777/callback")
	p, verifier := ask(b, s, config, "ana@acme.example", oauth2.SetAuthURLParam("org", s.Boot.OrganisationID))
	token := allow(t, b, s, config, p, verifier)
	c := s.Client(token.AccessToken, ana.User)
	before := c.OK("GET", "/v1/me/sessions", nil)
	require.ElementsMatch(t, []string{"browser", "program"}, kinds(before))
	require.Equal(t, one(t, before, "browser")["id"], one(t, before, "program")["allowedIn"])
	require.Equal(t, true, one(t, before, "program")["current"])

	signInAtPage(b, s, "ana@acme.example")
	after := c.OK("GET", "/v1/me/sessions", nil)
	require.ElementsMatch(t, []string{"browser", "program"}, kinds(after), "the older session has ended")
	require.NotEqual(t, one(t, before, "browser")["id"], one(t, after, "browser")["id"])
	require.Equal(t, one(t, after, "browser")["id"], one(t, after, "program")["allowedIn"])
	elsewhere := newBrowser(t)
	signInAtPage(elsewhere, s, "ana@acme.example")
	require.Len(t, kinds(c.OK("GET", "/v1/me/sessions", nil)), 3, "other browsers go on")

	signInAtPage(b, s, "bob@acme.example")
	require.Equal(t, 401, c.Call("GET", "/v1/me", nil).Status, "somebody else uses the browser now")
	p, verifier = ask(elsewhere, s, config, "", oauth2.SetAuthURLParam("org", s.Boot.OrganisationID))
	c = s.Client(allow(t, elsewhere, s, config, p, verifier).AccessToken, ana.User)
	require.ElementsMatch(t, []string{"browser", "program"}, kinds(c.OK("GET", "/v1/me/sessions", nil)))
}

func TestPeopleEndTheirSessions(t *testing.T) {
	t.Parallel()
	s, ana, bob := people(t)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	config := flow(s, "lakewarden", "http://127.0.0.1:7777/callback")
	enter := func(who *harness.Client, email string) (*browser, *harness.Client) {
		b := newBrowser(t)
		p, verifier := ask(b, s, config, email, oauth2.SetAuthURLParam("org", s.Boot.OrganisationID))
		return b, s.Client(allow(t, b, s, config, p, verifier).AccessToken, who.User)
	}
	first, a := enter(ana, "ana@acme.example")
	_, other := enter(ana, "ana@acme.example")
	_, b := enter(bob, "bob@acme.example")
	mine := a.OK("GET", "/v1/me/sessions", nil)
	require.Len(t, kinds(mine), 4)
	require.Len(t, a.OK("GET", "/v1/me/sessions?page_size=1", nil)["sessions"], 1)
	hers := mine["sessions"].(list)[0].(object)["id"].(string)
	refused(t, b, 404, "not_found", "DELETE", "/v1/me/sessions/"+hers, nil)
	refused(t, a, 404, "not_found", "DELETE", "/v1/me/sessions/"+uuid.NewString(), nil)
	refused(t, s.Admin, 403, "sign_in_required", "GET", "/v1/me/sessions", nil)
	refused(t, s.Admin, 403, "sign_in_required", "DELETE", "/v1/me/sessions/"+hers, nil)
	refused(t, a, 403, "insufficient_scope", "GET", org+"/users/"+ana.User+"/sessions", nil)

	for _, x := range mine["sessions"].(list) {
		if x := x.(object); x["kind"] == "program" && x["current"] == false {
			a.OK("DELETE", "/v1/me/sessions/"+x["id"].(string), nil)
		}
	}
	require.Equal(t, 401, other.Call("GET", "/v1/me", nil).Status)
	require.Len(t, kinds(a.OK("GET", "/v1/me/sessions", nil)), 3)
	seen := s.Admin.OK("GET", org+"/users/"+ana.User+"/sessions", nil)
	require.Len(t, kinds(seen), 3, "the organisation is the only one of the server")
	refused(t, s.Admin, 404, "not_found", "DELETE", org+"/users/"+bob.User+"/sessions/"+hers, nil)
	program := one(t, seen, "program")
	s.Admin.OK("DELETE", org+"/users/"+ana.User+"/sessions/"+program["allowedIn"].(string), nil)
	require.Equal(t, 401, a.Call("GET", "/v1/me", nil).Status, "a program ends with the browser's session")
	p, _ := ask(first, s, config, "")
	require.NotContains(t, string(p.body), "Allow access?")
	require.Equal(t, 200, b.Call("GET", "/v1/me", nil).Status)
}

// TestAdministratorsSeeNothingOfOtherOrganisations checks sessions of a person who belongs to two.
func TestAdministratorsSeeNothingOfOtherOrganisations(t *testing.T) {
	t.Parallel()
	s, ana, _ := people(t)
	boss, boot := s.Organisation("globex")
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	_, err = store.AddMember(t.Context(), catalog.OrgID(boot.OrganisationID), catalog.UserID(ana.User), catalog.RoleViewer)
	require.NoError(t, err)
	made := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/clients", object{"name": "Dashboards", "public": true,
		"redirectUris": list{"http://127.0.0.1/cb"}})
	require.Equal(t, 201, made.Status, "%s", made.Body)
	config := flow(s, made.JSON(t)["client"].(object)["id"].(string), "http://127.0.0.1:7777/cb")
	b := newBrowser(t)
	p, verifier := ask(b, s, config, "ana@acme.example")
	dash := s.Client(allow(t, b, s, config, p, verifier).AccessToken, ana.User)

	ours := "/v1/organisations/" + s.Boot.OrganisationID + "/users/" + ana.User + "/sessions"
	theirs := "/v1/organisations/" + boot.OrganisationID + "/users/" + ana.User + "/sessions"
	seen := s.Admin.OK("GET", ours, nil)
	require.Equal(t, []string{"program Dashboards"}, kinds(seen), "not the sign-in that is valid elsewhere, too")
	require.Empty(t, boss.OK("GET", theirs, nil)["sessions"])
	id := one(t, seen, "program")["id"].(string)
	refused(t, boss, 404, "not_found", "DELETE", theirs+"/"+id, nil)
	refused(t, boss, 404, "not_found", "GET", ours, nil)
	refused(t, boss, 404, "not_found", "GET", "/v1/organisations/"+boot.OrganisationID+"/users/"+s.Boot.UserID+"/sessions", nil)
	require.Equal(t, 200, dash.Call("GET", "/v1/me", nil).Status)
	s.Admin.OK("DELETE", ours+"/"+id, nil)
	require.Equal(t, 401, dash.Call("GET", "/v1/me", nil).Status)
}

func TestNewSecretsEndTokens(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	r := newRobot(t, s, object{"name": "Robot", "role": "viewer"})
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/service-accounts/" + r.id
	token, err := r.config.Token(t.Context())
	require.NoError(t, err)
	c := s.Client(token.AccessToken, r.id)
	require.Equal(t, []string{"service_account Robot"},
		kinds(s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+r.id+"/sessions", nil)))
	s.Admin.OK("POST", path+"/rotate-secret", object{"grace_seconds": 3600})
	require.Equal(t, 200, c.Call("GET", "/v1/me", nil).Status)
	_, fields := s.Admin.Call("POST", path+"/rotate-secret", object{"grace_seconds": -1}).Problem(t, 422)
	require.NotEmpty(t, fields)
	s.Admin.OK("POST", path+"/rotate-secret", nil)
	require.Equal(t, 401, c.Call("GET", "/v1/me", nil).Status)
}

func TestProgramsLearnWhoPeopleAre(t *testing.T) {
	t.Parallel()
	s, ana, _ := people(t)
	document := document(t, s, "/.well-known/openid-configuration")
	require.Contains(t, document["scopes_supported"], "openid")
	require.Equal(t, list{"ES256"}, document["id_token_signing_alg_values_supported"])
	require.Equal(t, list{"public"}, document["subject_types_supported"])
	require.Subset(t, document["claims_supported"], list{"sub", "email", "email_verified", "name"})
	require.Equal(t, s.URL+"/oauth2/userinfo", document["userinfo_endpoint"])
	b := newBrowser(t)
	config := flow(s, "lakewarden", "http://127.0.0.1:7777/callback", "openid")
	p, verifier := ask(b, s, config, "ana@acme.example", oauth2.SetAuthURLParam("nonce", "n"))
	require.Contains(t, string(p.body), "Learn who you are: your e-mail address and your name")
	token := allow(t, b, s, config, p, verifier)
	c := s.Client(token.AccessToken, ana.User)
	for _, method := range []string{"GET", "POST"} {
		info := c.OK(method, "/oauth2/userinfo", nil)
		require.Equal(t, ana.User, info["sub"])
		require.Equal(t, "ana@acme.example", info["email"])
		require.Equal(t, true, info["email_verified"])
	}
	idToken := token.Extra("id_token").(string)
	require.Equal(t, 401, s.Client(idToken, ana.User).Call("GET", "/v1/me", nil).Status)
	require.Equal(t, 401, s.Admin.Call("GET", "/oauth2/userinfo", nil).Status, "an API key is no sign-in")
	require.Equal(t, 405, c.Call("PUT", "/oauth2/userinfo", nil).Status)
	// The person agreed that the program learns who it is, and to nothing else.
	for _, call := range [][]any{
		{"GET", "/v1/me/sessions", nil}, {"DELETE", "/v1/me?dry_run=true", nil}, {"PATCH", "/v1/me", object{"displayName": "x"}},
		{"POST", "/v1/organisations", object{"name": "x"}}, {"PUT", "/v1/me/password", object{"current": firstPassword, "new": secondPassword}},
	} {
		code, _ := c.Call(call[0].(string), call[1].(string), call[2]).Problem(t, 403)
		require.Equal(t, "sign_in_required", code, call[1])
	}
}

// TestNewSingleSignOnsOfABrowser checks that a sign-in at a provider replaces the browser's session, too.
func TestNewSingleSignOnsOfABrowser(t *testing.T) {
	t.Parallel()
	s := startSSO(t, object{"eve": object{"email": "eve@acme.example", "email_verified": true},
		"kim": object{"email": "kim@acme.example", "email_verified": true}})
	eve, _ := signedIn(newBrowser(t), s, "eve", "eve@acme.example")
	b := newBrowser(t)
	enter := func(account string) {
		t.Helper()
		p := b.submit(b.send(s.URL+"/signin", nil), url.Values{"email": {account + "@acme.example"}, "sso": {"1"}})
		to := onward.FindSubmatch(p.body)
		require.NotNil(t, to, "%s", p.body)
		p = b.send(b.signIn(html.UnescapeString(string(to[1])), account, s.URL), nil)
		require.Equal(t, s.URL+"/signed-in", p.location, "%d %s", p.status, p.body)
	}
	enter("eve")
	before := eve.OK("GET", "/v1/me/sessions", nil)
	require.ElementsMatch(t, []string{"browser", "program"}, kinds(before))
	first := one(t, before, "browser")
	require.Equal(t, s.Boot.OrganisationID, first["organisationId"])
	require.Equal(t, "sso", first["method"])
	b.Jar = withoutProvider(t, b, s)
	enter("eve")
	after := eve.OK("GET", "/v1/me/sessions", nil)
	require.ElementsMatch(t, []string{"browser", "program"}, kinds(after))
	require.NotEqual(t, first["id"], one(t, after, "browser")["id"])
	b.Jar = withoutProvider(t, b, s)
	enter("kim")
	require.Equal(t, []string{"program"}, kinds(eve.OK("GET", "/v1/me/sessions", nil)), "of another browser")
}

// withoutProvider returns the cookies of a browser for the server, without those of the provider.
func withoutProvider(t *testing.T, b *browser, s *harness.Server) http.CookieJar {
	t.Helper()
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	kept := slices.DeleteFunc(b.Jar.Cookies(at), func(c *http.Cookie) bool { return !strings.HasPrefix(c.Name, "lakewarden") })
	jar.SetCookies(at, kept)
	return jar
}
