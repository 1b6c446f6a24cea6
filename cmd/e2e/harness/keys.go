package harness

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
)

// NewKey creates a key for the client's user and returns a client that uses it,
// with the key's record.
func (c *Client) NewKey(body map[string]any) (*Client, map[string]any) {
	c.T.Helper()
	if body["name"] == nil {
		body["name"] = "test"
	}
	r := c.Call("POST", "/v1/api-keys", body)
	require.Equal(c.T, http.StatusCreated, r.Status, "%s", r.Body)
	made := r.JSON(c.T)
	return &Client{T: c.T, URL: c.URL, Key: made["key"].(string), User: c.User}, made["api_key"].(map[string]any)
}

// ScopesOf returns the scopes of a key's record.
func ScopesOf(t testing.TB, record map[string]any) []string {
	t.Helper()
	var out []string
	for _, s := range record["scopes"].([]any) {
		out = append(out, s.(string))
	}
	return out
}

// Scopes of each role.
var (
	ViewerScopes  = []string{"org:read", "tables:read", "tables:query", "domains:read", "storage:read"}
	EditorScopes  = append(append([]string{}, ViewerScopes...), "rows:insert", "rows:update", "rows:delete")
	BuilderScopes = append(append([]string{}, EditorScopes...), "tables:create", "tables:modify", "domains:write", "storage:write",
		"storage:configure", "storage_configs:share", "rls_policies:read", "apikeys:create")
	AdminScopes = append(append([]string{}, BuilderScopes...), "rls_policies:write", "provider_apps:write", "org:update", "users:write")
)

// MakeKeyIn makes a key with every scope that reaches a workspace.
func MakeKeyIn(ctx context.Context, store catalog.Store, org, user, workspace string) (string, error) {
	key := apikey.Generate()
	_, err := store.CreateAPIKey(ctx, catalog.NewAPIKey{
		Org: catalog.OrgID(org), User: catalog.UserID(user), Workspace: catalog.WorkspaceID(workspace), Name: "in workspace",
		Prefix: key.Prefix(), Hash: key.Hash(), Scopes: auth.AllScopes().Strings(), ExpiresAt: time.Now().Add(time.Hour),
	})
	return key.Reveal(), err
}
