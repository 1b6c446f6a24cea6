package kill_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// find returns an allowed value by its text, or nil.
func (k *domained) find(c *harness.Client, text string) object {
	values := c.OK("GET", k.at, nil)["domain"].(object)["allowed_values"].(list)
	i := slices.IndexFunc(values, func(v any) bool { return v.(object)["value"] == text })
	if i < 0 {
		return nil
	}
	return values[i].(object)
}

// fill sets a domain and writes 2,000 rows with the first of its values.
func (k *domained) fill(c *harness.Client, values ...string) {
	c.OK("PUT", k.at+"/fixed", object{"values": values})
	rows := list{}
	for i := range 2000 {
		rows = append(rows, object{"id": i, "state": values[0]})
	}
	c.OK("POST", k.path+"/rows", object{"rows": rows})
}

// holds checks that all rows have one value, and that no row with another one may be written.
func (k *domained) holds(t *testing.T, c *harness.Client, value, other string) {
	t.Helper()
	require.Equal(t, list{list{value, 2000.0}}, c.Rows("SELECT state, count(*) FROM "+k.sql+" GROUP BY state"))
	r := c.Call("POST", k.path+"/rows?dry_run=true", object{"rows": list{object{"id": 1, "state": other}}})
	require.Equal(t, http.StatusUnprocessableEntity, r.Status, "%s", r.Body)
}

// TestKillsDuringReplacementsLeaveOneValue: a deletion of a value whose rows get another one,
// cut off by a kill, is finished by the next start, or was never begun.
func TestKillsDuringReplacementsLeaveOneValue(t *testing.T) {
	t.Parallel()
	k := newDomained(t)
	server, _ := k.Serve()
	admin := k.Client(k.key)
	k.fill(admin, "v0", "v1", "v2", "v3", "v4", "v5", "v6")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for n := range 6 {
		from, to := fmt.Sprint("v", n), fmt.Sprint("v", n+1)
		change := k.at + "/values/" + k.find(admin, from)["id"].(string) + "?replace_with=" + to
		var replacement sync.WaitGroup
		replacement.Go(func() { k.request("DELETE", change, "") })
		pause(t, random, 250)
		require.NoError(t, server.Process.Kill())
		replacement.Wait()
		_ = server.Wait()

		server, _ = k.Serve()
		admin = k.Client(k.key)
		k.add(t, object{"value": fmt.Sprint("kill ", n)})
		if k.find(admin, from) != nil {
			k.holds(t, admin, from, "none")
			admin.OK("DELETE", change, nil)
		}
		k.holds(t, admin, to, from)
	}
	t.Logf("replacements were found under way %d times", k.cut)
}

// TestAnotherReplicaFinishesAReplacement: the change of a server that does not come back is
// finished by one that has been running all the time, on one catalog in Postgres.
func TestAnotherReplicaFinishesAReplacement(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	dir := t.TempDir()
	shared := []string{"LAKEWARDEN_DATABASE_URL=" + url, "LAKEWARDEN_KEY_FILE=" + filepath.Join(dir, "keys.json"),
		"LAKEWARDEN_LOCAL_ROOTS=" + filepath.Join(dir, "tables")}
	k := newDomained(t, shared...)
	server, _ := k.Serve()
	other := harness.NewProgram(t)
	other.Env = append(other.Env, shared...)
	other.Serve()
	there := other.Client(k.key)
	k.fill(k.Client(k.key), "from", "to")
	from := k.find(there, "from")["id"].(string)

	// The replacement waits for a write that is about to commit.
	store, err := harness.OpenCatalog(t.Context(), config.Settings{DatabaseURL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	org, tables := k.identities(t)
	lease, err := store.BeginWrite(t.Context(), catalog.NewWrite{Org: org, Table: tables[0], Kind: catalog.WriteRows})
	require.NoError(t, err)
	domains, err := store.TableDomains(t.Context(), org, tables[0])
	require.NoError(t, err)
	require.NoError(t, store.PublishWrite(t.Context(), lease, domains.Version))
	var replacement sync.WaitGroup
	replacement.Go(func() { k.request("DELETE", k.at+"/values/"+from+"?replace_with=to", "") })
	require.Eventually(t, func() bool {
		r := there.Call("POST", k.path+"/rows?dry_run=true", object{"rows": list{object{"id": 1, "state": "from"}}})
		return r.Status == http.StatusUnprocessableEntity
	}, time.Minute, 10*time.Millisecond, "the value is allowed while its replacement is under way")
	code, _ := there.Call("POST", k.at+"/values", object{"value": "new"}).Problem(t, http.StatusConflict)
	require.Equal(t, "value_change_running", code)
	require.NoError(t, server.Process.Kill())
	replacement.Wait()
	_ = server.Wait()
	require.NoError(t, store.EndWrite(t.Context(), lease))

	begun := time.Now()
	require.Eventually(t, func() bool {
		r := there.Call("POST", k.at+"/values", object{"value": "new"})
		return r.Status == http.StatusOK
	}, 5*time.Minute, 100*time.Millisecond)
	t.Logf("finished after %s", time.Since(begun).Round(time.Second))
	require.Nil(t, k.find(there, "from"))
	k.holds(t, there, "to", "from")
}
