//go:build clients

package clients_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// known checks what a client has learned of the person, and what its tokens were good for.
func (w *world) known(t *testing.T, got object) {
	t.Helper()
	require.Equal(t, w.ana.User, got["claims"].(object)["sub"])
	person := got["person"].(object)
	require.Equal(t, w.ana.User, person["sub"])
	require.Equal(t, email, person["email"])
	require.Equal(t, true, person["email_verified"])
	me := got["me"].(object)
	require.EqualValues(t, http.StatusOK, me["status"], "%v", me)
	require.Equal(t, w.ana.User, me["body"].(object)["userId"])
	require.Equal(t, w.Boot.OrganisationID, me["body"].(object)["organisationId"])
	require.EqualValues(t, http.StatusUnauthorized, got["revoked"], "the client has revoked its tokens")
}

func TestOpenIDClient(t *testing.T) {
	w := newWorld(t)
	got := w.run(t, node(t), "openidclient.mjs", w.allow(t, "openid-client", "Acme", "Learn who you are"))
	w.known(t, got)
	require.Equal(t, "openid org:read", got["scope"])
	require.Equal(t, w.ana.User, got["refreshed"].(object)["sub"])
	require.Equal(t, true, got["introspected"].(object)["active"])
	require.Equal(t, "openid org:read", got["introspected"].(object)["scope"])
}

func TestOAuth4WebAPI(t *testing.T) {
	w := newWorld(t)
	w.open()
	got := w.run(t, node(t), "oauth4webapi.mjs", w.allow(t, "Nobody has checked this program", "oauth4webapi", "Acme", "Learn who you are"))
	w.known(t, got)
	require.Equal(t, true, got["same"], "one description")
	require.Equal(t, "org:read tables:read", got["registered"])
	require.Equal(t, "openid org:read", got["scope"])
}

func TestAuthlib(t *testing.T) {
	w := newWorld(t)
	w.open()
	python, err := oracletest.Path("LAKEWARDEN_TEST_PYTHON", "venv/bin/python")
	require.NoError(t, err)
	got := w.run(t, python, "authlib_client.py", w.allow(t, "Nobody has checked this program", "authlib", "Acme"))
	w.known(t, got)
	require.Equal(t, "openid org:read", got["scope"])
}

func TestMCP(t *testing.T) {
	w := newWorld(t)
	w.open()
	got := w.run(t, node(t), "mcp.mjs", w.allow(t, "Nobody has checked this program", "MCP client", "on this computer", "Acme"))
	require.Equal(t, list{"REDIRECT", "AUTHORIZED", "AUTHORIZED"}, got["steps"])
	require.NotContains(t, got["scope"], "users:write")
	require.Contains(t, got["scope"], "tables:query")
	me := got["me"].(object)
	require.EqualValues(t, http.StatusOK, me["status"], "%v", me)
	require.Equal(t, w.Boot.OrganisationID, me["body"].(object)["organisationId"])

	got = w.run(t, node(t), "mcp.mjs", func(address string) string { return w.decide(t, address, "deny") })
	require.Equal(t, list{"REDIRECT"}, got["steps"])
	require.Equal(t, "access_denied", got["error"])
}

func TestMCPWithADocument(t *testing.T) {
	w := newWorld(t)
	w.open()
	publisher := httptest.NewTLSServer(http.HandlerFunc(func(reply http.ResponseWriter, _ *http.Request) {
		reply.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(reply).Encode(object{"client_id": w.document, "client_name": "Published", "token_endpoint_auth_method": "none",
			"redirect_uris": list{"http://127.0.0.1/callback"}, "grant_types": list{"authorization_code", "refresh_token"}})
	}))
	t.Cleanup(publisher.Close)
	w.document = publisher.URL + "/client.json"
	got := w.run(t, node(t), "mcp.mjs", w.allow(t, "Nobody has checked this program", "Published", publisher.Listener.Addr().String()))
	require.Equal(t, list{"REDIRECT", "AUTHORIZED", "AUTHORIZED"}, got["steps"])
	require.Equal(t, w.document, got["client"])
	require.EqualValues(t, http.StatusOK, got["me"].(object)["status"])
}
