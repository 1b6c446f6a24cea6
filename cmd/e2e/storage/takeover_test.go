package storage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// TestOwnerOfDelegatedStorageLeaves removes the owner of a shared and of a personal delegated
// configuration from the organisation. The shared one stays, unusable until another member takes it
// over, the personal one waits for the owner.
func TestOwnerOfDelegatedStorageLeaves(t *testing.T) {
	d := delegatedGoogle(t)
	upstream, people := providertest.New(t), harness.NewSigner(t)
	upstream.Mint = d.mint
	s := harness.Start(t, func(c *harness.Settings) {
		people.Trust(c)
		c.AllowPrivateEndpoints = true
		c.Providers = map[string]config.Provider{d.provider: {
			Issuer: upstream.URL, Permissions: []string{"storage"}, Scopes: []string{"openid", "offline_access"}, StorageURL: d.store,
		}}
	})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	app := org + "/provider-apps/" + d.provider
	s.Admin.OK("POST", app, object{"clientId": providertest.ClientID, "clientSecret": providertest.ClientSecret})
	link := func(user string) { t.Helper(); s.Link(people.Person(s, user, s.Boot.OrganisationID), app, upstream) }
	leaver, heir := s.Member("leaver@acme.example", "builder", nil), s.Member("heir@acme.example", "builder", nil)
	reader := s.Member("reader@acme.example", "editor", nil)
	stranger, _ := s.Organisation("other")
	link(leaver.User)
	configure := func(name string, more object) (path, schema string) {
		t.Helper()
		made := leaver.OK("POST", harness.ConfigsPath,
			with(object{"configName": name, "kind": "delegated", "provider": d.provider, "prefix": name}, d.settings, more))
		path, schema = harness.ConfigsPath+"/"+made["configId"].(string), made["schema"].(string)
		leaver.Call("POST", "/v1/tables", s.NewTable(schema, "t", nil, harness.Col("id", "long"))).JSON(t)
		leaver.Write("/v1/tables/lake/"+schema+"/t/rows", harness.RowsOf(object{"id": 1}))
		return path, schema
	}
	path, schema := configure("shared", object{"workspaceId": s.Boot.WorkspaceID})
	own, ownSchema := configure("personal", nil)
	table := "/v1/tables/lake/" + schema + "/t"
	s.Admin.OK("PUT", table+"/columns/id/domain/fixed", object{"values": []string{"1", "2"}})
	id := reader.OK("GET", table, nil)["tableId"]
	require.Equal(t, 1.0, reader.Count(schema+".t"))
	await := func(c *harness.Client, schema string, status int) {
		t.Helper()
		require.Eventually(t, func() bool { return c.Query("SELECT * FROM "+schema+".t").Status == status }, time.Minute, 50*time.Millisecond)
	}
	takeOver := func(by *harness.Client, path string) harness.Reply { return by.Call("POST", path+"/take-over", nil) }
	ownedBy := func(user string) {
		t.Helper()
		record := reader.OK("GET", path, nil)
		require.Equal(t, []any{user, s.Boot.WorkspaceID}, []any{record["ownerUserId"], record["workspaceId"]})
	}
	useless := func() {
		t.Helper()
		await(reader, schema, 409)
		for _, r := range []harness.Reply{
			reader.Query("SELECT * FROM " + schema + ".t"), reader.Call("POST", table+"/rows", harness.RowsOf(object{"id": 2})),
			reader.Call("GET", table+"/rows", nil), heir.Call("POST", path+"/validate", nil), heir.Call("POST", path+"/discover", nil),
		} {
			refusedWith(t, r, 409, "provider_link_required")
		}
	}

	s.Admin.OK("DELETE", org+"/users/"+leaver.User, nil)
	useless()
	ownedBy(leaver.User)
	refusedWith(t, takeOver(heir, path), 409, "provider_link_required")
	refusedWith(t, takeOver(reader, path), 403, "insufficient_scope")
	refusedWith(t, takeOver(stranger, path), 404, "not_found")
	refusedWith(t, takeOver(heir, own), 404, "not_found")
	refusedWith(t, takeOver(s.Admin, own), 404, "not_found")
	refusedWith(t, takeOver(s.Admin, harness.ConfigsPath+"/"+localConfig(s)), 422, "wrong_kind")

	// A link without rights in the store changes nothing.
	upstream.Mint = func() string { return "a token that the store does not know" }
	link(heir.User)
	r := takeOver(heir, path)
	code, fields := r.Problem(t, 422)
	require.Equal(t, "credential_rejected", code)
	require.NotEmpty(t, fields)
	ownedBy(leaver.User)
	upstream.Mint = d.mint
	link(heir.User)
	require.Equal(t, heir.User, takeOver(heir, path).JSON(t)["ownerUserId"])
	ownedBy(heir.User)
	await(reader, schema, 200)
	inserted, _, _ := reader.Write(table+"/rows", harness.RowsOf(object{"id": 2}))
	require.Equal(t, 1.0, inserted)
	require.Equal(t, 2.0, reader.Count(schema+".t"))
	require.Equal(t, id, reader.OK("GET", table, nil)["tableId"])
	require.NotNil(t, reader.OK("GET", table+"/columns/id/domain", nil)["domain"])
	require.Equal(t, 200, takeOver(heir, path).Status, "it is the heir's already")
	s.Restart()
	for _, c := range []*harness.Client{leaver, heir, reader, stranger} {
		c.URL = s.URL
	}
	require.Equal(t, 2.0, reader.Count(schema+".t"))

	// The heir removes the link, and an administrator takes over.
	people.Person(s, heir.User, s.Boot.OrganisationID).OK("DELETE", app+"/link", nil)
	useless()
	ownedBy(heir.User)
	link(s.Boot.UserID)
	require.Equal(t, 200, takeOver(s.Admin, path).Status)
	ownedBy(s.Boot.UserID)
	await(reader, schema, 200)
	var previous []any
	require.Eventually(t, func() bool {
		previous = nil
		for _, e := range s.Admin.OK("GET", org+"/audit?page_size=1000", nil)["entries"].([]any) {
			if e := e.(object); e["action"] == "storage.taken_over" {
				previous = append(previous, e["details"].(object)["previous_owner_user_id"])
			}
		}
		return len(previous) == 2
	}, time.Minute, 50*time.Millisecond)
	require.ElementsMatch(t, []any{leaver.User, heir.User}, previous)

	// The personal configuration is found again, and works after a new link.
	back := s.Member("leaver@acme.example", "builder", nil)
	require.Equal(t, leaver.User, back.User)
	require.Equal(t, leaver.User, back.OK("GET", own, nil)["ownerUserId"])
	refusedWith(t, back.Query("SELECT * FROM "+ownSchema+".t"), 409, "provider_link_required")
	link(back.User)
	await(back, ownSchema, 200)
	require.Equal(t, 1.0, back.Count(ownSchema+".t"))
}

// localConfig returns the id of the configuration that every server has.
func localConfig(s *harness.Server) string {
	s.T.Helper()
	for _, c := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any) {
		if c := c.(object); c["schema"] == s.Schema {
			return c["configId"].(string)
		}
	}
	require.Fail(s.T, "no configuration")
	return ""
}
