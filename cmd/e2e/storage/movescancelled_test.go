package storage_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestCancelledMoveRemovesItsCopies cancels a move that has copied all data and waits for the copy of
// a log: nothing remains at the destination, and the source is untouched.
func TestCancelledMoveRemovesItsCopies(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	var slow atomic.Bool
	front := newGate(t, store.Endpoint, func(_ http.ResponseWriter, r *http.Request) bool {
		if slow.Load() && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "_delta_log") {
			<-r.Context().Done()
		}
		return false
	})
	s := harness.StartS3Server(t)
	m := newMovable(s, "withdrawn")
	remote := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"endpoint": front.URL, "workspaceId": s.Boot.WorkspaceID}))
	m.to = shared{remote["configId"].(string), remote["schema"].(string)}
	objects := m.files("withdrawn-from")
	copied := func() (n int) {
		require.NoError(t, filepath.WalkDir(store.Folder(bucket), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && strings.HasPrefix(path, filepath.Join(store.Folder(bucket), "b")) {
				n++
			}
			return err
		}))
		return n
	}
	slow.Store(true)
	r := s.Admin.Call("POST", movePath, m.body("a", "b"), "Prefer", "respond-async")
	require.Equal(t, 202, r.Status, "%s", r.Body)
	started := r.JSON(t)
	require.Eventually(t, func() bool { return copied() == 2 }, time.Minute, 5*time.Millisecond)
	s.Admin.OK("DELETE", "/v1/operations/"+started["id"].(string), nil)
	slow.Store(false)
	require.Equal(t, "cancelled", s.Admin.Await(started)["state"])
	require.Zero(t, copied())
	require.Equal(t, objects, m.files("withdrawn-from"))
	inserted, _, _ := s.Admin.Write(m.table(m.from.schema, "a__t")+"/rows", harness.RowsOf(map[string]any{"id": 99}))
	require.EqualValues(t, 1, inserted)
	require.EqualValues(t, 11, s.Admin.Count(m.from.schema+".a__t"))
	refusedWith(t, s.Admin.Call("GET", m.table(m.to.schema, "b__t"), nil), 404, "not_found")
	require.EqualValues(t, 2, s.Admin.OK("POST", movePath, m.body("a", "b"))["tablesDeregistered"], "the next move")
	require.EqualValues(t, 11, s.Admin.Count(m.to.schema+".b__t"))
}

// TestRequestThatJoinedACancelledMove has a second request with the same key wait for a move that is
// cancelled.
func TestRequestThatJoinedACancelledMove(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	h := newHeld(s, "joined")
	objects := h.files("joined-from")
	begin := func() map[string]any {
		r := s.Admin.Call("POST", movePath, h.body("a", "b"), "Prefer", "respond-async", "Idempotency-Key", "k")
		require.Equal(t, 202, r.Status, "%s", r.Body)
		started := r.JSON(t)
		s.Admin.InState(started, "running")
		return started
	}
	first := begin()
	harness.Pause(t.Context(), time.Second) // it has the key
	second := begin()
	harness.Pause(t.Context(), time.Second) // it has joined
	s.Admin.OK("DELETE", "/v1/operations/"+first["id"].(string), nil)
	require.Equal(t, "cancelled", s.Admin.Await(first)["state"])
	ended := s.Admin.Await(second)
	require.Equal(t, "failed", ended["state"])
	require.Equal(t, "operation_failed", ended["error"].(map[string]any)["code"])
	h.release()
	h.requireUnmoved("joined", objects)
}

// TestMoveCancelledAfterItsSwitch cancels a move whose tables are at the destination already: the
// operation tells how the move ended, which is as if nobody had cancelled it.
func TestMoveCancelledAfterItsSwitch(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for name, late := range map[string]bool{"undisturbed": false, "disturbed": true} {
		m := newMovable(s, name)
		objects := m.files(name + "-from")
		// The source is not deleted while this statement runs.
		from := make([]string, 12)
		for i := range from {
			from[i] = fmt.Sprintf("%s.a__t t%d", m.from.schema, i)
		}
		reader := s.Admin.Start("SELECT count(*) FROM " + strings.Join(from, ", ") + " WHERE (t0.id * t1.id + t2.id * t3.id) % 7 = 3")
		s.Admin.InState(reader, "running")
		r := s.Admin.Call("POST", movePath, m.body("a", "b"), "Prefer", "respond-async")
		require.Equal(t, 202, r.Status, "%s", r.Body)
		started := r.JSON(t)
		require.Eventually(t, func() bool {
			state, err := sqldb.One(t.Context(), store.DB().Read(), sqldb.Value[string], "SELECT m.state FROM moves m WHERE m.source_config_id = ?",
				m.from.id)
			return err == nil && state == string(catalog.MoveDeleting)
		}, time.Minute, 10*time.Millisecond)
		if late {
			m.addCommit(name + "-from/a/t")
			objects++
		}
		cancelled := s.Admin.OK("DELETE", "/v1/operations/"+started["id"].(string), nil)
		require.Equal(t, []any{"running", true}, []any{cancelled["state"], cancelled["cancelRequested"]})
		harness.Pause(t.Context(), 300*time.Millisecond)
		require.Equal(t, "running", s.Admin.Operation(started)["state"])
		require.Equal(t, objects, m.files(name+"-from"), "statements still read the source")
		s.Admin.OK("DELETE", "/v1/operations/"+reader["id"].(string), nil)
		ended := s.Admin.Await(started)
		if late {
			require.Equal(t, "failed", ended["state"], "%v", ended)
			problem := ended["error"].(map[string]any)
			require.Equal(t, "source_changed", problem["code"])
			require.Contains(t, problem["details"].([]any)[0].(map[string]any)["message"], "is at the destination")
			require.NotZero(t, m.files(name+"-from"), "what was written late")
		} else {
			require.Equal(t, "succeeded", ended["state"], "%v", ended)
			require.EqualValues(t, objects, ended["result"].(map[string]any)["objectsMoved"])
			require.Zero(t, m.files(name+"-from"))
		}
		require.EqualValues(t, 10, s.Admin.Count(m.to.schema+".b__t"))
		inserted, _, _ := s.Admin.Write(m.table(m.to.schema, "b__t")+"/rows", harness.RowsOf(map[string]any{"id": 99}))
		require.EqualValues(t, 1, inserted)
	}
}
