package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
)

// liveStream is a response that is still being read.
type liveStream struct {
	lines atomic.Int64
	ended chan struct{}
	// What follows is set when ended is closed.
	at   time.Time
	err  error
	last string
}

// stream starts a statement whose rows come as NDJSON and returns once the first line
// has arrived. The reader pauses for wait after every thousand lines.
func (c *client) stream(sql string, wait time.Duration) *liveStream {
	c.t.Helper()
	return c.follow("POST", "/v1/query", map[string]any{"sql": sql}, wait)
}

func (c *client) follow(method, path string, body any, wait time.Duration) *liveStream {
	c.t.Helper()
	resp := c.open(method, path, body)
	s := &liveStream{ended: make(chan struct{})}
	first := make(chan struct{})
	ctx := c.t.Context()
	go func() {
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewReaderSize(resp.Body, 64<<10)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				s.last = line
				if n := s.lines.Add(1); n == 1 {
					close(first)
				} else if n%1000 == 0 {
					pause(ctx, wait)
				}
			}
			if err != nil {
				s.err, s.at = err, time.Now()
				close(s.ended)
				return
			}
		}
	}()
	select {
	case <-first:
	case <-s.ended:
		c.t.Fatalf("the stream ended before its first line: %v", s.err)
	}
	return s
}

// open makes a request for NDJSON and returns once its status is known.
func (c *client) open(method, path string, body any) *http.Response {
	c.t.Helper()
	return c.openAs(ndjson, method, path, body)
}

func (c *client) openAs(accept, method, path string, body any) *http.Response {
	c.t.Helper()
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(c.t, err)
		reader = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, reader)
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, resp.StatusCode)
	return resp
}

// promptly is one second, with a margin for a busy machine.
const promptly = 4 * time.Second

// broken waits for a stream that must break off promptly after since, with an error
// as its last line.
func (s *liveStream) broken(t testing.TB, since time.Time) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(time.Until(since.Add(promptly))):
		t.Fatal("the stream goes on")
	}
	t.Logf("the stream broke off after %v", s.at.Sub(since))
	require.Error(t, s.err)
	require.False(t, errors.Is(s.err, io.EOF) && !errors.Is(s.err, io.ErrUnexpectedEOF), "the stream looks complete")
	require.Contains(t, s.last, `"code":"query_cancelled"`)
}

// store opens the catalog beside the server, as the command line does.
func (s *testServer) store() catalog.Store {
	s.t.Helper()
	store, err := s.openCatalog(context.Background())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, store.Close()) })
	return store
}

// endless are statements that run longer than any test, with their rows or before the
// first one.
func endless(from string) (rows, work string) {
	return "SELECT a.id, b.id AS other, c.region FROM " + from + " a, " + from + " b, " + from + " c",
		"SELECT count(*) FROM " + from + " a, " + from + " b, " + from + " c, " + from + " d WHERE (a.id * b.id + c.id * d.id) % 7 = 3"
}

const salesRows = `SELECT i AS id, 'r' || (i % 4) AS region FROM range(1000) t(i)`

// revocationCase is a change after which a member loses, or sees differently, what a
// statement on the table sales of a configuration reads.
type revocationCase struct {
	name string
	role string
	do   func(*revoked)
}

// revoked is the member and the table to which a revocation is applied.
type revoked struct {
	*testServer
	store catalog.Store
	// admin and member have keys for the workspace of the table.
	admin, member *client
	key           catalog.KeyID // the member's
	config        catalog.StorageConfig
	table         catalog.LocatedTable
}

func (w *revoked) org() catalog.OrgID { return catalog.OrgID(w.boot.OrganisationID) }

func (w *revoked) path(more string) string {
	return "/v1/organisations/" + w.boot.OrganisationID + more
}

func (w *revoked) owner() catalog.Viewer {
	return catalog.MemberViewer(w.org(), catalog.UserID(w.admin.user))
}

func (w *revoked) policyOn(fqn any, column string) {
	w.admin.ok("POST", w.path("/policies"), map[string]any{
		"kind": "rls", "tableFqn": fqn, "columnName": column, "definition": json.RawMessage(`{"effect":"permit","subject":{"everyone":true}}`),
	})
}

var revocations = []revocationCase{
	{"the key is revoked", "viewer", func(w *revoked) { w.admin.ok("DELETE", "/v1/api-keys/"+string(w.key), nil) }},
	{"the key is rotated out", "builder", func(w *revoked) {
		w.member.ok("POST", "/v1/api-keys/"+string(w.key)+"/rotate", map[string]any{})
	}},
	{"the user is removed", "viewer", func(w *revoked) {
		require.NoError(w.t, w.store.RemoveMember(w.t.Context(), w.org(), catalog.UserID(w.member.user)))
	}},
	{"the role is lowered", "editor", func(w *revoked) {
		w.admin.ok("PUT", w.path("/users/"+w.member.user+"/role"), map[string]string{"role": "viewer"})
	}},
	{"the attributes change", "viewer", func(w *revoked) {
		w.admin.ok("PUT", w.path("/users/"+w.member.user+"/attributes"), map[string]string{"region": "r2"})
	}},
	{"a policy on the table is made", "viewer", func(w *revoked) { w.policyOn(w.table.FQN(), "region") }},
	{"a policy on every table with a column of the table is made", "viewer", func(w *revoked) { w.policyOn(nil, "region") }},
	{"the user leaves the workspace", "viewer", func(w *revoked) {
		require.NoError(w.t, w.store.RemoveWorkspaceMember(w.t.Context(), w.org(), w.config.Workspace, catalog.UserID(w.member.user)))
	}},
	{"the configuration is deleted", "viewer", func(w *revoked) {
		require.NoError(w.t, w.store.DeleteStorageConfig(w.t.Context(), w.owner(), w.config.ID, catalog.AnyVersion))
	}},
	{"the table is dropped", "viewer", func(w *revoked) {
		require.NoError(w.t, w.store.DropTable(w.t.Context(), w.owner(), w.table.ID, catalog.AnyVersion))
	}},
}

// prepared makes a configuration with a table, in a workspace of its own, and a
// member with a key for one revocation.
func (s *testServer) prepared(t *testing.T, store catalog.Store, name, role string) *revoked {
	t.Helper()
	on := *s
	on.t, on.admin = t, &client{t: t, url: s.url, key: s.admin.key, user: s.admin.user}
	s = &on
	w := &revoked{testServer: s, store: store}
	slug := strings.ReplaceAll(name, " ", "-")
	shared, err := store.CreateWorkspace(s.t.Context(), catalog.NewWorkspace{Org: w.org(), Name: slug, Creator: catalog.UserID(s.admin.user)})
	require.NoError(s.t, err)
	user := s.member(slug+"@acme.example", role, map[string]string{"region": "r1"}).user
	_, err = store.SetWorkspaceMember(s.t.Context(), w.org(), shared.ID, catalog.UserID(user), catalog.RoleEditor)
	require.NoError(s.t, err)
	scopes := builderScopes
	if role == "admin" {
		scopes = adminScopes
	}
	w.member, w.key = s.keyIn(store, shared, user, scopes)
	w.admin, _ = s.keyIn(store, shared, s.admin.user, adminScopes)
	made := w.admin.ok("POST", configsPath, map[string]any{"configName": slug, "kind": "local", "root": slug, "workspaceId": string(shared.ID)})
	writeTable(s.t, filepath.Join(s.config.LocalRoots[0], slug, "sales"), salesRows, nil, column{"id", "long"}, column{"region", "string"})
	w.admin.ok("POST", configsPath+"/"+made["configId"].(string)+"/discover", nil)
	w.config, err = store.StorageConfigBySchema(s.t.Context(), w.owner(), made["schema"].(string))
	require.NoError(s.t, err)
	found, err := store.ResolveTables(s.t.Context(), w.owner(), []catalog.TableName{{Schema: made["schema"].(string), Table: "sales"}})
	require.NoError(s.t, err)
	require.NoError(s.t, found[0].Err)
	w.table = found[0].Table
	return w
}

// keyIn makes a key for a workspace.
func (s *testServer) keyIn(store catalog.Store, workspace catalog.Workspace, user string, scopes []string) (*client, catalog.KeyID) {
	s.t.Helper()
	key := apikey.Generate()
	made, err := store.CreateAPIKey(s.t.Context(), catalog.NewAPIKey{
		Org: workspace.Org, User: catalog.UserID(user), Name: "test", Prefix: key.Prefix(), Hash: key.Hash(),
		Scopes: scopes, Workspace: workspace.ID, ExpiresAt: time.Now().Add(time.Hour),
	})
	require.NoError(s.t, err)
	return s.client(key.Reveal(), user), made.ID
}

// TestRevocationsEndRunningWork checks that all running work of a member ends: a stream
// that is read, a stream whose client has stopped reading, a statement before its
// first row, a page of rows, and an asynchronous query.
func TestRevocationsEndRunningWork(t *testing.T) {
	s := startServer(t, func(c *settings) { c.MaxRunning, c.Threads, c.Memory, c.Lease = 8, 1, 2048, 128 })
	store := s.store()
	for _, c := range revocations {
		t.Run(c.name, func(t *testing.T) {
			w := s.prepared(t, store, c.name, c.role)
			w.endsWhatRuns(t, c, w.member)
		})
	}
}

// endsWhatRuns starts work of the member through a client of some replica, makes
// the change and waits for the work to end.
func (w *revoked) endsWhatRuns(t *testing.T, c revocationCase, there *client) {
	rows, work := endless(w.config.Schema() + ".sales")
	operation := there.start(rows)
	there.inState(operation, "running")
	live := there.stream(rows, 0)
	stalled := there.open("POST", "/v1/query", map[string]any{"sql": rows})
	early := make(chan reply, 1)
	go func() { early <- there.query(work) }()
	require.Eventually(t, func() bool { return w.running(t, there) >= 4 }, 10*time.Second, 10*time.Millisecond)
	pause(t.Context(), 500*time.Millisecond) // the stalled stream has filled its buffers

	c.do(w)
	since := time.Now()
	live.broken(t, since)
	select {
	case r := <-early:
		t.Logf("the statement ended after %v at most", time.Since(since))
		code, _ := r.problem(t, http.StatusConflict)
		require.Equal(t, "query_cancelled", code)
	case <-time.After(time.Until(since.Add(promptly))):
		t.Fatal("the statement goes on")
	}
	require.Eventually(t, func() bool { return w.running(t, there) == 0 }, time.Until(since.Add(promptly)), 5*time.Millisecond, "the stalled stream goes on")
	t.Logf("nothing ran after %v", time.Since(since))
	_, err := io.Copy(io.Discard, stalled.Body)
	require.Error(t, err, "the stalled stream looks complete")
	ended, err := w.store.Operation(t.Context(), w.org(), catalog.OperationID(operation["id"].(string)))
	require.NoError(t, err)
	require.Equal(t, catalog.OperationCancelled, ended.State)
	require.Equal(t, "query_cancelled", ended.Problem.Code)
}

// running is how many statements run on the server of a client.
func (w *revoked) running(t testing.TB, there *client) int {
	t.Helper()
	on := testServer{url: there.url}
	return int(on.metric(t, `lakewarden_sessions{state="running"}`))
}

// TestRevocationsBreakEveryFormat checks that no cut-off response looks complete.
func TestRevocationsBreakEveryFormat(t *testing.T) {
	s := startServer(t, func(c *settings) { c.MaxRunning, c.Threads, c.Memory, c.Lease = 8, 1, 2048, 128 })
	w := s.prepared(t, s.store(), "formats", "viewer")
	rows, _ := endless(w.config.Schema() + ".sales")
	ends := map[string]chan error{}
	for _, accept := range []string{csvType, arrowType, parquetType, ndjson} {
		resp := w.member.openAs(accept, "POST", "/v1/query", map[string]any{"sql": rows})
		end := make(chan error, 1)
		ends[accept] = end
		go func() {
			_, err := io.Copy(io.Discard, resp.Body)
			end <- err
		}()
	}
	w.policyOn(w.table.FQN(), "region")
	since := time.Now()
	for accept, end := range ends {
		select {
		case err := <-end:
			require.Error(t, err, "%s looks complete", accept)
		case <-time.After(time.Until(since.Add(promptly))):
			t.Fatalf("%s goes on", accept)
		}
	}
}

// TestOtherChangesInterruptNothing checks that streams complete while everything else
// in the organisation changes.
func TestOtherChangesInterruptNothing(t *testing.T) {
	s := startServer(t, nil)
	store := s.store()
	w := s.prepared(t, store, "mine", "viewer")
	s.policy("", "", `{"effect":"permit","subject":{"everyone":true}}`)
	other := s.prepared(t, store, "others", "editor")
	from := w.config.Schema() + ".sales"
	stream := w.member.stream("SELECT a.id, b.id AS other FROM "+from+" a, "+from+" b", 2*time.Millisecond)
	kept := w.member.start("SELECT a.id, b.id AS other FROM " + from + " a, " + from + " b WHERE (a.id * b.id) % 7 < 5")
	other.policyOn(other.table.FQN(), "region")
	other.policyOn(nil, "no_column_of_the_table")
	second, record := w.admin.newKey(map[string]any{"scopes": []string{"read"}})
	require.Equal(t, 200, second.query("SELECT 1").status)
	w.admin.ok("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	for _, name := range []string{"the key is revoked", "the role is lowered", "the attributes change", "the user leaves the workspace", "the configuration is deleted"} {
		i := slices.IndexFunc(revocations, func(c revocationCase) bool { return c.name == name })
		revocations[i].do(other)
	}
	pause(t.Context(), 700*time.Millisecond)
	select {
	case <-stream.ended:
		require.ErrorIs(t, stream.err, io.EOF)
		t.Fatal("the stream was over before everything had changed: make it longer")
	default:
	}
	<-stream.ended
	require.Equal(t, io.EOF, stream.err)
	require.EqualValues(t, 1_000_000, stream.lines.Load())
	require.Equal(t, "succeeded", w.member.await(kept)["state"])
}

// TestKeysEndWhatRunsWhenTheyExpire checks that work ends at the key's expiry,
// although nothing changes in the catalog then.
func TestKeysEndWhatRunsWhenTheyExpire(t *testing.T) {
	s := startServer(t, nil)
	w := s.prepared(t, s.store(), "expiry", "builder")
	rows, _ := endless(w.config.Schema() + ".sales")
	live := w.member.stream(rows, 0)
	w.member.ok("POST", "/v1/api-keys/"+string(w.key)+"/rotate", map[string]any{"grace_seconds": 2})
	expires := time.Now().Add(2 * time.Second)
	live.broken(t, expires)
	require.Greater(t, live.at, expires.Add(-100*time.Millisecond), "the key was still good")
}

// TestRevocationsReachOtherReplicas is TestRevocationsEndRunningWork with the catalog
// in Postgres, where the change is made on another server.
func TestRevocationsReachOtherReplicas(t *testing.T) {
	url := pgtest.URL(t)
	s := startServer(t, func(c *settings) {
		c.DatabaseURL, c.MaxRunning, c.Threads, c.Memory, c.Lease = url, 8, 1, 2048, 128
	})
	twin := &testServer{t: t, config: s.config, log: s.log, logged: s.logged}
	twin.config.DataDir = t.TempDir() // its own files; the tables are shared
	twin.start()
	store := s.store()
	for _, c := range revocations {
		t.Run(c.name, func(t *testing.T) {
			w := s.prepared(t, store, c.name, c.role)
			w.endsWhatRuns(t, c, &client{t: t, url: twin.url, key: w.member.key, user: w.member.user})
		})
	}
}

// TestEveryPathThatRunsStatementsEnds revokes requests of every such path while they
// wait for the only turn, which another statement holds.
func TestEveryPathThatRunsStatementsEnds(t *testing.T) {
	s := startServer(t, func(c *settings) { c.MaxRunning, c.Threads = 1, 1 })
	w := s.prepared(t, s.store(), "paths", "admin")
	table := "/v1/tables/lake/" + w.config.Schema() + "/sales"
	// This server alone can evaluate it, so it is never known to hold for every row.
	w.admin.ok("POST", table+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "c", "expr": "regexp_matches(region, '^r')"}}})
	version := w.version(t, table)
	rows, _ := endless(w.config.Schema() + ".sales")
	busy := w.admin.stream(rows, time.Millisecond)
	row := map[string]any{"rows": []any{map[string]any{"id": 5000, "region": "r1"}}}
	replies := map[string]chan reply{}
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
		answer := make(chan reply, 1)
		replies[method+" "+path] = answer
		go func() { answer <- w.member.call(method, path, body) }()
	}
	require.Eventually(t, func() bool {
		for path, answer := range replies {
			select {
			case r := <-answer:
				require.Failf(t, "an answer without a turn", "%s: %d %s", path, r.status, r.body)
			default:
			}
		}
		return w.metric(t, `lakewarden_sessions{state="queued"}`) == float64(len(replies))
	}, 20*time.Second, 10*time.Millisecond)
	w.admin.ok("PUT", w.path("/users/"+w.member.user+"/attributes"), map[string]string{"region": "r2"})
	since := time.Now()
	for path, answer := range replies {
		select {
		case r := <-answer:
			require.Equal(t, http.StatusConflict, r.status, "%s: %s", path, r.body)
			code, _ := r.problem(t, http.StatusConflict)
			require.Equal(t, "query_cancelled", code, path)
		case <-time.After(time.Until(since.Add(promptly))):
			t.Fatalf("%s goes on", path)
		}
	}
	select {
	case <-busy.ended:
		t.Fatalf("the other stream has ended: %v", busy.err)
	default:
	}
	require.Equal(t, version, w.version(t, table), "nothing was written")
}

// version is the newest version of a table.
func (w *revoked) version(t testing.TB, table string) any {
	t.Helper()
	history := w.admin.ok("GET", table+"/history", nil)
	return history["versions"].([]any)[0].(map[string]any)["version"]
}

// TestRevocationsEndWrites revokes a write that looks for its rows and a write whose
// body is still arriving, and checks that nothing is written.
func TestRevocationsEndWrites(t *testing.T) {
	s := startServer(t, func(c *settings) { c.Threads = 1 })
	w := s.prepared(t, s.store(), "writes", "editor")
	table := "/v1/tables/lake/" + w.config.Schema() + "/sales"
	from := w.config.Schema() + ".sales"
	version := w.version(t, table)
	body, more := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, w.member.url+table+"/rows", body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", ndjson)
	req.Header.Set("Authorization", "Bearer "+w.member.key)
	insert := make(chan reply, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			insert <- reply{body: []byte(err.Error())}
			return
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		insert <- reply{status: resp.StatusCode, header: resp.Header, body: text}
	}()
	_, err = io.WriteString(more, "{\"id\": 7, \"region\": \"r1\"}\n")
	require.NoError(t, err)
	defer func() { _ = more.Close() }()
	remove := make(chan reply, 1)
	go func() {
		remove <- w.member.call("POST", table+"/rows/delete", map[string]any{"where": "id < (SELECT count(*) FROM " + from + " a, " + from + " b, " + from + " c, " + from + " d WHERE (a.id * b.id + c.id * d.id) % 7 = 3)"})
	}()
	require.Eventually(t, func() bool { return w.running(t, w.member) >= 1 }, 20*time.Second, 10*time.Millisecond)
	pause(t.Context(), 300*time.Millisecond)
	w.admin.ok("PUT", w.path("/users/"+w.member.user+"/role"), map[string]string{"role": "viewer"})
	w.admin.ok("DELETE", w.path("/workspaces/"+string(w.config.Workspace)+"/members/"+w.member.user), nil)
	since := time.Now()
	for name, answer := range map[string]chan reply{"insert": insert, "delete": remove} {
		select {
		case r := <-answer:
			code, _ := r.problem(t, http.StatusConflict)
			require.Equal(t, "query_cancelled", code, name)
			t.Logf("%s ended after %v at most", name, time.Since(since))
		case <-time.After(time.Until(since.Add(promptly))):
			t.Fatalf("%s goes on", name)
		}
	}
	require.Equal(t, version, w.version(t, table))
}

// TestRevocationsEndStreamsOfStoredRows revokes a stored result while it is being
// read.
func TestRevocationsEndStreamsOfStoredRows(t *testing.T) {
	s := startServer(t, nil)
	store := s.store()
	for _, c := range revocations {
		if c.name != "the key is revoked" && c.name != "the attributes change" && c.name != "a policy on the table is made" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := s.prepared(t, store, c.name, c.role)
			from := w.config.Schema() + ".sales"
			o := w.member.await(w.member.start("SELECT a.id, b.id AS other, md5(a.region) AS word FROM " + from + " a, " + from + " b"))
			require.Equal(t, "succeeded", o["state"], "%v", o)
			live := w.member.follow("GET", "/v1/operations/"+o["id"].(string)+"/result", nil, 5*time.Millisecond)
			c.do(w)
			live.broken(t, time.Now())
		})
	}
}

// TestRevocationsEndSpilledStreams revokes a stream whose statement has ended, while
// the unread rows are on disk.
func TestRevocationsEndSpilledStreams(t *testing.T) {
	s := startServer(t, nil)
	w := s.prepared(t, s.store(), "spilled", "viewer")
	from := w.config.Schema() + ".sales"
	stalled := w.member.open("POST", "/v1/query", map[string]any{"sql": "SELECT a.id, b.id AS other, md5(a.region) AS word FROM " + from + " a, " + from + " b"})
	require.Eventually(t, func() bool { return w.running(t, w.member) == 0 }, 60*time.Second, 50*time.Millisecond, "the rest is never spilled")
	w.admin.ok("DELETE", "/v1/api-keys/"+string(w.key), nil)
	require.Eventually(t, func() bool { return s.metric(t, "lakewarden_spilled_streams") == 0 }, promptly, 20*time.Millisecond, "the rows stay on disk")
	lines := 0
	text := bufio.NewScanner(stalled.Body)
	for text.Scan() {
		lines++
	}
	require.Error(t, text.Err(), "the stream looks complete")
	require.Less(t, lines, 1_000_000)
}
