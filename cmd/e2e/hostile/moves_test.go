package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestMovesDuringReadsAndWrites moves a table back and forth as fast as possible, while others
// read and write it. Every read is answered with the acknowledged rows, every write is
// acknowledged or refused because of the move, and exactly the acknowledged rows are there.
func TestMovesDuringReadsAndWrites(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Create("nomad", nil, harness.Col("id", "long"))
	id := s.Admin.OK("GET", s.TablePath("nomad"), nil)["configId"]
	if id == nil {
		for _, c := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any) {
			if c := c.(map[string]any); c["schema"] == s.Schema {
				id = c["configId"]
			}
		}
	}
	s.Admin.OK("PATCH", s.TablePath("nomad"), map[string]any{"name": "rover"}) // a name that survives moves

	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var acknowledged, refused, reads atomic.Int64
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			r := s.Admin.Call("POST", s.TablePath("rover")+"/rows", harness.RowsOf(map[string]any{"id": n}))
			var reply struct{ Code string }
			switch {
			case r.Status == 200:
				acknowledged.Add(1)
			case json.Unmarshal(r.Body, &reply) == nil && slices.Contains([]string{"table_moving", "commit_conflict"}, reply.Code):
				refused.Add(1)
			default:
				t.Errorf("write: %d %s", r.Status, r.Body)
			}
		}
	})
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				least := acknowledged.Load()
				r := s.Admin.Query("SELECT count(*) FROM " + s.Schema + ".rover")
				if r.Status != 200 {
					t.Errorf("read: %d %s", r.Status, r.Body)
					return
				}
				got := r.JSON(t)["rows"].([]any)[0].([]any)[0].(float64)
				if int64(got) < least {
					t.Errorf("%v rows, but %d were acknowledged", got, least)
				}
				reads.Add(1)
			}
		})
	}
	at := "nomad"
	for n := 0; n < 12 || acknowledged.Load() == 0 || reads.Load() == 0; n++ {
		to := fmt.Sprint("camp", n)
		r := s.Admin.Call("POST", "/v1/storages/move", map[string]any{
			"sourceConfigId": id, "sourcePath": at, "destinationConfigId": id, "destinationPath": to,
		})
		require.Equal(t, 200, r.Status, "%s", r.Body)
		at = to
	}
	stop()
	all.Wait()
	require.EqualValues(t, acknowledged.Load(), s.Admin.Count(s.Schema+".rover"))
	t.Logf("%d rows, %d refused, %d reads", acknowledged.Load(), refused.Load(), reads.Load())
}

// TestHostileMovePaths attacks the paths of moves. No reply contains a directory of the server.
func TestHostileMovePaths(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Create("target", nil, harness.Col("id", "long"))
	id := ""
	for _, c := range s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any) {
		if c := c.(map[string]any); c["schema"] == s.Schema {
			id = c["configId"].(string)
		}
	}
	for _, path := range []string{
		"..", "../..", "target/../..", "/etc", "//etc", "target//x", "./target", "target/.", "target/", "a\x00b", "a\nb", "file:///etc",
		"s3://bucket/key", "%2e%2e/x", `..\..`, ".hidden", "_delta_log", "p=1", "target/_delta_log", "target/part",
	} {
		for _, body := range []map[string]any{
			{"sourcePath": path, "destinationPath": "free"}, {"sourcePath": "target", "destinationPath": path},
		} {
			body["sourceConfigId"], body["destinationConfigId"] = id, id
			r := s.Admin.Call("POST", "/v1/storages/move", body)
			if r.Status == 200 { // an ordinary name
				require.NotContains(t, path, "..")
				s.Admin.OK("POST", "/v1/storages/move", map[string]any{
					"sourceConfigId": id, "sourcePath": path, "destinationConfigId": id, "destinationPath": "target",
				})
				continue
			}
			require.Contains(t, []int{400, 409, 422}, r.Status, "%q: %s", path, r.Body)
			require.NotContains(t, string(r.Body), s.Config.LocalRoots[0], "%q", path)
		}
	}
	require.EqualValues(t, 0, s.Admin.Count(s.Schema+".target"))
}
