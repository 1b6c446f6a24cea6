package storage_test

import (
	"encoding/base64"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// incompressible returns rows with about n bytes of random text.
func incompressible(n int) map[string]any {
	var rows []any
	var source [32]byte
	for i := range source {
		source[i] = byte(rand.Uint32())
	}
	random := rand.NewChaCha8(source)
	for ; n > 0; n -= 4096 {
		raw := make([]byte, 3072)
		_, _ = random.Read(raw)
		rows = append(rows, map[string]any{"v": base64.StdEncoding.EncodeToString(raw)})
	}
	return harness.RowsOf(rows...)
}

func TestSandbox(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.SandboxQuota = 1 })
	org := "/v1/organisations/" + s.Boot.OrganisationID
	editor, other := s.Member("editor@acme.example", "editor", nil), s.Member("other@acme.example", "editor", nil)
	viewer := s.Member("viewer@acme.example", "viewer", nil)
	define := func(name, schema string) map[string]any {
		return map[string]any{"catalog": "lake", "schema": schema, "name": name, "columns": []any{map[string]any{"name": "v", "type": "string"}}}
	}
	code, _ := editor.Call("POST", "/v1/tables", define("t", "sandbox")).Problem(t, 404)
	require.Equal(t, "not_found", code, "the feature is off")

	s.Admin.OK("PATCH", org+"/config", map[string]any{"sandbox_enabled": true})
	s.Admin.OK("PATCH", org+"/config", map[string]any{"sandbox_enabled": true})
	var config map[string]any
	for _, c := range editor.OK("GET", "/v1/storages/configs", nil)["configs"].([]any) {
		if c := c.(map[string]any); c["sandbox"] == true {
			require.Nil(t, config, "there is one")
			config = c
		}
	}
	require.NotNil(t, config)
	require.Equal(t, map[string]any{}, config["settings"], "no directory of the server")
	at := "/v1/storages/configs/" + config["configId"].(string)
	code, _ = s.Admin.Call("PATCH", at, map[string]any{"configName": "mine"}).Problem(t, 409)
	require.Equal(t, "sandbox_config", code)
	code, _ = s.Admin.Call("DELETE", at, nil).Problem(t, 409)
	require.Equal(t, "sandbox_config", code)

	// Editors create tables there and nowhere else.
	editor.OK("POST", "/v1/tables", define("a", "sandbox"))
	editor.OK("POST", "/v1/tables", define("b", "sandbox"))
	other.OK("POST", "/v1/tables", define("c", "sandbox"))
	editor.Call("POST", "/v1/tables", define("x", s.Schema)).Problem(t, 403)
	viewer.Call("POST", "/v1/tables", define("x", "sandbox")).Problem(t, 403)
	key, _ := s.Admin.NewKey(map[string]any{"scopes": []string{"tables:read", "rows:insert"}})
	key.OK("POST", "/v1/tables", define("d", "sandbox"))
	key.Call("POST", "/v1/tables", define("d", s.Schema)).Problem(t, 403)
	path := func(name string) string { return "/v1/tables/lake/sandbox/" + name }

	// Eight writes of more than a third of the quota each: two fit, whatever their tables.
	statuses := make([]harness.Reply, 8)
	var all sync.WaitGroup
	for i := range statuses {
		body, name := incompressible(600<<10), []string{"a", "b"}[i%2]
		all.Go(func() { statuses[i] = editor.Call("POST", path(name)+"/rows", body) })
	}
	all.Wait()
	written := 0
	for _, r := range statuses {
		if r.Status < 300 {
			written++
			continue
		}
		code, _ := r.Problem(t, 422)
		require.Equal(t, "quota_exceeded", code)
	}
	require.Equal(t, 2, written)
	rows := editor.Rows("SELECT (SELECT count(*) FROM sandbox.a) + (SELECT count(*) FROM sandbox.b)")
	require.Equal(t, []any{[]any{float64(2 * 150)}}, rows, "refused writes left nothing")
	other.OK("POST", path("a")+"/rows/delete", map[string]any{"where": "TRUE"})
	other.OK("POST", path("b")+"/rows/delete", map[string]any{"where": "TRUE"})
	editor.OK("POST", path("a")+"/rows", incompressible(600<<10))
	other.OK("POST", path("c")+"/rows", incompressible(600<<10))

	// Switched off, nothing resolves; switched on again, everything is back.
	s.Admin.OK("PATCH", org+"/config", map[string]any{"sandbox_enabled": false})
	for _, c := range []*harness.Client{s.Admin, editor} {
		c.Call("GET", at, nil).Problem(t, 404)
		c.Call("GET", path("a"), nil).Problem(t, 404)
		c.Call("POST", path("a")+"/rows", incompressible(1)).Problem(t, 404)
		code, _ := c.Query("SELECT * FROM sandbox.a").Problem(t, 400)
		require.Equal(t, "table_not_found", code)
	}
	s.Restart()
	s.Admin.OK("PATCH", org+"/config", map[string]any{"sandbox_enabled": true})
	again := s.Client(editor.Key, editor.User)
	require.Equal(t, []any{[]any{150.0}}, again.Rows("SELECT count(*) FROM sandbox.a"))
}
