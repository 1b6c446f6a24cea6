package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// TestOrganisationsAndPeopleAreRenamed checks who renames what.
func TestOrganisationsAndPeopleAreRenamed(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	path := "/v1/organisations/" + s.Boot.OrganisationID
	require.Equal(t, "New name", s.Admin.OK("PATCH", path, object{"name": "New name"})["name"])
	require.Equal(t, "New name", s.Admin.OK("GET", path, nil)["name"])
	refused(t, s.Admin, 422, "invalid_field", "PATCH", path, object{"name": "a\u202eb"})
	refused(t, s.Admin, 422, "invalid_field", "PATCH", path, object{})
	refused(t, s.Member("ben@acme.example", "builder", nil), 403, "insufficient_scope", "PATCH", path, object{"name": "Mine"})
	refused(t, s.Admin, 404, "not_found", "PATCH", "/v1/organisations/"+harness.MissingID, object{"name": "x"})

	ana := s.Member("ana@acme.example", "viewer", nil)
	nowhere := people.Person(s, ana.User, "")
	require.Equal(t, "Ana", nowhere.OK("PATCH", "/v1/me", object{"displayName": "Ana"})["displayName"], "a person in no organisation")
}

// TestMembersLeave checks that members end their own memberships, and nothing else, without
// users:write.
func TestMembersLeave(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	users := "/v1/organisations/" + s.Boot.OrganisationID + "/users/"
	leaving, other := s.Member("ana@acme.example", "viewer", nil), s.Member("ben@acme.example", "viewer", nil)
	ana := people.Person(s, leaving.User, s.Boot.OrganisationID)
	refused(t, ana, 403, "insufficient_scope", "DELETE", users+other.User, nil)
	refused(t, ana, 403, "insufficient_scope", "DELETE", users+harness.MissingID, nil)
	refused(t, leaving, 403, "sign_in_required", "DELETE", users+leaving.User, nil)
	refused(t, people.Person(s, leaving.User, ""), 403, "organisation_required", "DELETE", users+leaving.User, nil)
	ana.OK("DELETE", users+leaving.User, nil)
	require.Equal(t, 401, ana.Call("GET", "/v1/me", nil).Status)
	require.Equal(t, 401, leaving.Call("GET", "/v1/me", nil).Status, "the keys end with the membership")
	require.Empty(t, people.Person(s, leaving.User, "").OK("GET", "/v1/organisations", nil)["organisations"])

	owner := people.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	r := owner.Call("DELETE", users+s.Boot.UserID, nil)
	require.Equal(t, 409, r.Status)
	require.Contains(t, string(r.Body), "The owner of an organisation is always an administrator of it.")
}

// TestPeopleDeleteTheirAccounts follows an account from what it holds to its end.
func TestPeopleDeleteTheirAccounts(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	member := s.Member("ana@acme.example", "admin", nil)
	ana := people.Person(s, member.User, "")
	mine := ana.Call("POST", "/v1/organisations", object{"name": "Mine"}).JSON(t)["id"].(string)
	config := people.Person(s, member.User, s.Boot.OrganisationID).OK("POST", "/v1/storages/configs", object{"configName": "own",
		"kind": "local", "root": s.Config.LocalRoots[0] + "/own"})["configId"]

	refused(t, member, 403, "sign_in_required", "DELETE", "/v1/me?dry_run=true", nil)
	refused(t, member, 403, "sign_in_required", "DELETE", "/v1/me", nil)
	held := ana.OK("DELETE", "/v1/me?dry_run=true", nil)
	require.Equal(t, true, held["dry_run"])
	require.Equal(t, mine, held["ownedOrganisations"].(list)[0].(object)["id"])
	require.Len(t, held["organisations"], 2)
	require.Equal(t, list{object{"configId": config, "configName": "own", "organisationId": s.Boot.OrganisationID}}, held["storageConfigs"])
	require.Equal(t, s.Boot.OrganisationID, held["apiKeys"].(list)[0].(object)["organisationId"])

	r := ana.Call("DELETE", "/v1/me", nil)
	code, fields := r.Problem(t, 409)
	require.Equal(t, "owns_organisations", code)
	require.Equal(t, []string{"organisations." + mine}, fields)
	require.Contains(t, string(r.Body), "Mine")
	require.Equal(t, "ana@acme.example", ana.OK("GET", "/v1/me", nil)["email"], "a refused deletion changes nothing")

	people.Person(s, member.User, mine).OK("DELETE", "/v1/organisations/"+mine, nil)
	held = ana.OK("DELETE", "/v1/me", nil)
	require.Equal(t, false, held["dry_run"])
	require.Len(t, held["organisations"], 1)
	for name, c := range map[string]*harness.Client{"token": ana, "key": member, "token of an organisation": people.Person(s, member.User,
		s.Boot.OrganisationID)} {
		require.Equal(t, 401, c.Call("GET", "/v1/me", nil).Status, name)
	}
	require.Len(t, s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/users", nil)["users"], 1)
	require.Eventually(t, func() bool {
		entries := s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/audit?action=account.deleted", nil)["entries"].(list)
		return len(entries) == 1 && entries[0].(object)["userId"] == member.User
	}, time.Minute, 50*time.Millisecond)

	again := s.Member("ana@acme.example", "viewer", nil)
	require.NotEqual(t, member.User, again.User, "whoever has the address later is somebody else")
}

// TestOnlyTheOperatorCreatesOrganisations checks the setting that leaves the creation of
// organisations to the command line.
func TestOnlyTheOperatorCreatesOrganisations(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, func(c *harness.Settings) {
		people.Trust(c)
		c.Organisations = config.OrganisationsByOperator
	})
	refused(t, people.Person(s, s.Boot.UserID, ""), 403, "operator_only", "POST", "/v1/organisations", object{"name": "Second"})
	owner := people.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	owner.OK("DELETE", "/v1/organisations/"+s.Boot.OrganisationID, nil)
	people.Person(s, s.Boot.UserID, "").OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/undelete", nil)
}

// TestBrowsersGetPagesFromCallbacks checks that people see pages, and programs get JSON.
func TestBrowsersGetPagesFromCallbacks(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	b := harness.NewBrowser(t)
	for _, path := range []string{"/v1/auth/sso/callback?state=x&code=y", "/v1/auth/provider/callback?state=x&code=y"} {
		shown := b.Open(s.URL+path, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		require.Equal(t, 400, shown.Status)
		require.Equal(t, "text/html; charset=utf-8", shown.Header.Get("Content-Type"))
		require.Contains(t, string(shown.Body), "This page has expired")
		require.Contains(t, shown.Header.Get("Content-Security-Policy"), "default-src 'none'")
		code, _ := b.Open(s.URL+path, "Accept", "*/*").Problem(t, 400)
		require.Equal(t, "invalid_state", code)
	}
}
