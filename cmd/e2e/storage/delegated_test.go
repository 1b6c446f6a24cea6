package storage_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
)

// delegatedStore is a store that accepts the tokens of a loopback provider.
type delegatedStore struct {
	provider, store, tenant string
	settings                object
	// mint makes a token that the store accepts.
	mint func() string
	// foreign is a field of the other provider.
	foreign string
}

func delegatedGoogle(t *testing.T) delegatedStore {
	store := gcstest.Start(t)
	guard := store.Guard(t)
	return delegatedStore{
		provider: "provider_one", store: guard.Endpoint, settings: object{"bucket": store.Bucket(t)}, foreign: "account",
		mint: func() string {
			token := "delegated-" + uuid.NewString()
			guard.Accept(token, "link")
			return token
		},
	}
}

func delegatedMicrosoft(t *testing.T) delegatedStore {
	store := azuretest.StartTLS(t)
	return delegatedStore{
		provider: "provider_three", store: "https://" + store.Address + "/{account}", tenant: "tenant", foreign: "bucket",
		settings: object{"account": azuretest.Account, "container": store.Container(t)},
		mint:     func() string { return azuretest.Token(time.Hour, uuid.NewString()) },
	}
}

// TestDelegatedStorage takes a configuration through its life that is opened with the link of its
// owner to a provider.
func TestDelegatedStorage(t *testing.T) {
	for name, start := range map[string]func(*testing.T) delegatedStore{"google": delegatedGoogle, "microsoft": delegatedMicrosoft} {
		t.Run(name, func(t *testing.T) { delegatedStorage(t, start(t)) })
	}
}

func delegatedStorage(t *testing.T, d delegatedStore) {
	upstream := providertest.New(t)
	upstream.Life = 63 // shorter than a token is reused for
	upstream.Mint = d.mint
	people := harness.NewSigner(t)
	s := harness.Start(t, func(c *harness.Settings) {
		people.Trust(c)
		c.AllowPrivateEndpoints = true
		c.Providers = map[string]config.Provider{d.provider: {
			Issuer: upstream.URL, Permissions: []string{"storage"}, Scopes: []string{"openid", "offline_access"}, StorageURL: d.store,
		}}
	})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	app := org + "/provider-apps/" + d.provider
	owner := people.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	editor := s.Member("editor@acme.example", "editor", nil)
	body := with(object{"configName": "theirs", "kind": "delegated", "provider": d.provider, "prefix": "below"}, d.settings)
	refuse := func(want string, status int, change object) []string {
		t.Helper()
		r := s.Admin.Call("POST", harness.ConfigsPath, with(body, change))
		code, fields := r.Problem(t, status)
		require.Equal(t, want, code, "%s", r.Body)
		return fields
	}
	feature := func(on bool) {
		s.Admin.OK("PATCH", org+"/config", object{"features": []any{object{"key": "delegated_storage", "enabled": on}}})
	}
	refuse("provider_link_required", 409, nil)
	application := object{"clientId": providertest.ClientID, "clientSecret": providertest.ClientSecret}
	if d.tenant != "" {
		application["tenant"] = d.tenant
	}
	s.Admin.OK("POST", app, application)
	refuse("provider_link_required", 409, nil)
	link := func() { t.Helper(); s.Link(owner, app, upstream) }
	link()
	require.Equal(t, []string{"provider"}, refuse("invalid_field", 422, object{"provider": "provider_two"}))
	require.Contains(t, refuse("invalid_field", 422, object{d.foreign: "other"}), d.foreign)
	require.Equal(t, []string{"endpoint"}, refuse("invalid_field", 422, object{"endpoint": "https://store.example"}))
	require.Equal(t, []string{"accountKey"}, refuse("invalid_field", 422, object{"accountKey": azuretest.Key}))
	require.Equal(t, []string{"credential"}, refuse("invalid_field", 422, object{"credential": "ambient"}))
	require.Equal(t, []string{"expiresAt"}, refuse("invalid_field", 422, object{"expiresAt": "2099-01-01T00:00:00Z"}))
	require.Equal(t, []string{"prefix"}, refuse("invalid_field", 422, object{"prefix": "a/../b"}))
	feature(false)
	refuse("feature_disabled", 403, nil)
	feature(true)
	builder := s.Member("builder@acme.example", "builder", nil)
	code, _ := builder.Call("POST", harness.ConfigsPath, body).Problem(t, 409)
	require.Equal(t, "provider_link_required", code, "the link of another member does not serve")

	made := s.Admin.OK("POST", harness.ConfigsPath, body)
	require.Equal(t, []any{"delegated", "delegated", d.provider, nil},
		[]any{made["kind"], made["authMode"], made["provider"], made["credentialExpiresAt"]})
	path, schema := harness.ConfigsPath+"/"+made["configId"].(string), made["schema"].(string)
	s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "orders", nil, harness.Col("id", "long"))).JSON(t)
	rows := "/v1/tables/lake/" + schema + "/orders/rows"
	s.Admin.Write(rows, harness.RowsOf(object{"id": 1}))
	require.Equal(t, 1.0, s.Admin.Count(schema+".orders"))
	editor.Query("SELECT * FROM "+schema+".orders").Problem(t, 400)

	// The owner's link serves the workspace.
	s.Admin.OK("POST", path+"/attach", object{"workspaceId": s.Boot.WorkspaceID})
	editor.Write(rows, harness.RowsOf(object{"id": 2}))
	require.Equal(t, 2.0, editor.Count(schema+".orders"))
	require.Equal(t, true, s.Admin.OK("POST", path+"/validate", nil)["valid"])
	for _, kind := range []string{"s3", "gcs", "azure"} {
		code, _ := s.Admin.Call("PUT", path+"/credentials/"+kind, object{}).Problem(t, 422)
		require.Equal(t, "oauth_config_has_no_secret", code)
	}
	other, _ := s.Organisation("other-" + d.provider)
	other.Call("GET", path, nil).Problem(t, 404)

	// Tokens are renewed, and a server that starts again finds the link.
	require.Eventually(t, func() bool {
		return editor.Count(schema+".orders") == 2 && upstream.Refreshes() > 0
	}, time.Minute, 100*time.Millisecond)
	editor.Write(rows, harness.RowsOf(object{"id": 3}))
	s.Restart()
	editor = s.Client(editor.Key, editor.User)
	require.Equal(t, 3.0, editor.Count(schema+".orders"))

	// What ends the use is noticed within the life of what is cached.
	await := func(status int) {
		t.Helper()
		require.Eventually(t, func() bool {
			return editor.Query("SELECT * FROM "+schema+".orders").Status == status
		}, time.Minute, 100*time.Millisecond)
	}
	ends := func(want string, status int) {
		t.Helper()
		await(status)
		for _, r := range []harness.Reply{
			editor.Query("SELECT * FROM " + schema + ".orders"), editor.Call("POST", rows, harness.RowsOf(object{"id": 4})),
		} {
			code, _ := r.Problem(t, status)
			require.Equal(t, want, code)
		}
	}
	works := func(n float64) {
		t.Helper()
		await(http.StatusOK)
		require.Equal(t, n, editor.Count(schema+".orders"))
	}
	feature(false)
	ends("feature_disabled", 403)
	feature(true)
	works(3)
	owner = people.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	owner.OK("DELETE", app+"/link", nil)
	ends("provider_link_required", 409)
	link()
	works(3)
	upstream.RevokeAll() // by the owner, at the provider
	ends("provider_link_required", 409)

	tokens := upstream.Issued()
	require.Greater(t, len(tokens), 4)
	for _, token := range tokens {
		require.Empty(t, harness.Leaked(t, s, token), fmt.Sprintf("one of %d tokens", len(tokens)))
	}
	for _, path := range []string{path, harness.ConfigsPath, "/metrics"} {
		for _, token := range tokens {
			require.NotContains(t, string(s.Admin.Call("GET", path, nil).Body), token)
		}
	}
}
