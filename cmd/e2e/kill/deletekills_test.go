package kill_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// domained is a server that is killed while the domain of a column changes.
type domained struct {
	killed
	killedTable
	// at is the domain of column state.
	at string
	// cut counts the changes that add found under way.
	cut int
}

// newDomained returns a server, not started, with a table on disk. Settings are variables of
// its environment.
func newDomained(t *testing.T, settings ...string) *domained {
	t.Helper()
	k := &domained{killed: killed{Program: harness.NewProgram(t)}}
	k.Env = append(k.Env, "LAKEWARDEN_RATE_PER_MINUTE=1000000", "LAKEWARDEN_RATE_BURST=100000", "LAKEWARDEN_LOG_LEVEL=warn")
	k.Env = append(k.Env, settings...)
	boot := k.JSON("bootstrap", "--org", "Acme", "--email", "admin@acme.example", "--json")
	k.key = boot["api_key"].(string)
	server, _ := k.Serve()
	admin := k.Client(k.key)
	schema := admin.OK("POST", harness.ConfigsPath, object{"configName": "main", "kind": "local", "root": "main",
		"workspaceId": boot["workspace_id"]})["schema"].(string)
	r := admin.Call("POST", "/v1/tables", object{"catalog": "lake", "schema": schema, "name": "t", "columns": list{
		harness.Col("id", "long"), harness.Col("state", "string")}})
	require.Equal(t, 201, r.Status, "%s", r.Body)
	k.path, k.sql = "/v1/tables/lake/"+schema+"/t", schema+".t"
	k.folder = filepath.Join(k.Dir, "data", "storage", "main", "t")
	k.tables, k.at = []killedTable{k.killedTable}, k.path+"/columns/state/domain"
	require.NoError(t, server.Process.Kill())
	require.Error(t, server.Wait())
	return k
}

// request sends a request whose reply does not matter.
func (k *domained) request(method, path, body string) {
	req, err := http.NewRequest(method, "http://"+k.Address+path, strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+k.key)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

// add adds a value when no change is under way any more, and returns it.
func (k *domained) add(t *testing.T, value object) object {
	t.Helper()
	var values list
	waited := false
	require.Eventually(t, func() bool {
		r := k.Client(k.key).Call("POST", k.at+"/values", value)
		if r.Status == http.StatusConflict {
			code, _ := r.Problem(t, http.StatusConflict)
			require.Equal(t, "value_change_running", code)
			waited = true
			return false
		}
		require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
		values = r.JSON(t)["domain"].(object)["allowed_values"].(list)
		return true
	}, 2*time.Minute, 20*time.Millisecond)
	if waited {
		k.cut++
	}
	return values[len(values)-1].(object)
}

// TestKillsDuringDeletionsLeaveNoRowOutside checks that a deletion of a value that a kill
// interrupts, while rows with the value arrive, is finished or withdrawn by the next start.
func TestKillsDuringDeletionsLeaveNoRowOutside(t *testing.T) {
	t.Parallel()
	k := newDomained(t)
	server, _ := k.Serve()
	k.Client(k.key).OK("PUT", k.at+"/fixed", object{"values": list{"other"}})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for n := range 6 {
		text := fmt.Sprintf("v%d", n)
		value := k.add(t, object{"value": text, "label": "label"})
		var requests sync.WaitGroup
		requests.Go(func() { k.request("POST", k.path+"/rows", `{"rows":[{"id":1,"state":"`+text+`"}]}`) })
		pause(t, random, 100)
		requests.Go(func() { k.request("DELETE", k.at+"/values/"+value["id"].(string), "") })
		pause(t, random, 250)
		require.NoError(t, server.Process.Kill())
		requests.Wait()
		_ = server.Wait()

		server, _ = k.Serve()
		k.add(t, object{"value": fmt.Sprint("kill ", n)})
		admin := k.Client(k.key)
		rows := admin.Rows("SELECT count(*) FROM " + k.sql + " WHERE state = '" + text + "'")[0].(list)[0].(float64)
		found := admin.OK("GET", k.at, nil)["domain"].(object)["allowed_values"].(list)
		if rows > 0 {
			require.Contains(t, found, value)
		}
	}
	t.Logf("deletions were found under way %d times", k.cut)
}

// pause waits for a random time.
func pause(t *testing.T, random *rand.Rand, ms int) {
	harness.Pause(t.Context(), time.Duration(random.IntN(ms*1000))*time.Microsecond)
}

// TestDeletionIsTakenOver checks that a deletion that is killed before it reads the rows is
// withdrawn if a row has the value, and finished otherwise.
func TestDeletionIsTakenOver(t *testing.T) {
	t.Parallel()
	k := newDomained(t)
	server, _ := k.Serve()
	admin := k.Client(k.key)
	admin.OK("PUT", k.at+"/fixed", object{"values": list{"other"}})
	value := k.add(t, object{"value": "v", "label": "label", "description": "description"})
	admin.OK("POST", k.path+"/rows", object{"rows": list{object{"id": 1, "state": "v"}}})
	logs, err := filepath.Glob(filepath.Join(k.folder, "_delta_log", "*.json"))
	require.NoError(t, err)
	raw, err := os.ReadFile(logs[len(logs)-1])
	require.NoError(t, err)
	var added []byte
	for line := range bytes.Lines(raw) {
		if bytes.HasPrefix(line, []byte(`{"add"`)) {
			added = append(added, line...)
		}
	}
	require.NotEmpty(t, added)
	admin.OK("POST", k.path+"/rows/delete", object{"where": "true"})
	store := k.OpenCatalog(t)
	org, ids := k.identities(t)
	for _, rows := range []float64{1, 0} {
		// The deletion waits for a write that is about to commit a row.
		lease, err := store.BeginWrite(t.Context(), catalog.NewWrite{Org: org, Table: ids[0], Kind: catalog.WriteRows})
		require.NoError(t, err)
		domains, err := store.TableDomains(t.Context(), org, ids[0])
		require.NoError(t, err)
		require.NoError(t, store.PublishWrite(t.Context(), lease, domains.Version))
		var deletion sync.WaitGroup
		deletion.Go(func() { k.request("DELETE", k.at+"/values/"+value["id"].(string), "") })
		require.Eventually(t, func() bool {
			r := admin.Call("POST", k.path+"/rows?dry_run=true", object{"rows": list{object{"id": 1, "state": "v"}}})
			return r.Status == http.StatusUnprocessableEntity
		}, time.Minute, 10*time.Millisecond, "the value is allowed while its deletion is under way")
		require.NoError(t, server.Process.Kill())
		deletion.Wait()
		_ = server.Wait()
		if rows > 0 {
			next := filepath.Join(k.folder, "_delta_log", fmt.Sprintf("%020d.json", len(logs)+1))
			require.NoError(t, os.WriteFile(next, added, 0o600))
		}
		require.NoError(t, store.EndWrite(t.Context(), lease))

		server, _ = k.Serve()
		k.add(t, object{"value": fmt.Sprint("after ", rows)})
		found := admin.OK("GET", k.at, nil)["domain"].(object)["allowed_values"].(list)
		require.Equal(t, rows, admin.Count(k.sql))
		if rows > 0 {
			require.Contains(t, found, value, "it is there as it was")
		} else {
			require.NotContains(t, found, value)
		}
		admin.OK("POST", k.path+"/rows/delete", object{"where": "true"})
	}
}
