package storage_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/provider/providertest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

func TestProviderLinks(t *testing.T) {
	server := providertest.New(t)
	people := harness.NewSigner(t)
	s := harness.Start(t, func(c *harness.Settings) {
		people.Trust(c)
		c.AllowPrivateEndpoints = true
		c.Providers = map[string]config.Provider{"provider_two": {Issuer: server.URL, Permissions: []string{"storage"},
			AdminConsentURL: server.URL + "/consent?client_id={client_id}"}}
	})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	app := org + "/provider-apps/provider_two"
	key := s.Member("viewer@acme.example", "viewer", nil)
	viewer := people.Person(s, key.User, s.Boot.OrganisationID)
	other := people.Person(s, s.Member("other@acme.example", "viewer", nil).User, s.Boot.OrganisationID)
	admin := people.Person(s, s.Boot.UserID, s.Boot.OrganisationID)
	credentials := map[string]any{"clientId": providertest.ClientID, "clientSecret": providertest.ClientSecret}

	viewer.Call("POST", app, credentials).Problem(t, 403)
	viewer.Call("GET", app, nil).Problem(t, 403)
	viewer.Call("GET", app+"/link", nil).Problem(t, 404)
	code, _ := key.Call("GET", app+"/link", nil).Problem(t, 403)
	require.Equal(t, "sign_in_required", code, "an API key is not the person")
	made := s.Admin.OK("POST", app, credentials)
	for _, reply := range []map[string]any{made, s.Admin.OK("GET", app, nil), s.Admin.OK("POST", app, credentials)} {
		text, err := json.Marshal(reply)
		require.NoError(t, err)
		require.NotContains(t, string(text), "client secret", "write-only")
		require.Equal(t, "provider_two", reply["provider"])
		require.Equal(t, providertest.ClientID, reply["clientId"])
		require.Equal(t, server.URL+"/consent?client_id="+url.QueryEscape(providertest.ClientID), reply["adminConsentUrl"])
		require.Equal(t, []any{"storage"}, reply["requiredDelegatedPermissions"])
		require.Nil(t, reply["tenant"])
		require.Equal(t, made["createdAt"], reply["createdAt"])
	}
	for name, c := range map[string]struct {
		provider string
		body     map[string]any
		status   int
		field    string
	}{
		"unknown provider":   {"provider_four", credentials, 404, ""},
		"tenant is missing":  {"provider_three", credentials, 422, "tenant"},
		"tenant not wanted":  {"provider_one", map[string]any{"clientId": "c", "clientSecret": "s", "tenant": "t"}, 422, "tenant"},
		"tenant as path":     {"provider_three", map[string]any{"clientId": "c", "clientSecret": "s", "tenant": "../x"}, 422, "tenant"},
		"no secret":          {"provider_one", map[string]any{"clientId": "c", "clientSecret": ""}, 422, "clientSecret"},
		"no client":          {"provider_one", map[string]any{"clientId": "", "clientSecret": "s"}, 422, "clientId"},
		"unknown field":      {"provider_one", map[string]any{"clientId": "c", "clientSecret": "s", "x": 1}, 422, "x"},
		"secret with a line": {"provider_one", map[string]any{"clientId": "c", "clientSecret": "a\nb"}, 422, "clientSecret"},
	} {
		_, fields := s.Admin.Call("POST", org+"/provider-apps/"+c.provider, c.body).Problem(t, c.status)
		if c.field != "" {
			require.Len(t, fields, 1, name)
			require.True(t, harness.NamesField(fields, c.field), "%s: %v", name, fields)
		}
	}
	require.Len(t, s.Admin.OK("GET", org+"/provider-apps", nil)["providerApps"], 1)

	// A member links; the browser that comes back must be the one that started.
	b, victim := harness.NewBrowser(t), harness.NewBrowser(t)
	begin := func() *url.URL {
		started := b.Open(s.URL+app+"/link", "Authorization", "Bearer "+viewer.Key)
		require.Equal(t, http.StatusOK, started.Status, "%s", started.Body)
		back := server.Approve(t, started.JSON(t)["authorizationUrl"].(string))
		require.True(t, strings.HasSuffix(back.Path, "/v1/auth/provider/callback"), back.Path)
		own, err := url.Parse(s.URL)
		require.NoError(t, err)
		back.Scheme, back.Host = own.Scheme, own.Host // the port was chosen after public_url
		return back
	}
	back := begin()
	code, _ = victim.Open(back.String()).Problem(t, 403)
	require.Equal(t, "link_not_confirmed", code)
	linked := b.Open(back.String())
	require.Equal(t, http.StatusOK, linked.Status, "%s", linked.Body)
	require.Equal(t, "no-store", linked.Header.Get("Cache-Control"))
	require.Equal(t, "linked", linked.JSON(t)["status"])
	require.NotContains(t, string(linked.Body), "access ")
	code, _ = b.Open(back.String()).Problem(t, 400)
	require.Equal(t, "invalid_state", code, "replayed")
	wrong := begin()
	q := wrong.Query()
	q.Set("iss", "https://other.example")
	wrong.RawQuery = q.Encode()
	code, _ = b.Open(wrong.String()).Problem(t, 422)
	require.Equal(t, "provider_refused", code)

	links := viewer.OK("GET", org+"/provider-links", nil)["links"].([]any)
	require.Len(t, links, 1)
	require.Equal(t, "subject-1", links[0].(map[string]any)["subject"])
	require.Empty(t, other.OK("GET", org+"/provider-links", nil)["links"])
	other.Call("DELETE", app+"/link", nil).Problem(t, 404)
	viewer.OK("DELETE", app+"/link", nil)
	require.Equal(t, 1, server.Revoked())
	require.Empty(t, viewer.OK("GET", org+"/provider-links", nil)["links"])

	// Removal of the application ends the links; the feature switches everything off.
	require.Equal(t, http.StatusOK, b.Open(begin().String()).Status)
	s.Admin.OK("DELETE", app, nil)
	require.Empty(t, viewer.OK("GET", org+"/provider-links", nil)["links"])
	s.Admin.OK("PATCH", org+"/config", map[string]any{"features": []any{map[string]any{"key": "delegated_storage", "enabled": false}}})
	for _, route := range []string{"POST " + app, "GET " + app, "DELETE " + app, "GET " + org + "/provider-apps", "GET " + app + "/link",
		"DELETE " + app + "/link", "GET " + org + "/provider-links"} {
		method, path, _ := strings.Cut(route, " ")
		var body any
		if method == "POST" {
			body = credentials
		}
		code, _ := admin.Call(method, path, body).Problem(t, 403)
		require.Equal(t, "feature_disabled", code, route)
	}
	require.NotContains(t, s.Log.String(), providertest.ClientSecret)
}
