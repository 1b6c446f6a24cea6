package query_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestDefectsOfTheEngineAreNoReasonToRetry: a statement that fails by an internal error of the
// engine each time says so, for callers of all rows and of some, and ends nothing else.
func TestDefectsOfTheEngineAreNoReasonToRetry(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", "SELECT i AS id, 's' || i % 3 AS sid, DATE '2024-01-01' + i::INTEGER AS d FROM range(9) r(i)", nil,
		column{"id", "long"}, column{"sid", "string"}, column{"d", "date"})
	s.Table("shown", "SELECT i AS id, 's' || i % 3 AS sid, DATE '2024-01-01' + i::INTEGER AS d FROM range(9) r(i)", nil,
		column{"id", "long"}, column{"sid", "string"}, column{"d", "date"})
	s.Policy("shown", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	ana := s.Member("ana@acme.example", "viewer", nil)
	for _, table := range []string{"main_data.t", "main_data.shown"} {
		for _, sql := range []string{
			"SELECT o.sid, x.h FROM " + table + " o, LATERAL (WITH w AS (SELECT sid, d FROM " + table + " WHERE sid = o.sid) " +
				"SELECT EXISTS (SELECT 1 FROM w i WHERE i.sid = c.sid AND i.d <= c.d) AS h FROM w c) x",
			"SELECT switch('a', MAP {'a': id}) FROM " + table,
			"SELECT date_diff('era', d, d) FROM " + table, "SELECT date_diff(sid, d, d) FROM " + table,
		} {
			for _, c := range []*harness.Client{s.Admin, ana} {
				r := c.Query(sql)
				require.Contains(t, []int{400, 422}, r.Status, "%s: %s", sql, r.Body)
				code, _ := r.Problem(t, r.Status)
				require.Contains(t, []string{"engine_cannot", "value_error", "invalid_statement", "argument_not_allowed"}, code, sql)
				require.Empty(t, r.Header.Get("Retry-After"), sql)
				t.Log(code, sql)
			}
		}
	}
	require.Equal(t, 9.0, s.Admin.Count("main_data.t"))
}

// TestDefectsOfTheEngineHaveOneAnswer checks that every route refuses a condition or expression that
// meets an internal error of the engine each time, with the same code and before any row is changed.
func TestDefectsOfTheEngineHaveOneAnswer(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	const rows = "SELECT i AS id, 's' || i % 3 AS sid, DATE '2024-01-01' + i::INTEGER AS d, i % 2 AS p FROM range(9) r(i)"
	columns := []column{{"id", "long"}, {"sid", "string"}, {"d", "date"}, {"p", "long"}}
	s.Table("t", rows, []string{"p"}, columns...)
	s.Table("shown", rows, []string{"p"}, columns...)
	s.Policy("shown", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	bob := s.Member("bob@acme.example", "builder", nil)
	fields := map[string]string{"rows": "where", "ordered": "where", "update": "body", "set": "body", "delete": "where", "optimize": "where",
		"summary": "where", "explain": "where", "query": "sql", "NDJSON": "sql", "CSV": "sql", "Arrow": "sql", "Parquet": "sql"}
	const inSet = "switch('a', MAP {'a': id})"
	for _, name := range []string{"t", "shown"} {
		path, table := s.TablePath(name), "main_data."+name
		c, count := s.Admin, 9.0
		if name == "shown" {
			c, count = bob, 4
		}
		for defect, where := range map[string]string{
			"when it runs": "switch('a', MAP {'a': id}) = 1",
			"when it is planned": "id IN (SELECT id FROM " + table + " o, LATERAL (WITH w AS (SELECT sid, d FROM " + table +
				" WHERE sid = o.sid) SELECT EXISTS (SELECT 1 FROM w i WHERE i.sid = c.sid AND i.d <= c.d) AS h FROM w c) x WHERE x.h)",
		} {
			sql := "SELECT * FROM " + table + " WHERE " + where
			query := func(accept string) harness.Reply {
				return c.Call("POST", "/v1/query", object{"sql": sql}, "Accept", accept)
			}
			for ask, r := range map[string]harness.Reply{
				"query":    c.Query(sql),
				"NDJSON":   query("application/x-ndjson"),
				"CSV":      query("text/csv"),
				"Arrow":    query("application/vnd.apache.arrow.stream"),
				"Parquet":  query("application/vnd.apache.parquet"),
				"rows":     c.Call("GET", path+"/rows?where="+url.QueryEscape(where), nil),
				"ordered":  c.Call("GET", path+"/rows?order_by=id&where="+url.QueryEscape(where), nil),
				"update":   c.Call("POST", path+"/rows/update", object{"where": where, "set": object{"sid": "'x'"}}),
				"set":      c.Call("POST", path+"/rows/update", object{"where": "true", "set": object{"id": inSet}}),
				"delete":   c.Call("POST", path+"/rows/delete", object{"where": where}),
				"optimize": c.Call("POST", path+"/optimize", object{"where": "switch('a', MAP {'a': p}) = 1"}),
				"summary":  c.Call("POST", path+"/analyze", object{"action": "summary", "where": where}),
				"explain":  c.Call("POST", path+"/explain-rows", object{"where": where}),
			} {
				if ask == "optimize" && name == "shown" {
					require.Equal(t, 403, r.Status, "a change of the whole table: %s", r.Body)
					continue
				}
				require.Equal(t, 422, r.Status, "%s, %s %s: %s", name, ask, defect, r.Body)
				code, _ := r.Problem(t, 422)
				require.Equal(t, "engine_cannot", code, "%s, %s %s", name, ask, defect)
				require.Len(t, r.Details(t), 1)
				require.Contains(t, r.Details(t), fields[ask], "%s: %s", ask, r.Body)
				require.Empty(t, r.Header.Get("Retry-After"))
			}
			operation := c.Await(c.Start(sql))
			require.Equal(t, "failed", operation["state"], defect)
			require.Equal(t, "engine_cannot", operation["error"].(object)["code"], defect)
		}
		require.Equal(t, count, s.Admin.Count(table))
	}
}
