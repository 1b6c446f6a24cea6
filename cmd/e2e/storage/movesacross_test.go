package storage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestMoveBetweenStores moves tables from a local directory to a bucket and back, as an operation
// the second time.
func TestMoveBetweenStores(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	m := newMovable(s, "across")
	remote := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	local := m.to
	m.to = shared{remote["configId"].(string), remote["schema"].(string)}
	objects := m.files("across-from")
	done := s.Admin.OK("POST", movePath, m.body("a", ""))
	require.EqualValues(t, objects, done["objectsMoved"])
	require.Zero(t, m.files("across-from"))
	require.EqualValues(t, 10, s.Admin.Count(m.to.schema+".t"))
	inserted, _, _ := s.Admin.Write(m.table(m.to.schema, "t")+"/rows", harness.RowsOf(map[string]any{"id": 99}))
	require.EqualValues(t, 1, inserted)

	m.from, m.to = m.to, local
	r := s.Admin.Call("POST", movePath, m.body("", "back"), "Prefer", "respond-async", "Idempotency-Key", "back")
	require.Equal(t, 202, r.Status, "%s", r.Body)
	ended := s.Admin.Await(r.JSON(t))
	require.Equal(t, "succeeded", ended["state"], "%v", ended)
	require.Equal(t, "move", ended["kind"])
	require.EqualValues(t, 11, s.Admin.Count(m.to.schema+".back__t"))
	again := s.Admin.Call("POST", movePath, m.body("", "back"), "Idempotency-Key", "back")
	require.Equal(t, 200, again.Status, "%s", again.Body)
	require.Equal(t, ended["result"], any(again.JSON(t)))
}

// TestMoveRightsInWorkspaces checks the rights in both configurations of a move.
func TestMoveRightsInWorkspaces(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	ana, ben := s.Member("ana@acme.example", "builder", nil), s.Member("ben@acme.example", "builder", nil)
	one := newWorkspace(s, "one", map[*harness.Client]string{ana: "builder", s.Admin: "admin"})
	two := newWorkspace(s, "two", map[*harness.Client]string{ana: "builder", ben: "builder", s.Admin: "admin"})
	from, to := newShared(s, s.Admin, "from", one), newShared(s, s.Admin, "to", two)
	own := newShared(s, s.Admin, "own", "")
	body := func(from, to shared) map[string]any {
		return map[string]any{
			"sourceConfigId": from.id, "sourcePath": "t", "destinationConfigId": to.id, "destinationPath": "moved", "dry_run": true,
		}
	}
	refusedWith(t, ben.Call("POST", movePath, body(from, to)), 404, "not_found")
	refusedWith(t, ben.Call("POST", movePath, body(to, from)), 404, "not_found")
	refusedWith(t, ana.Call("POST", movePath, body(from, own)), 404, "not_found")
	require.Equal(t, 200, ana.Call("POST", movePath, body(from, to)).Status)
	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/config", map[string]any{
		"features": []any{map[string]any{"key": "sharing", "enabled": false}},
	})
	refusedWith(t, ana.Call("POST", movePath, body(from, to)), 403, "feature_disabled")
}

// TestAnotherReplicaFinishesAMove checks that tables can be read on every replica during a move
// whose replica has ended, and that another replica finishes it.
func TestAnotherReplicaFinishesAMove(t *testing.T) {
	t.Parallel()
	replicas := harness.StartReplicas(t, 2, nil)
	first, second := replicas[0], replicas[1]
	m := newMovable(first, "replicas")
	store, err := first.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	begun, err := store.BeginMove(t.Context(), catalog.NewMove{
		Org: catalog.OrgID(first.Boot.OrganisationID), User: catalog.UserID(first.Boot.UserID), Fingerprint: "f", Holder: "gone",
		Source: catalog.Place{Config: catalog.ConfigID(m.from.id), Path: "a"},
		Target: catalog.Place{Config: catalog.ConfigID(m.to.id), Path: "b"},
	})
	require.NoError(t, err)
	for _, s := range replicas {
		require.EqualValues(t, 10, s.Admin.Count(m.from.schema+".a__t"))
		r := s.Admin.Call("POST", m.table(m.from.schema, "a__t")+"/rows", harness.RowsOf(map[string]any{"id": 1}))
		refusedWith(t, r, 409, "table_moving")
	}
	require.NoError(t, store.ReleaseMove(t.Context(), begun.ID, "gone"))
	require.Eventually(t, func() bool {
		now, err := store.Move(t.Context(), begun.Org, begun.ID)
		return err == nil && now.State == catalog.MoveDone
	}, time.Minute, 50*time.Millisecond)
	for _, s := range []*harness.Server{second, first} {
		require.EqualValues(t, 10, s.Admin.Count(m.to.schema+".b__t"))
	}
	again := second.Admin.OK("POST", movePath, map[string]any{
		"sourceConfigId": m.to.id, "sourcePath": "b", "destinationConfigId": m.from.id, "destinationPath": "",
	})
	require.EqualValues(t, 2, again["tablesDeregistered"])
	require.EqualValues(t, 10, first.Admin.Count(m.from.schema+".t"))
}
