package query_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// otherOrganisation makes a second organisation with an administrator and a
// table of ten rows, and returns the administrator and a statement.
func otherOrganisation(s *harness.Server) (*harness.Client, string) {
	s.T.Helper()
	admin, boot := s.Organisation("globex")
	root := strings.ReplaceAll(s.Config.LocalRoots[1], "{org}", boot.OrganisationID)
	harness.WriteTable(s.T, filepath.Join(root, "globex", "few"), "SELECT i AS id FROM range(10) t(i)", nil, column{"id", "long"})
	made := admin.OK("POST", "/v1/storages/configs", map[string]any{"configName": "globex", "kind": "local",
		"root": filepath.Join(root, "globex"), "workspaceId": boot.WorkspaceID})
	admin.OK("POST", "/v1/storages/configs/"+made["configId"].(string)+"/discover", nil)
	return admin, "SELECT count(*) FROM " + made["schema"].(string) + ".few"
}

// TestOneUserDoesNotStarveAnotherOrganisation floods the server from one user.
func TestOneUserDoesNotStarveAnotherOrganisation(t *testing.T) {
	s, users := harness.NewSoak(t, func(c *harness.Settings) {
		c.MaxRunning, c.MaxQueued, c.Memory, c.Lease, c.Threads = 4, 60, 1024, 256, 1
		c.LocalRoots = append(c.LocalRoots, filepath.Join(c.DataDir, "orgs", "{org}"))
	})
	other, sql := otherOrganisation(s)
	alone := times(t, other, sql, 40)

	slow := "SELECT count(*) FROM " + s.Schema + ".sales a, " + s.Schema + ".sales b WHERE a.amount * b.amount = 7"
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var answered atomic.Int64
	var mu sync.Mutex
	var refusals []time.Duration
	errs := make([]error, 100)
	for i := range errs {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				start, stalls := time.Now(), enginetest.WatchStalls(0)
				got, err := users[0].Answer(i*1000+n, harness.Ask{Method: "POST", Path: "/v1/query",
					Body: map[string]any{"sql": slow, "timeout_ms": 400}})
				took := time.Since(start) - stalls()
				switch {
				case err != nil:
					errs[i] = err
					return
				case got.Status == http.StatusUnprocessableEntity:
					answered.Add(1)
				case got.Status == http.StatusServiceUnavailable:
					mu.Lock()
					refusals = append(refusals, took)
					mu.Unlock()
					if wait, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || wait < 1 {
						errs[i] = fmt.Errorf("a refusal without Retry-After: %v", got.Header)
						return
					}
					// As a client does, but sooner.
					harness.Pause(ctx, 100*time.Millisecond)
				default:
					errs[i] = fmt.Errorf("%d %s", got.Status, got.Body)
					return
				}
			}
		})
	}
	require.Eventually(t, func() bool { return s.Metric(t, `lakewarden_sessions{state="queued"}`) >= 12 }, time.Minute, 10*time.Millisecond,
		"the flood has begun")
	flooded := times(t, other, sql, 40)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(refusals) > 0 && answered.Load() > 0
	}, time.Minute, 10*time.Millisecond, "the queue is full, and statements end")
	stop()
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	slices.Sort(refusals)
	t.Logf("flood: %d ended, %d refused after p50 %v p95 %v", answered.Load(), len(refusals), at(refusals, 50), at(refusals, 95))
	t.Logf("other organisation: alone p50 %v p95 %v, in the flood p50 %v p95 %v", at(alone, 50), at(alone, 95), at(flooded, 50),
		at(flooded, 95))
	// A turn comes when one of four running statements ends, 400 ms at most.
	require.Less(t, at(flooded, 95), 1500*time.Millisecond)
	require.Less(t, at(refusals, 95), 3*time.Second)
	s.Quiet(t)
}

// times runs a statement n times and returns how long each took without the stalls of the
// machine, sorted.
func times(t testing.TB, c *harness.Client, sql string, n int) []time.Duration {
	t.Helper()
	out := make([]time.Duration, n)
	for i := range out {
		start, stalls := time.Now(), enginetest.WatchStalls(0)
		require.Equal(t, []any{[]any{10.0}}, c.Rows(sql))
		out[i] = time.Since(start) - stalls()
	}
	slices.Sort(out)
	return out
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100].Round(100 * time.Microsecond)
}
