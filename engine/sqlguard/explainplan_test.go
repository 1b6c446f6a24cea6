package sqlguard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// explain returns the plan of a statement, for a caller who sees a part of every
// table.
func (w *world) explain(t *testing.T, statement string) string {
	t.Helper()
	plans := [2]string{}
	for i, filtered := range []bool{false, true} {
		q, err := sqlguard.Parse(t.Context(), sharedParser(), "EXPLAIN "+statement, sqlguard.Options{})
		require.NoError(t, err, statement)
		lines, err := q.Explain(t.Context(), sharedParser(), w.relations(t, q, filtered))
		require.NoError(t, err, statement)
		plans[i] = strings.Join(lines, "\n")
	}
	require.Equal(t, plans[0], plans[1], "a filter shows")
	require.NotContains(t, strings.ToLower(plans[0]), "lw_")
	require.NotContains(t, plans[0], "exceeds the limit")
	return plans[0]
}

func TestExplainTexts(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for statement, want := range map[string]string{
		"SELECT 1": `PROJECT 1`,
		"SELECT id, upper(name) AS n FROM lake.main.customers c WHERE (country = 'FR' OR vip) AND id < 5 ORDER BY n DESC, id NULLS FIRST LIMIT " +
			"5 OFFSET 2": `
LIMIT 5 OFFSET 2
  SORT n DESC, id NULLS FIRST
    PROJECT id, upper("name") AS n
      FILTER ((country = 'FR') OR vip) AND id < 5
        SCAN lake.main.customers AS c (id, name, country, vip)`,
		"SELECT o.status, count(*), sum(o.amount) AS s FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND c.vip GROUP BY o.status " +
			"HAVING count(*) > 3": `
PROJECT o.status, count(*), sum(o.amount) AS s
  HAVING count(*) > 3
    AGGREGATE count(*), sum(o.amount) GROUP BY o.status
      LEFT JOIN ON c.id = o.customer_id AND c.vip
        SCAN orders AS o (id, customer_id, status, amount)
        SCAN customers AS c (id, vip)`,
		"SELECT DISTINCT repeat(name, id), current_user, 1e3 FROM customers": `
DISTINCT
  PROJECT repeat("name", id), current_user, 1000.0
    SCAN customers (id, name)`,
		"SELECT name, (SELECT max(amount) FROM orders WHERE customer_id = c.id) FROM customers c WHERE id NOT IN (SELECT customer_id FROM orders)": `
PROJECT "name", (SELECT subquery_2)
  FILTER NOT (id = ANY(SELECT subquery_1))
    SCAN customers AS c (id, name)
    SUBQUERY subquery_1
      PROJECT customer_id
        SCAN orders (id, customer_id, amount)
  SUBQUERY subquery_2
    PROJECT max(amount)
      AGGREGATE max(amount)
        FILTER customer_id = c.id
          SCAN orders (id, customer_id, amount)`,
		"SELECT status, sum(count(*)) OVER () FROM orders AT (VERSION => 3) GROUP BY status QUALIFY rank() OVER (ORDER BY status) < 3": `
PROJECT status, sum(count(*)) OVER ()
  QUALIFY rank() OVER (ORDER BY status) < 3
    WINDOW sum(count(*)) OVER (), rank() OVER (ORDER BY status)
      AGGREGATE count(*) GROUP BY status
        SCAN orders AT VERSION 3 (status)`,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n x UNION SELECT id FROM orders " +
			"TABLESAMPLE 10 ROWS": `
WITH
  CTE n
    RECURSIVE UNION ALL
      PROJECT 1
      PROJECT i + 1
        FILTER i < 10
          CTE SCAN n
  UNION
    PROJECT i
      CTE SCAN n AS x
    PROJECT id
      SAMPLE 10 ROWS
        SCAN orders (id)`,
		"SELECT country, vip, count(*) FROM customers GROUP BY ROLLUP (country, vip) ORDER BY ALL": `
SORT ALL
  PROJECT country, vip, count(*)
    AGGREGATE count(*) GROUP BY GROUPING SETS ((), (country), (country, vip))
      SCAN customers (id, name, country, signup, vip, balance, tags, attrs)`,
		"DESCRIBE SELECT * FROM range(3) r, (VALUES (1), (2)) v": `
PROJECT *
  DESCRIBE
    PROJECT *
      CROSS JOIN
        TABLE FUNCTION "range"(3) AS r
        SUBQUERY v
          PROJECT *
            VALUES 2 rows`,
		"PIVOT orders ON status IN ('open', 'paid') USING sum(amount) GROUP BY customer_id": `
PROJECT *
  PIVOT sum(amount) ON status IN (2 values) GROUP BY customer_id
    SCAN orders (id, customer_id, placed, status, amount, note)`,
		"(SELECT 1) UNION ALL (SELECT $1)": `
UNION ALL
  PROJECT 1
  PROJECT $1`,
	} {
		t.Run(statement, func(t *testing.T) {
			require.Equal(t, strings.TrimPrefix(want, "\n"), w.explain(t, statement))
		})
	}
}

// TestExplainOptions: the plain form and ANALYZE are served.
func TestExplainOptions(t *testing.T) {
	for s, analyzes := range map[string]bool{
		"EXPLAIN SELECT 1": false, "EXPLAIN ANALYZE SELECT 1": true, "/* é */ explain\n-- é\nanalyze (SELECT 1)": true,
		"EXPLAIN ANALYZE FROM t":  true,
		"SELECT 1 AS \"analyze\"": false, "EXPLAIN FROM analyzed": false, "EXPLAIN SELECT analyzed FROM t": false,
	} {
		q, err := parse(t, s)
		require.NoError(t, err, s)
		require.Equal(t, analyzes, q.Analyzes(), s)
	}
	_, err := parse(t, "EXPLAIN /* é */ ANALYZE\nSELECT nosuch(1)")
	var refused *refusal.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, [2]int{2, 8}, [2]int{refused.Line, refused.Column})
	for _, s := range []string{"EXPLAIN ANALYZE", "EXPLAIN ANALYZE ANALYZE SELECT 1", "EXPLAIN ANALYZE EXPLAIN SELECT 1",
		"EXPLAIN ANALYZE SHOW TABLES",
		"EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN ANALYZE (FORMAT json) SELECT 1", "EXPLAIN ANALYZE WITH x AS (SELECT 1) DELETE FROM t",
	} {
		_, err := parse(t, s)
		require.Contains(t, []refusal.Code{refusal.CodeStatement, refusal.CodeSyntax}, codeOf(err), s)
	}
	for _, s := range []string{"EXPLAIN (ANALYZE) SELECT 1", "EXPLAIN (FORMAT json) SELECT 1", "EXPLAIN (",
		"EXPLAIN EXPLAIN SELECT 1", "EXPLAIN ( /* x */ analyze, format html) (SELECT 1)", "EXPLAIN SHOW TABLES"} {
		_, err := parse(t, s)
		require.Equal(t, refusal.CodeStatement, codeOf(err), s)
	}
	q, err := parse(t, "SELECT 1")
	require.NoError(t, err)
	require.False(t, q.Analyzes())
	_, err = q.Explain(t.Context(), sharedParser(), nil)
	require.Error(t, err)
}

// TestExplainNamesSchemas: a name without schema gets the one that it means,
// where that is known.
func TestExplainNamesSchemas(t *testing.T) {
	q, err := sqlguard.Parse(t.Context(), sharedParser(), "EXPLAIN SELECT a FROM t", sqlguard.Options{Schema: "cfg_1"})
	require.NoError(t, err)
	lines, err := q.Explain(t.Context(), sharedParser(), []sqlguard.Relation{{}})
	require.NoError(t, err)
	require.Equal(t, []string{"PROJECT a", "  SCAN lake.cfg_1.t"}, lines)
}

// TestExplainNeverFails: whatever is served can be explained.
func TestExplainNeverFails(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for _, s := range lines(t, "testdata/everyday.sql") {
		t.Run(s, func(t *testing.T) {
			require.NotEmpty(t, w.explain(t, s))
		})
	}
}
