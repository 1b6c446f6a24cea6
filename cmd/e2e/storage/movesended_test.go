package storage_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// held is a movable whose table a/t a write of another replica occupies until release is called, so that a
// move waits before it copies anything.
type held struct {
	movable
	release func()
}

func newHeld(s *harness.Server, name string) held {
	s.T.Helper()
	m := newMovable(s, name)
	store, err := s.OpenCatalog(s.T.Context())
	require.NoError(s.T, err)
	s.T.Cleanup(func() { require.NoError(s.T, store.Close()) })
	first, err := os.ReadFile(filepath.Join(s.Config.LocalRoots[0], name+"-from", "a", "t", "_delta_log", "00000000000000000000.json"))
	require.NoError(s.T, err)
	id := regexp.MustCompile(`"metaData":\{"id":"([^"]+)"`).FindSubmatch(first)
	require.NotNil(s.T, id)
	write, err := store.BeginWrite(s.T.Context(), catalog.NewWrite{
		Org: catalog.OrgID(s.Boot.OrganisationID), Table: catalog.DeltaID(id[1]), Kind: catalog.WriteRows,
	})
	require.NoError(s.T, err)
	return held{m, func() { require.NoError(s.T, store.EndWrite(s.T.Context(), write)) }}
}

// start begins a move that waits for the write.
func (h held) start(by *harness.Client) map[string]any {
	h.T.Helper()
	r := by.Call("POST", movePath, h.body("a", "b"), "Prefer", "respond-async")
	require.Equal(h.T, 202, r.Status, "%s", r.Body)
	started := r.JSON(h.T)
	by.InState(started, "running")
	return started
}

// requireUnmoved checks that a move has changed nothing, and that the tables are writable.
func (h held) requireUnmoved(name string, objects int) {
	h.T.Helper()
	require.Equal(h.T, objects, h.files(name+"-from"))
	require.Zero(h.T, h.files(name+"-to"))
	require.EqualValues(h.T, 10, h.Admin.Count(h.from.schema+".a__t"))
	inserted, _, _ := h.Admin.Write(h.table(h.from.schema, "a__t")+"/rows", harness.RowsOf(map[string]any{"id": 99}))
	require.EqualValues(h.T, 1, inserted)
}

// TestMoveOfABusyTable has a write that lasts longer than a move waits.
func TestMoveOfABusyTable(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	h := newHeld(s, "busy")
	objects := h.files("busy-from")
	started := h.start(s.Admin)
	var ended map[string]any
	require.Eventually(t, func() bool {
		ended = s.Admin.Operation(started)
		return ended["state"] == "failed"
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, "table_busy", ended["error"].(map[string]any)["code"])
	h.requireUnmoved("busy", objects)
}

// TestCancelledMove cancels a move before its switch.
func TestCancelledMove(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	h := newHeld(s, "cancelled")
	objects := h.files("cancelled-from")
	started := h.start(s.Admin)
	s.Admin.OK("DELETE", "/v1/operations/"+started["id"].(string), nil)
	require.Equal(t, "cancelled", s.Admin.Await(started)["state"])
	h.release()
	h.requireUnmoved("cancelled", objects)
	require.EqualValues(t, 2, s.Admin.OK("POST", movePath, h.body("a", "b"))["tablesDeregistered"], "the next move")
}

// TestRightsLostDuringAMove takes rights away from the caller of a move while it waits: it ends before its
// switch.
func TestRightsLostDuringAMove(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	codes := map[string]string{"role": "insufficient_scope", "rows": "table_partly_visible"}
	for name, lose := range map[string]func(h held, by *harness.Client){
		"role": func(h held, by *harness.Client) {
			s.Admin.OK("PUT", h.org+"/users/"+by.User+"/role", map[string]any{"role": "viewer"})
		},
		"rows": func(h held, _ *harness.Client) {
			s.Admin.OK("POST", h.org+"/policies", map[string]any{
				"kind": "rls", "tableFqn": "lake." + h.from.schema + ".a__t", "columnName": "id",
				"definition": harness.Definition(`{"effect":"permit","subject":{"role":"admin"},"condition":null}`),
			})
		},
	} {
		by := s.Member(name+"@acme.example", "builder", nil)
		h := newHeld(s, name)
		objects := h.files(name + "-from")
		started := h.start(by)
		lose(h, by)
		h.release()
		ended := s.Admin.Await(started)
		require.Equal(t, "failed", ended["state"], "%s: %v", name, ended)
		require.Equal(t, codes[name], ended["error"].(map[string]any)["code"], "%s: %v", name, ended)
		h.requireUnmoved(name, objects)
	}
}
