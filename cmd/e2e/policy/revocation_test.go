package policy_test

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
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
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

// startStream starts a statement whose rows come as NDJSON and returns once the first line
// has arrived. The reader pauses for wait after every thousand lines.
func startStream(c *harness.Client, sql string, wait time.Duration) *liveStream {
	c.T.Helper()
	return follow(c, "POST", "/v1/query", map[string]any{"sql": sql}, wait)
}

func follow(c *harness.Client, method, path string, body any, wait time.Duration) *liveStream {
	c.T.Helper()
	resp := openNDJSON(c, method, path, body)
	s := &liveStream{ended: make(chan struct{})}
	first := make(chan struct{})
	ctx := c.T.Context()
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
					harness.Pause(ctx, wait)
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
		c.T.Fatalf("the stream ended before its first line: %v", s.err)
	}
	return s
}

// openNDJSON makes a request for NDJSON and returns once its status is known.
func openNDJSON(c *harness.Client, method, path string, body any) *http.Response {
	c.T.Helper()
	return openAs(c, harness.Ndjson, method, path, body)
}

func openAs(c *harness.Client, accept, method, path string, body any) *http.Response {
	c.T.Helper()
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(c.T, err)
		reader = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.T.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, reader)
	require.NoError(c.T, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.T, err)
	require.Equal(c.T, http.StatusOK, resp.StatusCode)
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

// OpenCatalog opens the catalog beside the server, as the command line does.
func openCatalog(s *harness.Server) catalog.Store {
	s.T.Helper()
	store, err := s.OpenCatalog(context.Background())
	require.NoError(s.T, err)
	s.T.Cleanup(func() { require.NoError(s.T, store.Close()) })
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
	*harness.Server
	store catalog.Store
	// Admin and member have keys for the workspace of the table.
	admin, member *harness.Client
	key           catalog.KeyID // the member's
	config        catalog.StorageConfig
	table         catalog.LocatedTable
}

func (w *revoked) org() catalog.OrgID { return catalog.OrgID(w.Boot.OrganisationID) }

func (w *revoked) path(more string) string {
	return "/v1/organisations/" + w.Boot.OrganisationID + more
}

func (w *revoked) owner() catalog.Viewer {
	return catalog.MemberViewer(w.org(), catalog.UserID(w.admin.User))
}

func (w *revoked) policyOn(fqn any, column string) {
	w.admin.OK("POST", w.path("/policies"), map[string]any{
		"kind": "rls", "tableFqn": fqn, "columnName": column, "definition": json.RawMessage(`{"effect":"permit","subject":{"everyone":true}}`),
	})
}

var revocations = []revocationCase{
	{"the key is revoked", "viewer", func(w *revoked) { w.admin.OK("DELETE", "/v1/api-keys/"+string(w.key), nil) }},
	{"the key is rotated out", "builder", func(w *revoked) {
		w.member.OK("POST", "/v1/api-keys/"+string(w.key)+"/rotate", map[string]any{})
	}},
	{"the user is removed", "viewer", func(w *revoked) {
		require.NoError(w.T, w.store.RemoveMember(w.T.Context(), w.org(), catalog.UserID(w.member.User)))
	}},
	{"the role is lowered", "editor", func(w *revoked) {
		w.admin.OK("PUT", w.path("/users/"+w.member.User+"/role"), map[string]string{"role": "viewer"})
	}},
	{"the attributes change", "viewer", func(w *revoked) {
		w.admin.OK("PUT", w.path("/users/"+w.member.User+"/attributes"), map[string]string{"region": "r2"})
	}},
	{"a policy on the table is made", "viewer", func(w *revoked) { w.policyOn(w.table.FQN(), "region") }},
	{"a policy on every table with a column of the table is made", "viewer", func(w *revoked) { w.policyOn(nil, "region") }},
	{"the user leaves the workspace", "viewer", func(w *revoked) {
		require.NoError(w.T, w.store.RemoveWorkspaceMember(w.T.Context(), w.org(), w.config.Workspace, catalog.UserID(w.member.User)))
	}},
	{"the configuration is deleted", "viewer", func(w *revoked) {
		require.NoError(w.T, w.store.DeleteStorageConfig(w.T.Context(), w.owner(), w.config.ID, catalog.AnyVersion))
	}},
	{"the table is dropped", "viewer", func(w *revoked) {
		require.NoError(w.T, w.store.DropTable(w.T.Context(), w.owner(), w.table.ID, catalog.AnyVersion))
	}},
}

// prepared makes a configuration with a table, in a workspace of its own, and a
// member with a key for one revocation.
func prepared(s *harness.Server, t *testing.T, store catalog.Store, name, role string) *revoked {
	t.Helper()
	on := *s
	on.T, on.Admin = t, &harness.Client{T: t, URL: s.URL, Key: s.Admin.Key, User: s.Admin.User}
	s = &on
	w := &revoked{Server: s, store: store}
	slug := strings.ReplaceAll(name, " ", "-")
	shared, err := store.CreateWorkspace(s.T.Context(), catalog.NewWorkspace{Org: w.org(), Name: slug, Creator: catalog.UserID(s.Admin.User)})
	require.NoError(s.T, err)
	user := s.Member(slug+"@acme.example", role, map[string]string{"region": "r1"}).User
	_, err = store.SetWorkspaceMember(s.T.Context(), w.org(), shared.ID, catalog.UserID(user), catalog.RoleEditor)
	require.NoError(s.T, err)
	scopes := harness.BuilderScopes
	if role == "admin" {
		scopes = harness.AdminScopes
	}
	w.member, w.key = keyIn(s, store, shared, user, scopes)
	w.admin, _ = keyIn(s, store, shared, s.Admin.User, harness.AdminScopes)
	made := w.admin.OK("POST", harness.ConfigsPath, map[string]any{"configName": slug, "kind": "local", "root": slug,
		"workspaceId": string(shared.ID)})
	harness.WriteTable(s.T, filepath.Join(s.Config.LocalRoots[0], slug, "sales"), salesRows, nil, column{"id", "long"},
		column{"region", "string"})
	w.admin.OK("POST", harness.ConfigsPath+"/"+made["configId"].(string)+"/discover", nil)
	w.config, err = store.StorageConfigBySchema(s.T.Context(), w.owner(), made["schema"].(string))
	require.NoError(s.T, err)
	found, err := store.ResolveTables(s.T.Context(), w.owner(), []catalog.TableName{{Schema: made["schema"].(string), Table: "sales"}})
	require.NoError(s.T, err)
	require.NoError(s.T, found[0].Err)
	w.table = found[0].Table
	return w
}

// keyIn makes a key for a workspace.
func keyIn(s *harness.Server, store catalog.Store, workspace catalog.Workspace, user string, scopes []string) (*harness.Client,
	catalog.KeyID) {
	s.T.Helper()
	key := apikey.Generate()
	made, err := store.CreateAPIKey(s.T.Context(), catalog.NewAPIKey{
		Org: workspace.Org, User: catalog.UserID(user), Name: "test", Prefix: key.Prefix(), Hash: key.Hash(),
		Scopes: scopes, Workspace: workspace.ID, ExpiresAt: time.Now().Add(time.Hour),
	})
	require.NoError(s.T, err)
	return s.Client(key.Reveal(), user), made.ID
}

// TestRevocationsEndRunningWork checks that all running work of a member ends: a stream
// that is read, a stream whose client has stopped reading, a statement before its
// first row, a page of rows, and an asynchronous query.
func TestRevocationsEndRunningWork(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.MaxRunning, c.Threads, c.Memory, c.Lease = 8, 1, 2048, 128 })
	store := openCatalog(s)
	for _, c := range revocations {
		t.Run(c.name, func(t *testing.T) {
			w := prepared(s, t, store, c.name, c.role)
			w.endsWhatRuns(t, c, w.member)
		})
	}
}

// endsWhatRuns starts work of the member through a client of some replica, makes
// the change and waits for the work to end.
func (w *revoked) endsWhatRuns(t *testing.T, c revocationCase, there *harness.Client) {
	rows, work := endless(w.config.Schema() + ".sales")
	operation := there.Start(rows)
	there.InState(operation, "running")
	live := startStream(there, rows, 0)
	stalled := openNDJSON(there, "POST", "/v1/query", map[string]any{"sql": rows})
	early := make(chan harness.Reply, 1)
	go func() { early <- there.Query(work) }()
	require.Eventually(t, func() bool { return w.running(t, there) >= 4 }, 10*time.Second, 10*time.Millisecond)
	harness.Pause(t.Context(), 500*time.Millisecond) // the stalled stream has filled its buffers

	c.do(w)
	since := time.Now()
	live.broken(t, since)
	select {
	case r := <-early:
		t.Logf("the statement ended after %v at most", time.Since(since))
		code, _ := r.Problem(t, http.StatusConflict)
		require.Equal(t, "query_cancelled", code)
	case <-time.After(time.Until(since.Add(promptly))):
		t.Fatal("the statement goes on")
	}
	require.Eventually(t, func() bool { return w.running(t, there) == 0 }, time.Until(since.Add(promptly)), 5*time.Millisecond,
		"the stalled stream goes on")
	t.Logf("nothing ran after %v", time.Since(since))
	_, err := io.Copy(io.Discard, stalled.Body)
	require.Error(t, err, "the stalled stream looks complete")
	// The operation is recorded as cancelled after its statement has ended.
	var ended catalog.Operation
	require.Eventually(t, func() bool {
		ended, err = w.store.Operation(t.Context(), w.org(), catalog.OperationID(operation["id"].(string)))
		return err == nil && ended.State == catalog.OperationCancelled
	}, promptly, 5*time.Millisecond)
	require.Equal(t, "query_cancelled", ended.Problem.Code)
}

// running is how many statements run on the server of a client.
func (w *revoked) running(t testing.TB, there *harness.Client) int {
	t.Helper()
	on := harness.Server{URL: there.URL}
	return int(on.Metric(t, `lakewarden_sessions{state="running"}`))
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
	s := harness.Shared(t)
	store := openCatalog(s)
	w := prepared(s, t, store, "mine", "viewer")
	s.Policy("", "", `{"effect":"permit","subject":{"everyone":true}}`)
	other := prepared(s, t, store, "others", "editor")
	from := w.config.Schema() + ".sales"
	stream := startStream(w.member, "SELECT a.id, b.id AS other FROM "+from+" a, "+from+" b", 2*time.Millisecond)
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
	<-stream.ended
	require.Equal(t, io.EOF, stream.err)
	require.EqualValues(t, 1_000_000, stream.lines.Load())
	require.Equal(t, "succeeded", w.member.Await(kept)["state"])
}

// TestKeysEndWhatRunsWhenTheyExpire checks that work ends at the key's expiry,
// although nothing changes in the catalog then.
func TestKeysEndWhatRunsWhenTheyExpire(t *testing.T) {
	s := harness.Shared(t)
	w := prepared(s, t, openCatalog(s), "expiry", "builder")
	rows, _ := endless(w.config.Schema() + ".sales")
	live := startStream(w.member, rows, 0)
	w.member.OK("POST", "/v1/api-keys/"+string(w.key)+"/rotate", map[string]any{"grace_seconds": 2})
	expires := time.Now().Add(2 * time.Second)
	live.broken(t, expires)
	require.Greater(t, live.at, expires.Add(-100*time.Millisecond), "the key was still good")
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
	}, 20*time.Second, 10*time.Millisecond)
	w.admin.OK("PUT", w.path("/users/"+w.member.User+"/attributes"), map[string]string{"region": "r2"})
	since := time.Now()
	for path, answer := range replies {
		select {
		case r := <-answer:
			require.Equal(t, http.StatusConflict, r.Status, "%s: %s", path, r.Body)
			code, _ := r.Problem(t, http.StatusConflict)
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
	require.Equal(t, version, w.Version(t, table), "nothing was written")
}

// Version is the newest version of a table.
func (w *revoked) Version(t testing.TB, table string) any {
	t.Helper()
	history := w.admin.OK("GET", table+"/history", nil)
	return history["versions"].([]any)[0].(map[string]any)["version"]
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
	require.Eventually(t, func() bool { return w.running(t, w.member) >= 1 }, 20*time.Second, 10*time.Millisecond)
	harness.Pause(t.Context(), 300*time.Millisecond)
	w.admin.OK("PUT", w.path("/users/"+w.member.User+"/role"), map[string]string{"role": "viewer"})
	w.admin.OK("DELETE", w.path("/workspaces/"+string(w.config.Workspace)+"/members/"+w.member.User), nil)
	since := time.Now()
	for name, answer := range map[string]chan harness.Reply{"insert": insert, "delete": remove} {
		select {
		case r := <-answer:
			code, _ := r.Problem(t, http.StatusConflict)
			require.Equal(t, "query_cancelled", code, name)
			t.Logf("%s ended after %v at most", name, time.Since(since))
		case <-time.After(time.Until(since.Add(promptly))):
			t.Fatalf("%s goes on", name)
		}
	}
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
			live.broken(t, time.Now())
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
	require.Eventually(t, func() bool { return w.running(t, w.member) == 0 }, 60*time.Second, 50*time.Millisecond, "the rest is never spilled")
	w.admin.OK("DELETE", "/v1/api-keys/"+string(w.key), nil)
	require.Eventually(t, func() bool { return s.Metric(t, "lakewarden_spilled_streams") == 0 }, promptly, 20*time.Millisecond,
		"the rows stay on disk")
	lines := 0
	text := bufio.NewScanner(stalled.Body)
	for text.Scan() {
		lines++
	}
	require.Error(t, text.Err(), "the stream looks complete")
	require.Less(t, lines, 1_000_000)
}
