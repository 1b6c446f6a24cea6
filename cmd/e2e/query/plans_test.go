package query_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestPlansRevealNoPolicies(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("orders", `SELECT i AS id, 'secret ' || i AS customer FROM range(5) t(i)`, nil, column{"id", "long"},
		column{"customer", "string"})
	sql := "EXPLAIN SELECT customer, count(*) FROM " + s.Schema + ".orders WHERE id > 2 GROUP BY customer"
	before := s.Admin.Query(sql)
	plan := s.Admin.Rows(sql)
	require.Greater(t, len(plan), 2, "%s", before.Body)
	require.Contains(t, string(before.Body), "orders")
	s.Policy("orders", "customer", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"eq","value":"secret 3"}}`)
	require.Equal(t, plan, s.Admin.Rows(sql), "the same for whom rows are hidden")
	require.NotContains(t, string(before.Body), dir)
	s.Admin.Query("EXPLAIN SELECT * FROM "+s.Schema+".nothing").Problem(t, 400)
}

// TestExplainAnalyzeNeedsFullVisibility checks that EXPLAIN ANALYZE returns operators,
// rows and times, and that it is refused if anything is hidden from the caller.
func TestExplainAnalyzeNeedsFullVisibility(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("orders", `SELECT i AS id, 'secret ' || i AS customer FROM range(5000) t(i)`, nil, column{"id", "long"},
		column{"customer", "string"})
	for _, name := range []string{"rows_hidden", "column_hidden", "masked"} {
		s.Table(name, `SELECT i AS id, 'secret ' || i AS customer FROM range(50) t(i)`, nil, column{"id", "long"}, column{"customer", "string"})
	}
	from := " FROM " + s.Schema + "."
	for range 3 { // a statement that came before is prepared already
		plan := lines(s.Admin.Rows("EXPLAIN ANALYZE SELECT customer, count(*)"+from+"orders WHERE id >= ? GROUP BY customer ORDER BY 2 LIMIT 3",
			4000))
		require.Regexp(t, `^TOTAL \(\d+\.\d{3} ms\)\n`, plan)
		require.Regexp(t, `(?m)^ *(TOP_N|ORDER_BY) \(3 rows, \d+\.\d{3} ms\)$`, plan)
		require.Regexp(t, `(?m)^ *HASH_GROUP_BY \(1000 rows, `, plan)
		require.NotContains(t, plan, "secret")
		require.NotContains(t, plan, "parquet")
		require.NotContains(t, plan, filepath.Base(dir))
	}
	require.Regexp(t, "^TOTAL", lines(s.Admin.Rows("EXPLAIN ANALYZE SELECT 1")))
	require.Len(t, s.Admin.Rows("SELECT id"+from+"orders WHERE id < 3"), 3, "statements that follow give their rows")
	code, _ := s.Admin.Query("EXPLAIN ANALYZE SELECT customer::INT"+from+"orders").Problem(t, 422)
	require.Equal(t, "value_error", code)

	s.Policy("rows_hidden", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gte","value":0}}`)
	s.Rule("cls", "column_hidden", "customer", `{"effect":"permit","subject":{"role":"viewer"}}`)
	s.Rule("mask", "masked", "customer", `{"effect":"permit","subject":{"role":"viewer"}}`)
	for _, sql := range []string{
		"SELECT 1" + from + "rows_hidden", "SELECT id" + from + "column_hidden", "SELECT count(*)" + from + "masked",
		"SELECT count(*)" + from + "orders o JOIN " + s.Schema + ".masked m USING (id)",
		"SELECT (SELECT max(id)" + from + "rows_hidden)" + from + "orders", "SELECT * FROM information_schema.tables",
	} {
		require.Equal(t, 200, s.Admin.Query(sql).Status, sql)
		require.Equal(t, 200, s.Admin.Query("EXPLAIN "+sql).Status, sql)
		code, fields := s.Admin.Query("EXPLAIN ANALYZE "+sql).Problem(t, 400)
		require.Equal(t, "statement_not_allowed", code, sql)
		require.Equal(t, []string{"sql"}, fields)
	}
	viewer := s.Member("vic@acme.example", "viewer", nil)
	require.Equal(t, 200, viewer.Query("EXPLAIN ANALYZE SELECT id, customer"+from+"column_hidden").Status,
		"nothing is hidden from this caller")
}

// lines are the texts of rows of one column.
func lines(rows []any) string {
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.([]any)[0].(string)
	}
	return strings.Join(texts, "\n")
}
