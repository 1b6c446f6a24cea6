package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestGovernedTablesMoveBetweenClouds moves a table from a directory through a store of every kind and back.
// All rules of the table apply at each place.
func TestGovernedTablesMoveBetweenClouds(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	s := harness.StartS3Server(t)
	m := newMovable(s, "governed")
	viewer := s.Member("viewer@acme.example", "viewer", nil)
	g := newGoverned(m, viewer)
	added := func(body object) shared {
		c := s.Admin.OK("POST", harness.ConfigsPath, with(body, object{"workspaceId": s.Boot.WorkspaceID}))
		return shared{c["configId"].(string), c["schema"].(string)}
	}
	azure, gcs := azureCloud(t), gcsCloud(t)
	folder := "a"
	for i, to := range []shared{
		added(with(object{"configName": "azure", "kind": "azure"}, azure.settings, azure.first)),
		added(with(object{"configName": "gcs", "kind": "gcs"}, gcs.settings, gcs.first)),
		added(harness.S3Body(store, store.Bucket(t), nil)),
		m.to,
	} {
		m.to = to
		next := []string{"one", "two/deep", "", "home"}[i]
		started := s.Admin.Call("POST", movePath, m.body(folder, next), "Prefer", "respond-async")
		require.Equal(t, 202, started.Status, "%s", started.Body)
		ended := s.Admin.Await(started.JSON(t))
		require.Equal(t, "succeeded", ended["state"], "%v", ended)
		progress := ended["progress"].(object)
		require.Positive(t, progress["done"])
		require.Equal(t, progress["total"], progress["done"])
		require.EqualValues(t, 4, ended["result"].(object)["tablesDeregistered"])
		m.from, folder = m.to, next
		g.judge(to.schema)
	}
	require.Zero(t, m.files("governed-from"))
}

// governed is a table with rules of every kind, which stays one table wherever it is moved.
type governed struct {
	movable
	viewer   *harness.Client
	id       string
	versions int
	rows     int
}

func newGoverned(m movable, viewer *harness.Client) *governed {
	m.T.Helper()
	admin, schema := m.Admin, m.from.schema
	admin.Call("POST", "/v1/tables", m.NewTable(schema, "places", object{"path": "a/places"}, harness.Col("place", "string"))).JSON(m.T)
	admin.Write(m.table(schema, "places")+"/rows", harness.RowsOf(object{"place": "here"}, object{"place": "there"}))
	made := admin.Call("POST", "/v1/tables", m.NewTable(schema, "chosen", object{"path": "a/ruled"},
		harness.Col("id", "long", "isPrimaryKey", true), harness.Col("kind", "string"), harness.Col("place", "string"))).JSON(m.T)
	table := m.table(schema, "chosen")
	admin.OK("POST", table+"/constraints", object{"constraints": []any{object{"name": "small", "expr": "id < 1000"}}})
	admin.OK("PUT", table+"/columns/kind/domain/fixed", object{"values": []any{"new", "old"}})
	admin.OK("PUT", table+"/columns/place/domain/reference", object{"table_path": "lake." + schema + ".places", "column": "place"})
	admin.OK("POST", m.org+"/policies", object{
		"kind": "rls", "tableFqn": "lake." + schema + ".chosen", "columnName": "id",
		"definition": harness.Definition(`{"effect":"permit","subject":{"role":"admin"},"condition":null}`),
	})
	g := &governed{movable: m, viewer: viewer, id: made["tableId"].(string)}
	g.judge(schema)
	return g
}

// judge writes one row that all rules allow, and one for each rule that violates it.
func (g *governed) judge(schema string) {
	g.T.Helper()
	table := g.table(schema, "chosen")
	require.Equal(g.T, g.id, g.Admin.OK("GET", table, nil)["tableId"])
	require.EqualValues(g.T, g.rows, g.Admin.Count(schema+".chosen"))
	require.EqualValues(g.T, 0, g.viewer.Count(schema+".chosen"), "the policy")
	versions := len(g.Admin.OK("GET", table+"/history", nil)["versions"].([]any))
	require.GreaterOrEqual(g.T, versions, g.versions)
	row := func(id int, kind, place string) object { return object{"id": id, "kind": kind, "place": place} }
	inserted, _, _ := g.Admin.Write(table+"/rows", harness.RowsOf(row(g.rows, "new", "here")))
	require.EqualValues(g.T, 1, inserted)
	g.rows, g.versions = g.rows+1, versions+1
	for rule, bad := range map[string]object{
		"key": row(0, "new", "here"), "constraint": row(5000, "new", "here"), "domain": row(77, "other", "here"),
		"reference": row(77, "new", "nowhere"),
	} {
		r := g.Admin.Call("POST", table+"/rows", harness.RowsOf(bad))
		require.Contains(g.T, []int{409, 422}, r.Status, "%s: %s", rule, r.Body)
	}
	require.EqualValues(g.T, g.rows, g.Admin.Count(schema+".chosen"))
}
