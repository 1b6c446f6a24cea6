package policy_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// openCatalog opens the catalog next to the server, as the command line does.
func openCatalog(s *harness.Server) catalog.Store {
	s.T.Helper()
	store, err := s.OpenCatalog(context.Background())
	require.NoError(s.T, err)
	s.T.Cleanup(func() { require.NoError(s.T, store.Close()) })
	return store
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
	{"the configuration is attached elsewhere", "viewer", func(w *revoked) {
		elsewhere := w.Admin.OK("POST", w.path("/workspaces"), map[string]any{"name": "elsewhere " + string(w.config.ID)})["id"]
		w.Admin.OK("POST", harness.ConfigsPath+"/"+string(w.config.ID)+"/attach", map[string]any{"workspaceId": elsewhere})
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

// endsWhatRuns starts work of the member through a client of some replica, makes
// the change and waits for the work to end. told is 1 if the stream that is read names the
// error, else 0.
func (w *revoked) endsWhatRuns(t *testing.T, c revocationCase, there *harness.Client) (told int) {
	rows, work := endless(w.config.Schema() + ".sales")
	operation := there.Start(rows)
	there.InState(operation, "running")
	live := startStream(there, rows, 0)
	stalled := openNDJSON(there, "POST", "/v1/query", map[string]any{"sql": rows})
	early := make(chan harness.Reply, 1)
	go func() { early <- there.Query(work) }()
	require.Eventually(t, func() bool { return w.running(t, there) >= 4 }, time.Minute, 10*time.Millisecond)
	harness.Pause(t.Context(), 500*time.Millisecond) // the stalled stream has filled its buffers

	c.do(w)
	kept := promised(t)
	if live.broken(t) {
		told = 1
	}
	code, _ := (<-early).Problem(t, http.StatusConflict)
	require.Equal(t, "query_cancelled", code)
	require.Eventually(t, func() bool { return w.running(t, there) == 0 }, time.Minute, 5*time.Millisecond, "the stalled stream goes on")
	kept("nothing runs")
	_, err := io.Copy(io.Discard, stalled.Body)
	require.Error(t, err, "the stalled stream looks complete")
	// The operation is recorded as cancelled after its statement has ended.
	var ended catalog.Operation
	require.Eventually(t, func() bool {
		ended, err = w.store.Operation(t.Context(), w.org(), catalog.OperationID(operation["id"].(string)))
		return err == nil && ended.State == catalog.OperationCancelled
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, "query_cancelled", ended.Problem.Code)
	return told
}

// running is how many statements run on the server of a client.
func (w *revoked) running(t testing.TB, there *harness.Client) int {
	t.Helper()
	on := harness.Server{URL: there.URL}
	return int(on.Metric(t, `lakewarden_sessions{state="running"}`))
}

// Version is the newest version of a table.
func (w *revoked) Version(t testing.TB, table string) any {
	t.Helper()
	history := w.admin.OK("GET", table+"/history", nil)
	return history["versions"].([]any)[0].(map[string]any)["version"]
}
