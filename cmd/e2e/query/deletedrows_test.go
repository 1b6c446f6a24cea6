package query_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestNoStatementSeesDeletedRows checks that callers who see all rows and callers who see
// some do not see rows behind deletion vectors, however a statement runs: in place, from
// a copy, by position, over a historical version, or with an error about a value.
func TestNoStatementSeesDeletedRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r2"})
	writer := s.Member("wil@acme.example", "editor", map[string]string{"region": "r2"})
	for _, mapping := range []string{"none", "name", "id"} {
		name := "t" + mapping
		path := s.Create(name, object{"properties": object{"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": mapping}},
			harness.Col("id", "long", "isPrimaryKey", true), harness.Col("region", "string"), harness.Col("n", "string"))
		var rows list
		for id := range 60 {
			rows = append(rows, object{"id": id, "region": fmt.Sprintf("r%d", id%3), "n": fmt.Sprint(id)})
		}
		s.Admin.Write(path+"/rows", harness.RowsOf(rows...))
		s.Policy(name, "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
		s.Policy(name, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
		table := s.Schema + "." + name
		reads := func(who *harness.Client, want ...float64) {
			var ids list
			sum := 0.0
			for _, id := range want {
				ids, sum = append(ids, list{id}), sum+id
			}
			where := " WHERE id < 12"
			require.Equal(t, ids, who.Rows("SELECT id FROM "+table+where+" ORDER BY id"), name)
			require.Equal(t, list{list{float64(len(want))}}, who.Rows("SELECT count(*) FROM "+table+where), name)
			require.Equal(t, list{list{sum}}, who.Rows("SELECT CAST(sum(a.id) AS BIGINT) FROM "+table+" a JOIN "+table+
				" b ON a.id = b.id AND a.region = b.region WHERE a.id < 12"), name)
			for range 2 { // the second time it may be cached
				for _, condition := range []string{
					"id = CAST(n AS BIGINT) AND id < 12 AND n NOT LIKE '%x%'", "CAST(n AS BIGINT) < 12", "CAST(n AS BIGINT) BETWEEN 0 AND 11",
					"abs(CAST(n AS BIGINT)) < 12", "CASE WHEN CAST(n AS BIGINT) < 12 THEN true ELSE false END",
					"id < 12 AND CAST(n AS TINYINT) IS NOT NULL",
					"date_part('day', CAST('2020-01-' || (1 + CAST(n AS BIGINT) % 20) AS DATE)) > 0 AND id < 12",
				} {
					require.Equal(t, ids, who.Rows("SELECT id FROM "+table+" WHERE "+condition+" ORDER BY id"), "%s %s", name, condition)
				}
			}
		}
		reads(s.Admin, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		reads(ana, 2, 5, 8, 11)
		// Values on which a cast fails, in rows of both kinds that go at once.
		s.Admin.Write(path+"/rows/update", object{"where": "id IN (1, 5)", "set": object{"n": "'x' || n"}})
		s.Admin.Write(path+"/rows/delete", object{"where": "id IN (1, 5, 6)"})
		reads(s.Admin, 0, 2, 3, 4, 7, 8, 9, 10, 11)
		reads(ana, 2, 8, 11)
		// Who sees some rows changes those, by position, and never one that is gone.
		_, updated, _ := writer.Write(path+"/rows/update", object{"where": "id < 10", "set": object{"n": "CAST(CAST(n AS BIGINT) AS VARCHAR)"}})
		require.Equal(t, 2.0, updated, name)
		_, _, deleted := writer.Write(path+"/rows/delete", object{"where": "id IN (1, 2, 3, 5)"})
		require.Equal(t, 1.0, deleted, name)
		reads(s.Admin, 0, 3, 4, 7, 8, 9, 10, 11)
		reads(ana, 8, 11)
		reads(writer, 8, 11)
		// A key that is gone is free, a hidden one is not.
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 5, "region": "r2", "n": "5"}))
		reads(ana, 5, 8, 11)
		code, _ := writer.Call("POST", path+"/rows", harness.RowsOf(object{"id": 3, "region": "r2", "n": "3"})).Problem(t, 409)
		require.Equal(t, "key_conflict", code)
		require.Equal(t, list{list{60.0}}, s.Admin.Rows("SELECT count(*) FROM "+table+" AT (VERSION => 1)"), name)
	}
}
