package kill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// breakOff makes a request that ends badly: its client goes away at a random
// point, or its time is too short.
func breakOff(c *harness.Client, transport *http.Transport, schema string, r *rand.Rand) (string, error) {
	table := schema + ".sales"
	slow := "SELECT count(*) FROM " + table + " a, " + table + " b WHERE a.amount * b.amount = 7"
	stream := "SELECT a.* FROM " + table + " a, range(200) ORDER BY hash(a.id)"
	plain := "SELECT * FROM " + table + ", range(100)"
	body := map[string]any{"sql": []string{slow, stream, plain}[r.IntN(3)]}
	accept := []string{"application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"}[r.IntN(4)]
	mode := []string{"deadline", "before the first byte", "in the middle"}[r.IntN(3)]
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch mode {
	case "deadline":
		body["timeout_ms"] = 1 + r.IntN(40)
	case "before the first byte":
		stop := time.AfterFunc(time.Duration(r.IntN(40_000))*time.Microsecond, cancel)
		defer stop.Stop()
	default:
		body["sql"] = plain
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/query", bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			return mode + ": gone", nil
		}
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var read io.Reader = resp.Body
	if mode == "in the middle" {
		read = io.LimitReader(resp.Body, int64(r.IntN(3<<20)))
	}
	text, err := io.ReadAll(read)
	switch {
	case mode == "deadline" && err == nil && resp.StatusCode == http.StatusOK && accept == "application/x-ndjson" &&
		bytes.Contains(text, []byte(`{"error":`)):
		return mode + ": error line", nil
	case err != nil:
		return mode + ": broken off", nil
	case mode == "deadline" && resp.StatusCode == http.StatusOK && int64(len(text)) < 20<<20 && accept != "application/json":
		return "", fmt.Errorf("%s %v: %d bytes look complete", accept, body, len(text))
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusUnprocessableEntity, resp.StatusCode == http.StatusServiceUnavailable:
		return fmt.Sprintf("%s: %d", mode, resp.StatusCode), nil
	}
	return "", fmt.Errorf("%s: %d %.300s", mode, resp.StatusCode, text)
}

// footprint is what a leak would show in.
type footprint struct {
	goroutines, files, threads int
	memory                     int64
}

func footprintOf(s *harness.Server, t testing.TB) footprint {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	runtime.GC()
	return footprint{goroutines: runtime.NumGoroutine(), files: len(files), threads: len(threads), memory: harness.ResidentBytes(t)}
}

// TestClientsThatGoAwayLeaveNothing breaks 1,000 requests off.
func TestClientsThatGoAwayLeaveNothing(t *testing.T) {
	s, users := harness.NewSoak(t, func(c *harness.Settings) { c.MaxRunning, c.Memory, c.Lease, c.Threads = 4, 1024, 256, 2 })
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	var mu sync.Mutex
	endings := map[string]int{}
	run := func(each int, seed uint64) {
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for w := range errs {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(w)))
				for range each {
					how, err := breakOff(users[w%len(users)], transport, s.Schema, r)
					if err != nil {
						errs[w] = err
						return
					}
					mu.Lock()
					endings[how]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		s.Quiet(t)
		transport.CloseIdleConnections()
		http.DefaultClient.CloseIdleConnections()
	}
	run(30, 1) // warm sessions stay, so that there are as many before as after
	before := footprintOf(s, t)
	run(125, 2)
	t.Logf("%v", endings)
	after := footprintOf(s, t)
	for i := 0; i < 50 && (after.goroutines > before.goroutines+4 || after.files > before.files+8); i++ {
		http.DefaultClient.CloseIdleConnections()
		harness.Pause(t.Context(), 100*time.Millisecond)
		after = footprintOf(s, t)
	}
	t.Logf("before %+v, after %+v", before, after)
	require.LessOrEqual(t, after.goroutines, before.goroutines+4)
	require.LessOrEqual(t, after.files, before.files+8)
	require.Less(t, after.memory-before.memory, int64(200<<20))
	require.LessOrEqual(t, after.threads, before.threads+24)
	for i, u := range users {
		require.Equal(t, []any{[]any{50000.0, "r" + strconv.Itoa(i)}}, u.Rows("SELECT count(*), max(region) FROM "+s.Schema+".sales"),
			"all users are served as before")
	}
	spilled, err := filepath.Glob(filepath.Join(s.Config.DataDir, "tmp", "*", "*", "duckdb_temp*"))
	require.NoError(t, err)
	require.Empty(t, spilled, "spilled data of statements that are over")
	s.Stop()
	left, err := filepath.Glob(filepath.Join(s.Config.DataDir, "tmp", "*"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary files")
}

// ruleState is what the racing user is governed by: a region, and whether a
// policy forbids the upper half.
type ruleState struct {
	region int
	halved bool
}

func (r ruleState) row() string {
	n, top := 50_000, 199_996+r.region
	if r.halved {
		n, top = 25_000, 99_996+r.region
	}
	return fmt.Sprintf("[%d r%d r%d %d]", n, r.region, r.region, top)
}

// TestRulesChangeBetweenStatements races changes of attributes and policies with
// statements: an answer fits one state that was valid while it ran, and after a
// change has returned no answer fits an older one.
func TestRulesChangeBetweenStatements(t *testing.T) {
	t.Parallel()
	changes := 1000
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		changes = 300
	}
	s, users := harness.NewSoak(t, func(c *harness.Settings) { c.MaxRunning, c.Memory, c.Lease, c.Threads = 6, 1536, 256, 1 })
	ana, ben := users[0], users[1]
	forbid := s.Policy("sales", "id", `{"effect":"forbid","subject":{"everyone":true},"condition":{"column":"id","op":"gte","value":100000}}`)
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/policies/" + forbid["id"].(string)
	query := "SELECT count(*), min(region), max(region), max(id) FROM " + s.Schema + ".sales"
	var mu sync.Mutex // guards states: those from settled on may be in force
	states := []ruleState{{0, true}}
	settled := 0
	window := func() (from, to int) {
		mu.Lock()
		defer mu.Unlock()
		return settled, len(states)
	}
	look := func(c *harness.Client) (string, error) {
		got, err := c.Answer(0, harness.SQLAsk(query))
		if err != nil || got.Status != http.StatusOK {
			return "", errors.Join(err, fmt.Errorf("%d %s", got.Status, got.Body))
		}
		var body struct{ Rows [][]any }
		err = json.Unmarshal([]byte(got.Body[:strings.LastIndex(got.Body, `,"row_count"`)]+"}"), &body)
		if err != nil || len(body.Rows) != 1 {
			return "", errors.Join(err, fmt.Errorf("%s", got.Body))
		}
		for i, v := range body.Rows[0] {
			if f, ok := v.(float64); ok {
				body.Rows[0][i] = int64(f)
			}
		}
		return fmt.Sprint(body.Rows[0]), nil
	}
	fits := func(row string, from, to int) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, st := range states[from:to] {
			if st.row() == row {
				return true
			}
		}
		return false
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	errs := make([]error, 3)
	var background atomic.Int64
	for i, c := range []*harness.Client{ana, ana, ben} {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				from, _ := window()
				row, err := look(c)
				_, to := window()
				background.Add(1)
				switch {
				case to-from > 1 && harness.Cancelled(err): // what applies changed while it ran
				case err != nil:
					errs[i] = err
				case c == ana && !fits(row, from, to):
					errs[i] = fmt.Errorf("%s fits no state from %d to %d", row, from, to)
				case c == ben && row != (ruleState{1, true}).row() && row != (ruleState{1, false}).row():
					errs[i] = fmt.Errorf("another user sees %s", row)
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(3, 4))
	version := int64(1)
	current := states[0]
	for i := range changes {
		next := current
		if r.IntN(3) == 0 {
			next.halved = !next.halved
		} else {
			next.region = (current.region + 1 + r.IntN(3)) % 4
		}
		mu.Lock()
		states = append(states, next)
		mu.Unlock()
		if next.halved != current.halved {
			version++
			body := map[string]any{"enabled": next.halved, "expectedVersion": version - 1}
			s.Admin.OK("PATCH", path, body)
		} else {
			s.Admin.OK("PUT", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+ana.User+"/attributes",
				map[string]string{"region": "r" + strconv.Itoa(next.region)})
		}
		mu.Lock()
		settled = len(states) - 1
		mu.Unlock()
		current = next
		row, err := look(ana)
		require.NoError(t, err)
		require.Equal(t, current.row(), row, "change %d was not in force for the next statement", i)
		for background.Load() < int64(i/5) { // others run during the changes
			harness.Pause(t.Context(), time.Millisecond)
		}
	}
	stop()
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	t.Logf("%d statements ran next to %d changes", background.Load(), changes)
}
