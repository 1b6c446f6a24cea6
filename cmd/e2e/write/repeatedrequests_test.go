package write_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestARepeatedRequestIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	other := s.Create("other", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	send := func(path, key string, body any) harness.Reply {
		return s.Admin.Call("POST", path, body, "Idempotency-Key", key)
	}
	same := func(want, got harness.Reply) {
		t.Helper()
		require.Equal(t, 200, got.Status, "%s", got.Body)
		require.JSONEq(t, string(want.Body), string(got.Body))
	}
	row := harness.RowsOf(object{"id": 1, "n": 1})
	first := send(path+"/rows", "one", row)
	require.Equal(t, 200, first.Status, "%s", first.Body)
	same(first, send(path+"/rows", "one", row))
	for to, body := range map[string]any{path + "/rows": harness.RowsOf(object{"id": 2}), other + "/rows": row, path +
		"/rows/merge?on=id": row} {
		code, _ := send(to, "one", body).Problem(t, 422)
		require.Equal(t, "idempotency_key_reused", code)
	}
	updated := send(path+"/rows/update", "two", object{"where": "true", "set": object{"n": "n + 1"}})
	merged := send(path+"/rows/merge?on=id", "three", harness.RowsOf(object{"id": 1, "n": 5}, object{"id": 7}))
	require.Equal(t, 1.0, merged.JSON(t)["updated"])
	deleted := send(path+"/rows/delete", "four", object{"where": "id = 7"})
	s.Restart()
	repeat := func() {
		t.Helper()
		same(first, send(path+"/rows", "one", row))
		same(updated, send(path+"/rows/update", "two", object{"where": "true", "set": object{"n": "n + 1"}}))
		same(merged, send(path+"/rows/merge?on=id", "three", harness.RowsOf(object{"id": 1, "n": 5}, object{"id": 7})))
		same(deleted, send(path+"/rows/delete", "four", object{"where": "id = 7"}))
	}
	repeat()
	// A server that ended between a commit and its reply left the commit only.
	store, err := s.OpenCatalog(context.Background())
	require.NoError(t, err)
	forgotten, err := store.ForgetWriteKeys(context.Background(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 4, forgotten)
	require.NoError(t, store.Close())
	repeat()
	require.Equal(t, list{list{1.0, 5.0}}, s.Admin.Rows("SELECT * FROM "+s.Schema+".t"))

	replies := make(chan harness.Reply, 8)
	var group sync.WaitGroup
	for range cap(replies) {
		group.Go(func() { replies <- send(other+"/rows", "five", row) })
	}
	group.Wait()
	close(replies)
	versions := map[string]int{}
	for r := range replies {
		require.Equal(t, 200, r.Status, "%s", r.Body)
		versions[string(r.Body)]++
	}
	require.Len(t, versions, 1)
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".other"))
	require.Contains(t, []int{400, 422}, send(path+"/rows", strings.Repeat("k", 300), row).Status)
}

// TestTwinRequestsAmongOthersAreDoneOnce sends every change twice at the same time,
// under one key, while others change the table too.
func TestTwinRequestsAmongOthersAreDoneOnce(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "n": 0}, object{"id": 2, "n": 0}))
	const rounds = 4
	var group sync.WaitGroup
	for round := range rounds {
		for range 3 {
			group.Go(func() {
				r := s.Admin.Call("POST", path+"/rows/update", object{"where": "id = 1", "set": object{"n": "n + 1"}}, "Idempotency-Key", "round"+
					strconv.Itoa(round))
				require.Contains(t, []int{200, 409}, r.Status, "%s", r.Body)
			})
		}
		group.Go(func() {
			s.Admin.Call("POST", path+"/rows/update", object{"where": "id = 2", "set": object{"n": "n + 1"}})
		})
		group.Wait()
		require.Equal(t, list{list{float64(round + 1)}}, s.Admin.Rows("SELECT n FROM "+s.Schema+".t WHERE id = 1"), "round %d", round)
	}
}
