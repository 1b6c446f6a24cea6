//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSparkReadsTheIDsThatRowsHad lets Spark create tables with row tracking, which
// the server and Spark change in turn. After every change, Spark has to read the
// same id for each existing row, and the same commit version for each unchanged
// row.
func TestSparkReadsTheIDsThatRowsHad(t *testing.T) {
	w := newTestServer(t)
	at := slices.IndexFunc(w.judges, func(j judge) bool { return j.name == "spark" })
	for _, kind := range []struct{ name, properties string }{
		{"copied", "'delta.enableDeletionVectors'='false'"},
		{"mapped_by_id", "'delta.enableDeletionVectors'='false', 'delta.columnMapping.mode'='id'"},
		{"deletion_vectors", "'delta.enableDeletionVectors'='true'"},
		{"mapped_by_name", "'delta.enableDeletionVectors'='false', 'delta.columnMapping.mode'='name', 'delta.enableChangeDataFeed'='true'"},
	} {
		for _, in := range w.places {
			if in.name != "local" && kind.name != "copied" {
				continue // the storage does not matter
			}
			t.Run(kind.name+"/"+in.name, func(t *testing.T) {
				tr := newTracked(t, w, w.judges[at], in, "tracked_"+kind.name, kind.properties)
				for _, change := range trackedChanges() {
					tr.change(change)
				}
			})
		}
	}
}

// trackedChange is a change by Spark's SQL, or otherwise by a request to the
// server.
type trackedChange struct {
	sql  string
	path string
	body any
}

func trackedChanges() []trackedChange {
	return []trackedChange{
		{path: "/rows/update", body: object{"where": "id = 2", "set": object{"v": "'ours'"}}},
		{sql: "UPDATE {table} SET v = 'spark' WHERE id IN (3, 6)"},
		{path: "/rows/delete", body: object{"where": "id = 5"}},
		{path: "/rows/merge", body: object{"on": list{"id"}, "rows": list{object{"id": 6, "v": "merged"}, object{"id": 20, "v": "new", "x": 1}}}},
		{path: "/rows/merge", body: object{
			"on": list{"id"}, "rows": list{object{"id": 3, "v": "whole", "x": 3}, object{"id": 21, "v": "new", "x": 1}},
		}},
		{sql: "MERGE INTO {table} t USING (SELECT 7 AS id UNION ALL SELECT 20 UNION ALL SELECT 30) s ON t.id = s.id " +
			"WHEN MATCHED THEN UPDATE SET x = 70 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"},
		{path: "/rows", body: rows(object{"id": 40, "v": "late"})},
		{path: "/optimize", body: object{}},
		{path: "/rows/update", body: object{"where": "id < 8", "set": object{"x": "coalesce(x, 0) + 1"}}},
		{sql: "DELETE FROM {table} WHERE id = 30"},
		{sql: "INSERT INTO {table} VALUES (50, 'last', 0)"},
		{sql: "OPTIMIZE {table}"},
		{path: "/rows", body: rows(object{"id": 41, "v": "later"})},
		{path: "/optimize", body: object{"zorder_by": list{"v", "x"}}},
		{path: "/rows/merge", body: object{"rows": list{object{"id": 40}, object{"id": 1}}, "on": list{"id"}, "when_matched": "delete",
			"when_not_matched": "ignore"}},
		{sql: "UPDATE {table} SET x = coalesce(x, 0) + 1"},
	}
}

// identity holds a row's id and commit version as Spark reads them.
type identity struct{ id, version string }

// trackedTable is a table with row tracking.
type trackedTable struct {
	*table
	spark    judge
	rows     map[string]string // by the value of column id
	ids      map[string]identity
	assigned map[string]string // all row ids seen so far, with the row
}

func newTracked(t *testing.T, w *testServer, spark judge, in place, name, properties string) *trackedTable {
	t.Helper()
	tr := &trackedTable{table: &table{t: t, w: w, in: in, name: name, path: "/v1/tables/lake/" + in.schema + "/" + name}, spark: spark,
		assigned: map[string]string{}}
	tr.sql("CREATE TABLE {table} (id BIGINT, v STRING, x INT) USING delta TBLPROPERTIES ('delta.enableRowTracking'='true', " + properties +
		")")
	tr.sql("INSERT INTO {table} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL), (4, NULL, 4)")
	tr.sql("INSERT INTO {table} VALUES (5, 'e', 5), (6, 'f', 6), (7, 'g', 7), (8, 'h', 8)")
	for _, c := range w.send(t, "GET", "/v1/storages/configs", nil)["configs"].(list) {
		if c := c.(object); c["schema"] == in.schema {
			w.send(t, "POST", "/v1/storages/configs/"+c["configId"].(string)+"/discover", nil)
		}
	}
	tr.refresh()
	return tr
}

func (tr *trackedTable) sql(text string) {
	tr.t.Helper()
	r := tr.request("sql")
	r.SQL = text
	require.Empty(tr.t, tr.spark.ask(tr.t, r).Refused, "%s", text)
}

// refresh reads rows and ids.
func (tr *trackedTable) refresh() {
	tr.t.Helper()
	tr.rows, tr.ids = map[string]string{}, map[string]identity{}
	for _, row := range tr.served().Rows {
		tr.rows[idOf(tr.t, row)] = row
	}
	a := tr.spark.ask(tr.t, tr.request("ids"))
	require.Empty(tr.t, a.Refused)
	for _, row := range a.Rows {
		var cells [3]string
		require.NoError(tr.t, json.Unmarshal([]byte(row), &cells))
		tr.ids[cells[0]] = identity{cells[1], cells[2]}
	}
	require.Len(tr.t, tr.ids, len(tr.rows))
}

// change makes a change and checks the ids after it.
func (tr *trackedTable) change(c trackedChange) {
	tr.t.Helper()
	what := c.sql + c.path
	before, ids, version := tr.rows, tr.ids, tr.version()
	if c.sql != "" {
		tr.sql(c.sql)
	} else {
		tr.post(c.path, c.body)
	}
	tr.refresh()
	require.NotEqual(tr.t, version, tr.version(), "%s changes nothing", what)
	taken := map[string]bool{}
	for id, known := range tr.ids {
		was, stayed := ids[id]
		if stayed {
			require.Equal(tr.t, was.id, known.id, "%s: row %s has another id", what, id)
		} else {
			require.NotContains(tr.t, tr.assigned, known.id, "%s: the new row %s has an id that was assigned before", what, id)
		}
		if stayed && before[id] == tr.rows[id] {
			require.Equal(tr.t, was.version, known.version, "%s: row %s is unchanged", what, id)
		} else {
			require.Equal(tr.t, fmt.Sprint(tr.version()), known.version, "%s: row %s is new or changed", what, id)
		}
		require.False(tr.t, taken[known.id], "%s: two rows have one id", what)
		taken[known.id], tr.assigned[known.id] = true, id
	}
}
