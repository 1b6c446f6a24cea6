package kill_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKillsDuringRenamesLeaveOneText checks that a rename of a value that a kill
// interrupts is finished by the next start or was never begun. Afterwards the domain and
// all rows have the same text, and writes with any other text are refused.
func TestKillsDuringRenamesLeaveOneText(t *testing.T) {
	t.Parallel()
	k := newDomained(t)
	server, _ := k.Serve()
	admin, at := k.Client(k.key), k.at
	value := admin.OK("PUT", at+"/fixed", object{"values": list{"v0", "other"}})["domain"].(object)["allowed_values"].(list)[0].(object)
	rows := list{}
	for i := range 2000 {
		rows = append(rows, object{"id": i, "state": "v0"})
	}
	admin.OK("POST", k.path+"/rows", object{"rows": rows})
	change := at + "/values/" + value["id"].(string)

	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for n := 1; n <= 8; n++ {
		var rename sync.WaitGroup
		rename.Go(func() { k.request("PATCH", change, fmt.Sprintf(`{"value":"v%d"}`, n)) })
		pause(t, random, 250)
		require.NoError(t, server.Process.Kill())
		rename.Wait()
		_ = server.Wait()

		server, _ = k.Serve()
		admin = k.Client(k.key)
		k.add(t, object{"value": fmt.Sprintf("kill %d", n)})
		text := admin.OK("GET", at, nil)["domain"].(object)["allowed_values"].(list)[0].(object)["value"]
		require.Equal(t, list{list{text, 2000.0}}, admin.Rows("SELECT state, count(*) FROM "+k.sql+" GROUP BY state"))
		for m := range n + 1 {
			if other := fmt.Sprintf("v%d", m); other != text {
				r := admin.Call("POST", k.path+"/rows?dry_run=true", object{"rows": list{object{"id": 1, "state": other}}})
				require.Equal(t, http.StatusUnprocessableEntity, r.Status, "%s", r.Body)
			}
		}
		admin.OK("PATCH", change, object{"value": fmt.Sprintf("v%d", n)})
	}
	t.Logf("renames were found under way %d times", k.cut)
}
