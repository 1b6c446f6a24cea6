package hostile_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestAttachesDuringReadsAndWrites moves a configuration between two workspaces as fast as
// possible, while members of each read and write its table. Every reply is an answer or one
// of the documented refusals, and exactly the acknowledged rows are in the table.
func TestAttachesDuringReadsAndWrites(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	spaces := "/v1/organisations/" + s.Boot.OrganisationID + "/workspaces"
	harness.WriteTable(t, filepath.Join(s.Config.LocalRoots[0], "moving", "t"), `SELECT 0 AS id`, nil, column{"id", "long"})
	made := s.Admin.OK("POST", harness.ConfigsPath, map[string]any{"configName": "moving", "kind": "local", "root": "moving"})
	config, schema := harness.ConfigsPath+"/"+made["configId"].(string), made["schema"].(string)
	var members []*harness.Client
	var homes []string
	for _, name := range []string{"one", "two"} {
		home := s.Admin.OK("POST", spaces, map[string]any{"name": name})["id"].(string)
		member := s.Member(name+"@acme.example", "editor", nil)
		s.Admin.OK("PUT", spaces+"/"+home+"/members/"+member.User, map[string]any{"role": "editor"})
		members, homes = append(members, member), append(homes, home)
	}

	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var acknowledged, answered, refused atomic.Int64
	judge := func(status int, body []byte, allowed ...string) bool {
		if status == 200 {
			answered.Add(1)
			return true
		}
		refused.Add(1)
		var reply struct{ Code string }
		if err := json.Unmarshal(body, &reply); err != nil || !slices.Contains(allowed, reply.Code) {
			t.Errorf("%d %s", status, body)
		}
		return false
	}
	for _, m := range members {
		all.Go(func() {
			for ctx.Err() == nil {
				sql := map[string]any{"sql": "SELECT count(*) FROM " + schema + ".t"}
				a, err := m.Answer(0, harness.Ask{Method: "POST", Path: "/v1/query", Body: sql})
				switch {
				case harness.Cancelled(err): // a reply that has begun is cut off
					refused.Add(1)
				case err != nil:
					t.Error(err)
				default:
					judge(a.Status, []byte(a.Body), "table_not_found", "query_cancelled")
				}
			}
		})
		all.Go(func() {
			for ctx.Err() == nil {
				r := m.Call("POST", "/v1/tables/lake/"+schema+"/t/rows", harness.RowsOf(map[string]any{"id": 1}))
				if judge(r.Status, r.Body, "not_found", "query_cancelled") {
					acknowledged.Add(1)
				}
			}
		})
	}
	// An even number of changes, during which all of it was seen.
	for i := 0; i < 40 || i%2 == 1 || acknowledged.Load() == 0 || refused.Load() == 0 || answered.Load() <= 20; i++ {
		s.Admin.OK("POST", config+"/attach", map[string]any{"workspaceId": homes[i%2]})
		if i%3 == 0 {
			s.Admin.OK("POST", config+"/promote-undo", nil)
			s.Admin.OK("POST", config+"/attach", map[string]any{"workspaceId": homes[i%2]})
		}
		harness.Pause(t.Context(), 100*time.Millisecond*time.Duration(1+i/40)) // longer if nobody gets anything done
	}
	stop()
	all.Wait()
	t.Logf("%d answers, %d refusals, %d rows", answered.Load(), refused.Load(), acknowledged.Load())
	sql := "SELECT count(*) FROM " + schema + ".t"
	require.NotEqual(t, 200, members[0].Call("POST", "/v1/query", map[string]any{"sql": sql}).Status, "the other workspace was the last")
	require.Len(t, members[1].Rows(sql), 1)
	require.Equal(t, []any{[]any{float64(acknowledged.Load() + 1)}}, s.Admin.Rows("SELECT count(*) FROM "+schema+".t"))
}
