package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestOrganisationFromCreationToRestoration follows an organisation that a signed-in
// person creates, transfers, deletes and restores.
func TestOrganisationFromCreationToRestoration(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	stranger := s.Member("stranger@acme.example", "admin", nil)
	boss := people.Person(s, s.Boot.UserID, "")
	helper := s.Member("helper@acme.example", "viewer", nil)

	refused(t, s.Admin, 403, "sign_in_required", "POST", "/v1/organisations", object{"name": "By a key"})
	refused(t, boss, 422, "invalid_field", "POST", "/v1/organisations", object{"name": " x"})
	made := boss.Call("POST", "/v1/organisations", object{"name": "Second"})
	require.Equal(t, 201, made.Status, "%s", made.Body)
	id := made.JSON(t)["id"].(string)
	path := "/v1/organisations/" + id
	require.Equal(t, s.Boot.UserID, made.JSON(t)["owner"])
	owner := people.Person(s, s.Boot.UserID, id)
	require.Equal(t, "admin", owner.OK("GET", "/v1/me", nil)["role"])

	listed := func(c *harness.Client) map[string]object {
		out := map[string]object{}
		for _, o := range c.OK("GET", "/v1/organisations", nil)["organisations"].(list) {
			out[o.(object)["name"].(string)] = o.(object)
		}
		return out
	}
	require.Equal(t, "admin", listed(boss)["Second"]["role"])
	require.Contains(t, listed(boss), "Acme")
	require.Equal(t, 1, len(listed(s.Admin)), "a key sees its own organisation only")

	// The transfer needs an administrator, and its effect is immediate.
	added := owner.Call("POST", path+"/users", object{"email": "helper@acme.example", "role": "builder"})
	require.Equal(t, 201, added.Status, "%s", added.Body)
	require.Equal(t, "invited", added.JSON(t)["state"], "a person of another organisation is asked")
	people.Person(s, helper.User, "").OK("POST", "/v1/invitations/accept", object{"token": s.MailedToken("helper@acme.example")})
	heir := people.Person(s, helper.User, id)
	refused(t, owner, 422, "invalid_field", "POST", path+"/transfer", object{"userId": helper.User})
	refused(t, owner, 422, "invalid_field", "POST", path+"/transfer", object{"userId": harness.MissingID})
	owner.OK("PUT", path+"/users/"+helper.User+"/role", object{"role": "admin"})
	refused(t, heir, 403, "not_owner", "POST", path+"/transfer", object{"userId": helper.User})
	require.Equal(t, helper.User, owner.OK("POST", path+"/transfer", object{"userId": helper.User})["owner"])
	refused(t, owner, 403, "not_owner", "DELETE", path, nil)
	heir.OK("POST", path+"/transfer", object{"userId": s.Boot.UserID})

	key, _ := owner.NewKey(object{"scopes": []string{"admin"}})
	refused(t, key, 403, "sign_in_required", "POST", path+"/transfer", object{"userId": helper.User})
	refused(t, key, 403, "sign_in_required", "DELETE", path, nil)
	refused(t, heir, 403, "not_owner", "DELETE", path, nil)
	refused(t, people.Person(s, stranger.User, s.Boot.OrganisationID), 404, "not_found", "DELETE", path, nil)

	owner.OK("DELETE", path, nil)
	for name, c := range map[string]*harness.Client{"a key": key, "a token of the owner": owner, "a token of a member": heir} {
		require.Equal(t, 401, c.Call("GET", path, nil).Status, name)
	}
	require.NotNil(t, listed(boss)["Second"]["deletedAt"])
	require.NotContains(t, listed(people.Person(s, helper.User, "")), "Second")
	for _, o := range boss.OK("GET", "/v1/me", nil)["organisations"].(list) {
		require.NotEqual(t, id, o.(object)["id"])
	}
	refused(t, people.Person(s, helper.User, ""), 404, "not_found", "POST", path+"/undelete", nil)
	refused(t, s.Admin, 403, "sign_in_required", "POST", path+"/undelete", nil)
	refused(t, boss, 404, "not_found", "POST", "/v1/organisations/"+harness.MissingID+"/undelete", nil)

	require.Equal(t, "Second", boss.OK("POST", path+"/undelete", nil)["name"])
	require.Equal(t, "Second", key.OK("GET", path, nil)["name"], "the key works again")
	require.Equal(t, "admin", heir.OK("GET", "/v1/me", nil)["role"])
	require.Nil(t, listed(boss)["Second"]["deletedAt"])
}

// TestFirstRootStaysWithTheFirstOrganisation checks that a local root without {org} never
// passes to another organisation.
func TestFirstRootStaysWithTheFirstOrganisation(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	root := t.TempDir()
	s := harness.Start(t, func(c *harness.Settings) {
		people.Trust(c)
		c.LocalRoots = []string{root}
	})
	next := people.Person(s, s.Boot.UserID, "")
	id := next.Call("POST", "/v1/organisations", object{"name": "Next"}).JSON(t)["id"].(string)
	owner := people.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	owner.OK("DELETE", "/v1/organisations/"+s.Boot.OrganisationID, nil)
	code, fields := people.Person(s, s.Boot.UserID, id).Call("POST", "/v1/storages/configs",
		object{"configName": "taken", "kind": "local", "root": root + "/anything"}).Problem(t, 422)
	require.Equal(t, "invalid_field", code)
	require.Equal(t, []string{"root"}, fields)
}

// TestMembers adds and removes members: what a removed member may do ends at once.
func TestMembers(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	users := "/v1/organisations/" + s.Boot.OrganisationID + "/users"
	s.Table("t", "SELECT i AS id FROM range(10) t(i)", nil, harness.Column{"id", "long"})

	added := s.Admin.Call("POST", users, object{"email": "Ben@Acme.example", "displayName": "Ben", "role": "builder"})
	require.Equal(t, 201, added.Status, "%s", added.Body)
	ben := added.JSON(t)
	require.Equal(t, "member", ben["state"], "no other organisation exists")
	require.Equal(t, "ben@acme.example", ben["email"])
	require.Equal(t, "person", ben["kind"])
	refused(t, s.Admin, 409, "already_exists", "POST", users, object{"email": "ben@ACME.example", "role": "viewer"})
	for _, bad := range []string{"ben", "\u0430da@acme.example", "x@service.invalid", "Ben <ben@acme.example>"} {
		refused(t, s.Admin, 422, "invalid_field", "POST", users, object{"email": bad, "role": "viewer"})
	}
	refused(t, s.Admin, 422, "invalid_field", "POST", users, object{"email": "new@acme.example", "role": "owner"})
	builder := people.Person(s, ben["userId"].(string), s.Boot.OrganisationID)
	refused(t, builder, 403, "insufficient_scope", "POST", users, object{"email": "new@acme.example", "role": "viewer"})

	key, _ := builder.NewKey(object{"scopes": []string{"tables:query", "tables:read"}})
	require.Equal(t, 10.0, key.Count(s.Schema+".t"))
	s.Admin.OK("DELETE", users+"/"+builder.User, nil)
	for name, c := range map[string]*harness.Client{"token": builder, "key": key} {
		require.Equal(t, 401, c.Query("SELECT 1").Status, name)
	}
	refused(t, s.Admin, 404, "not_found", "DELETE", users+"/"+builder.User, nil)
	require.Equal(t, "Ben", people.Person(s, builder.User, "").OK("GET", "/v1/me", nil)["displayName"], "still a person")

	refused(t, s.Admin, 409, "last_admin", "DELETE", users+"/"+s.Boot.UserID, nil)
	refused(t, s.Admin, 409, "last_admin", "PUT", users+"/"+s.Boot.UserID+"/role", object{"role": "viewer"})
}

// TestOnlyTheOwnPeopleAreAddedAtOnce checks that an organisation learns nothing of the people
// of others, and adds none of them without asking.
func TestOnlyTheOwnPeopleAreAddedAtOnce(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	known := s.Member("known@elsewhere.example", "viewer", nil)
	second := people.Person(s, s.Boot.UserID, "").Call("POST", "/v1/organisations", object{"name": "Second"}).JSON(t)["id"].(string)
	owner := people.Person(s, s.Boot.UserID, second)
	users := "/v1/organisations/" + second + "/users"
	add := func(email string) object {
		r := owner.Call("POST", users, object{"email": email, "displayName": "Eve", "role": "viewer"})
		require.Equal(t, 201, r.Status, "%s", r.Body)
		reply := r.JSON(t)
		require.Equal(t, email, reply["email"])
		for _, own := range []string{"email", "invitationId", "createdAt", "updatedAt"} {
			require.NotNil(t, reply[own], own)
			delete(reply, own)
		}
		return reply
	}
	require.Equal(t, add("unknown@elsewhere.example"), add("known@elsewhere.example"))
	require.Len(t, owner.OK("GET", users, nil)["users"], 1, "nobody was added")
	require.Len(t, people.Person(s, known.User, "").OK("GET", "/v1/organisations", nil)["organisations"], 1)
	require.Len(t, owner.OK("GET", "/v1/organisations/"+second+"/invitations", nil)["invitations"], 2)
}

// TestSelf checks what callers learn about themselves.
func TestSelf(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	ana := s.Member("ana@acme.example", "editor", map[string]string{"team": "a"})

	me := ana.OK("GET", "/v1/me", nil)
	require.Equal(t, s.Boot.OrganisationID, me["organisationId"])
	require.Equal(t, "editor", me["role"])
	require.Equal(t, object{"team": "a"}, me["attributes"])
	require.Equal(t, list{object{"id": s.Boot.OrganisationID, "name": "Acme", "role": "editor", "ssoRequired": false}}, me["organisations"])
	require.Equal(t, list{object{"id": s.Boot.WorkspaceID, "name": "Default", "isDefault": true}}, me["workspaces"])

	nowhere := people.Person(s, ana.User, "")
	me = nowhere.OK("GET", "/v1/me", nil)
	for _, absent := range []string{"organisationId", "role", "attributes"} {
		require.NotContains(t, me, absent)
	}
	require.Empty(t, me["scopes"])
	require.Empty(t, me["workspaces"])
	require.Len(t, me["organisations"], 1)

	person := people.Person(s, ana.User, s.Boot.OrganisationID)
	narrow, _ := person.NewKey(object{"scopes": []string{"tables:read"}})
	require.Empty(t, narrow.OK("GET", "/v1/me", nil)["workspaces"], "without org:read")

	refused(t, ana, 403, "sign_in_required", "PATCH", "/v1/me", object{"displayName": "A"})
	require.Equal(t, "Ana", person.OK("PATCH", "/v1/me", object{"displayName": "Ana"})["displayName"])
	refused(t, person, 422, "invalid_field", "PATCH", "/v1/me", object{"displayName": "A\u202ena"})
}

// TestSharingCanBeSwitchedOff checks that the routes of a feature refuse while it is off.
func TestSharingCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	org := "/v1/organisations/" + s.Boot.OrganisationID
	config := func(name string, workspace any) object {
		return object{"configName": name, "kind": "local", "root": s.Config.LocalRoots[0] + "/" + name, "workspaceId": workspace}
	}
	off := object{"features": list{object{"key": "sharing", "enabled": false}, object{"key": "analysis_models", "enabled": true}}}
	s.Admin.OK("PATCH", org+"/config", off)
	code, fields := s.Admin.Call("POST", "/v1/storages/configs", config("shared", s.Boot.WorkspaceID)).Problem(t, 403)
	require.Equal(t, "feature_disabled", code)
	require.Equal(t, []string{"feature"}, fields)
	s.Admin.OK("POST", "/v1/storages/configs", config("personal", nil))
	s.Admin.OK("PATCH", org+"/config", object{"features": list{object{"key": "sharing", "enabled": true}}})
	s.Admin.OK("POST", "/v1/storages/configs", config("shared", s.Boot.WorkspaceID))
}

// TestRemovedMembersStatementEnds checks that a statement under way ends with the
// membership.
func TestRemovedMembersStatementEnds(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	ben := s.Member("ben@acme.example", "builder", nil)
	signedIn := people.Person(s, ben.User, s.Boot.OrganisationID)
	running := signedIn.Start("SELECT count(*) FROM range(100000) a, range(100000) b WHERE a.range + b.range = 7")
	signedIn.InState(running, "running")
	s.Admin.OK("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+ben.User, nil)
	require.Eventually(t, func() bool {
		return s.Admin.OK("GET", "/v1/operations/"+running["id"].(string), nil)["state"] != "running"
	}, time.Minute, 50*time.Millisecond)
}
