package policy_test

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestRevocationsEndRunningWork checks that all running work of a member ends: a stream
// that is read, a stream whose client has stopped reading, a statement before its
// first row, a page of rows, and an asynchronous query.
func TestRevocationsEndRunningWork(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.MaxRunning, c.Threads, c.Memory, c.Lease = 8, 1, 2048, 128 })
	store := openCatalog(s)
	told := 0
	for _, c := range revocations {
		t.Run(c.name, func(t *testing.T) {
			w := prepared(s, t, store, c.name, c.role)
			told += w.endsWhatRuns(t, c, w.member)
		})
	}
	require.Positive(t, told, "no stream names the error")
}

// TestRevocationsBreakEveryFormat checks that no cut-off response looks complete.
func TestRevocationsBreakEveryFormat(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.MaxRunning, c.Threads, c.Memory, c.Lease = 8, 1, 2048, 128 })
	w := prepared(s, t, openCatalog(s), "formats", "viewer")
	rows, _ := endless(w.config.Schema() + ".sales")
	ends := map[string]chan error{}
	for _, accept := range []string{harness.CSVType, harness.ArrowType, harness.ParquetType, harness.Ndjson} {
		resp := openAs(w.member, accept, "POST", "/v1/query", map[string]any{"sql": rows})
		end := make(chan error, 1)
		ends[accept] = end
		go func() {
			_, err := io.Copy(io.Discard, resp.Body)
			end <- err
		}()
	}
	w.policyOn(w.table.FQN(), "region")
	kept := promised(t)
	for accept, end := range ends {
		require.Error(t, <-end, "%s looks complete", accept)
	}
	kept("every format ends")
}

// TestOtherChangesInterruptNothing checks that streams complete while everything else
// in the organisation changes.
func TestOtherChangesInterruptNothing(t *testing.T) {
	s := harness.Shared(t)
	store := openCatalog(s)
	w := prepared(s, t, store, "mine", "viewer")
	s.Policy("", "", `{"effect":"permit","subject":{"everyone":true}}`)
	other := prepared(s, t, store, "others", "editor")
	from := w.config.Schema() + ".sales"
	stream := startStream(w.member, "SELECT a.id, b.id AS other FROM "+from+" a, "+from+" b, range(4)", 5*time.Millisecond)
	kept := w.member.Start("SELECT a.id, b.id AS other FROM " + from + " a, " + from + " b WHERE (a.id * b.id) % 7 < 5")
	other.policyOn(other.table.FQN(), "region")
	other.policyOn(nil, "no_column_of_the_table")
	second, record := w.admin.NewKey(map[string]any{"scopes": []string{"read"}})
	require.Equal(t, 200, second.Query("SELECT 1").Status)
	w.admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	for _, name := range []string{"the key is revoked", "the role is lowered", "the attributes change", "the user leaves the workspace",
		"the configuration is deleted"} {
		i := slices.IndexFunc(revocations, func(c revocationCase) bool { return c.name == name })
		revocations[i].do(other)
	}
	harness.Pause(t.Context(), 700*time.Millisecond)
	select {
	case <-stream.ended:
		require.ErrorIs(t, stream.err, io.EOF)
		t.Fatal("the stream was over before everything had changed: make it longer")
	default:
	}
	stream.wait.Store(0)
	<-stream.ended
	require.Equal(t, io.EOF, stream.err)
	require.EqualValues(t, 4_000_000, stream.lines.Load())
	require.Equal(t, "succeeded", w.member.Await(kept)["state"])
}

// TestKeysEndWhatRunsWhenTheyExpire checks that work ends at the key's expiry,
// although nothing changes in the catalog then.
func TestKeysEndWhatRunsWhenTheyExpire(t *testing.T) {
	s := harness.Shared(t)
	w := prepared(s, t, openCatalog(s), "expiry", "builder")
	rows, _ := endless(w.config.Schema() + ".sales")
	live := startStream(w.member, rows, 0)
	const grace = 2 * time.Second
	asked := time.Now()
	w.member.OK("POST", "/v1/api-keys/"+string(w.key)+"/rotate", map[string]any{"grace_seconds": grace.Seconds()})
	kept := promised(t)
	live.broken(t)
	kept("the key expires after 2 s, and the stream ends")
	require.Greater(t, live.at, asked.Add(grace-time.Millisecond), "the key was still good")
}

// TestRevocationsReachOtherReplicas is TestRevocationsEndRunningWork with the catalog
// in Postgres, where the change is made on another server.
func TestRevocationsReachOtherReplicas(t *testing.T) {
	url := pgtest.URL(t)
	s := harness.Start(t, func(c *harness.Settings) {
		c.DatabaseURL, c.MaxRunning, c.Threads, c.Memory, c.Lease = url, 8, 1, 2048, 128
	})
	twin := &harness.Server{T: t, Config: s.Config, Log: s.Log}
	twin.Config.DataDir = t.TempDir() // its own files; the tables are shared
	twin.Start()
	store := openCatalog(s)
	for _, c := range revocations {
		t.Run(c.name, func(t *testing.T) {
			w := prepared(s, t, store, c.name, c.role)
			w.endsWhatRuns(t, c, &harness.Client{T: t, URL: twin.URL, Key: w.member.Key, User: w.member.User})
		})
	}
}

// TestEveryPathThatRunsStatementsEnds revokes requests of every such path while they
// wait for the only turn, which another statement holds.
func TestEveryPathThatRunsStatementsEnds(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.MaxRunning, c.Threads = 1, 1 })
	w := prepared(s, t, openCatalog(s), "paths", "admin")
	table := "/v1/tables/lake/" + w.config.Schema() + "/sales"
	// This server alone can evaluate it, so it is never known to hold for every row.
	w.admin.OK("POST", table+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "c",
		"expr": "regexp_matches(region, '^r')"}}})
	version := w.Version(t, table)
	rows, _ := endless(w.config.Schema() + ".sales")
	busy := startStream(w.admin, rows, time.Millisecond)
	row := map[string]any{"rows": []any{map[string]any{"id": 5000, "region": "r1"}}}
	replies := map[string]chan harness.Reply{}
	for path, body := range map[string]any{
		"POST /v1/query":                            map[string]any{"sql": "SELECT * FROM " + w.config.Schema() + ".sales"},
		"GET " + table + "/rows":                    nil,
		"GET " + table + "/rows?where=id%2B0":       nil,
		"GET " + table + "/violations":              nil,
		"PUT " + table + "/primary-key":             map[string]any{"columns": []string{"id"}},
		"POST " + table + "/rows":                   row,
		"POST " + table + "/rows/merge?on=id":       row,
		"POST " + table + "/rows/update":            map[string]any{"where": "id = 1", "set": map[string]string{"region": "'r9'"}},
		"POST " + table + "/rows/delete":            map[string]any{"where": "id = 1"},
		"POST " + w.path("/policies/simulate"):      map[string]any{"tableFqn": w.table.FQN(), "role": "viewer"},
		"POST " + table + "/constraints/c/validate": nil,
	} {
		method, path, _ := strings.Cut(path, " ")
		answer := make(chan harness.Reply, 1)
		replies[method+" "+path] = answer
		go func() { answer <- w.member.Call(method, path, body) }()
	}
	require.Eventually(t, func() bool {
		for path, answer := range replies {
			select {
			case r := <-answer:
				require.Failf(t, "an answer without a turn", "%s: %d %s", path, r.Status, r.Body)
			default:
			}
		}
		return w.Metric(t, `lakewarden_sessions{state="queued"}`) == float64(len(replies))
	}, time.Minute, 10*time.Millisecond)
	w.admin.OK("PUT", w.path("/users/"+w.member.User+"/attributes"), map[string]string{"region": "r2"})
	kept := promised(t)
	for path, answer := range replies {
		r := <-answer
		require.Equal(t, http.StatusConflict, r.Status, "%s: %s", path, r.Body)
		code, _ := r.Problem(t, http.StatusConflict)
		require.Equal(t, "query_cancelled", code, path)
	}
	kept("every request ends")
	select {
	case <-busy.ended:
		t.Fatalf("the other stream has ended: %v", busy.err)
	default:
	}
	require.Equal(t, version, w.Version(t, table), "nothing was written")
}

// TestRevocationsEndWrites revokes a write that looks for its rows and a write whose
// body is still arriving, and checks that nothing is written.
func TestRevocationsEndWrites(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.Threads = 1 })
	w := prepared(s, t, openCatalog(s), "writes", "editor")
	table := "/v1/tables/lake/" + w.config.Schema() + "/sales"
	from := w.config.Schema() + ".sales"
	version := w.Version(t, table)
	body, more := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, w.member.URL+table+"/rows", body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", harness.Ndjson)
	req.Header.Set("Authorization", "Bearer "+w.member.Key)
	insert := make(chan harness.Reply, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			insert <- harness.Reply{Body: []byte(err.Error())}
			return
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		insert <- harness.Reply{Status: resp.StatusCode, Header: resp.Header, Body: text}
	}()
	_, err = io.WriteString(more, "{\"id\": 7, \"region\": \"r1\"}\n")
	require.NoError(t, err)
	defer func() { _ = more.Close() }()
	remove := make(chan harness.Reply, 1)
	go func() {
		remove <- w.member.Call("POST", table+"/rows/delete", map[string]any{"where": "id < (SELECT count(*) FROM " + from + " a, " + from +
			" b, " + from + " c, " + from + " d WHERE (a.id * b.id + c.id * d.id) % 7 = 3)"})
	}()
	require.Eventually(t, func() bool { return w.running(t, w.member) >= 1 }, time.Minute, 10*time.Millisecond)
	harness.Pause(t.Context(), 300*time.Millisecond)
	w.admin.OK("PUT", w.path("/users/"+w.member.User+"/role"), map[string]string{"role": "viewer"})
	w.admin.OK("DELETE", w.path("/workspaces/"+string(w.config.Workspace)+"/members/"+w.member.User), nil)
	kept := promised(t)
	for name, answer := range map[string]chan harness.Reply{"insert": insert, "delete": remove} {
		code, _ := (<-answer).Problem(t, http.StatusConflict)
		require.Equal(t, "query_cancelled", code, name)
	}
	kept("both writes end")
	require.Equal(t, version, w.Version(t, table))
}

// TestRevocationsEndStreamsOfStoredRows revokes a stored result while it is being
// read.
func TestRevocationsEndStreamsOfStoredRows(t *testing.T) {
	s := harness.Shared(t)
	store := openCatalog(s)
	for _, c := range revocations {
		if c.name != "the key is revoked" && c.name != "the attributes change" && c.name != "a policy on the table is made" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := prepared(s, t, store, c.name, c.role)
			from := w.config.Schema() + ".sales"
			o := w.member.Await(w.member.Start("SELECT a.id, b.id AS other, md5(a.region) AS word FROM " + from + " a, " + from + " b"))
			require.Equal(t, "succeeded", o["state"], "%v", o)
			live := follow(w.member, "GET", "/v1/operations/"+o["id"].(string)+"/result", nil, 5*time.Millisecond)
			c.do(w)
			kept := promised(t)
			live.broken(t)
			kept("the stream ends")
		})
	}
}

// TestRevocationsEndSpilledStreams revokes a stream whose statement has ended, while
// the unread rows are on disk.
func TestRevocationsEndSpilledStreams(t *testing.T) {
	s := harness.Start(t, nil)
	w := prepared(s, t, openCatalog(s), "spilled", "viewer")
	from := w.config.Schema() + ".sales"
	stalled := openNDJSON(w.member, "POST", "/v1/query", map[string]any{"sql": "SELECT a.id, b.id AS other, md5(a.region) AS word FROM " +
		from + " a, " + from + " b"})
	require.Eventually(t, func() bool { return w.running(t, w.member) == 0 }, time.Minute, 50*time.Millisecond, "the rest is never spilled")
	w.admin.OK("DELETE", "/v1/api-keys/"+string(w.key), nil)
	kept := promised(t)
	require.Eventually(t, func() bool { return s.Metric(t, "lakewarden_spilled_streams") == 0 }, time.Minute, 20*time.Millisecond,
		"the rows stay on disk")
	kept("the rows are removed")
	lines := 0
	text := bufio.NewScanner(stalled.Body)
	for text.Scan() {
		lines++
	}
	require.Error(t, text.Err(), "the stream looks complete")
	require.Less(t, lines, 1_000_000)
}
