package query_test

import (
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
