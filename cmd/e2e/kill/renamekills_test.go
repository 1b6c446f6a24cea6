package kill_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestKillsDuringRenamesLeaveOneText: a rename of a value that is cut off by a kill is
// finished by the next start, or was never begun. Then the domain and all rows have the same
// text, and writes with any other are refused.
func TestKillsDuringRenamesLeaveOneText(t *testing.T) {
	k := &killed{Program: harness.NewProgram(t)}
	k.Env = append(k.Env, "LAKEWARDEN_RATE_PER_MINUTE=1000000", "LAKEWARDEN_RATE_BURST=100000", "LAKEWARDEN_LOG_LEVEL=warn")
	boot := k.JSON("bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")
	server, _ := k.Serve()
	admin := k.Client(boot["api_key"].(string))
	schema := admin.OK("POST", harness.ConfigsPath, object{"configName": "main", "kind": "local", "root": "main",
		"workspaceId": boot["workspace_id"]})["schema"].(string)
	r := admin.Call("POST", "/v1/tables", object{"catalog": "lake", "schema": schema, "name": "t", "columns": list{
		harness.Col("id", "long"), harness.Col("state", "string")}})
	require.Equal(t, 201, r.Status, "%s", r.Body)
	path := "/v1/tables/lake/" + schema + "/t"
	at := path + "/columns/state/domain"
	value := admin.OK("PUT", at+"/fixed", object{"values": list{"v0", "other"}})["domain"].(object)["allowed_values"].(list)[0].(object)
	rows := list{}
	for i := range 2000 {
		rows = append(rows, object{"id": i, "state": "v0"})
	}
	admin.OK("POST", path+"/rows", object{"rows": rows})
	change := at + "/values/" + value["id"].(string)

	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	cut := 0
	for n := 1; n <= 8; n++ {
		var rename sync.WaitGroup
		rename.Go(func() {
			req, err := http.NewRequest(http.MethodPatch, admin.URL+change, strings.NewReader(fmt.Sprintf(`{"value":"v%d"}`, n)))
			if err != nil {
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+admin.Key)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		})
		harness.Pause(t.Context(), time.Duration(random.IntN(250_000))*time.Microsecond)
		require.NoError(t, server.Process.Kill())
		rename.Wait()
		_ = server.Wait()

		server, _ = k.Serve()
		admin = k.Client(boot["api_key"].(string))
		require.Eventually(t, func() bool {
			r := admin.Call("POST", at+"/values", object{"value": fmt.Sprintf("kill %d", n)})
			if r.Status == http.StatusConflict {
				code, _ := r.Problem(t, http.StatusConflict)
				require.Equal(t, "value_change_running", code)
				cut++
				return false
			}
			require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
			return true
		}, 30*time.Second, 20*time.Millisecond)
		text := admin.OK("GET", at, nil)["domain"].(object)["allowed_values"].(list)[0].(object)["value"]
		require.Equal(t, list{list{text, 2000.0}}, admin.Rows("SELECT state, count(*) FROM "+schema+".t GROUP BY state"))
		for m := range n + 1 {
			if other := fmt.Sprintf("v%d", m); other != text {
				r := admin.Call("POST", path+"/rows?dry_run=true", object{"rows": list{object{"id": 1, "state": other}}})
				require.Equal(t, http.StatusUnprocessableEntity, r.Status, "%s", r.Body)
			}
		}
		admin.OK("PATCH", change, object{"value": fmt.Sprintf("v%d", n)})
	}
	t.Logf("renames were found under way %d times", cut)
}
