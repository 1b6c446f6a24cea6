package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// TestMendedStatementsKeepNamesAndTypes: what is rewritten because the engine would answer it
// wrongly has the names, the types and the rows of the original.
func TestMendedStatementsKeepNamesAndTypes(t *testing.T) {
	w := newWorld(t, []string{
		"CREATE TABLE t AS SELECT i AS id, i % 3 AS g, (i * 2)::DECIMAL(38,2) AS w, i::DECIMAL(12,2) AS m, i * 1.5::DOUBLE AS d, " +
			"DATE '2024-01-01' + i::INTEGER AS day, i % 2 = 0 AS b, to_days(i::INTEGER) AS span FROM range(50) r(i)",
	}, map[string]string{"t": "t.id < 20"})
	for _, text := range []string{
		"SELECT sum(w), avg(w), sum(m), sum(d), avg(d), median(m), median(d), median(day), sum(b), sum(id) FROM t",
		"SELECT g, sum(w) FILTER (WHERE b), sum(DISTINCT w), quantile_cont(w, 0.25), mad(m) FROM t GROUP BY g " +
			"HAVING sum(w) > 1 ORDER BY sum(w)",
		"SELECT id, sum(w) OVER (PARTITION BY g ORDER BY id), avg(w) OVER w1 FROM t WINDOW w1 AS (ORDER BY id ROWS 2 PRECEDING)",
		"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY m DESC), sum(sum(w)) OVER () FROM t GROUP BY g",
		"SELECT sum(w * w), avg(CASE WHEN b THEN w END) FROM t", "SELECT sum(id) FILTER (WHERE g IS DISTINCT FROM 1) FROM t",
		"SELECT g IS DISTINCT FROM 1, b IS NOT TRUE, coalesce(g IS DISTINCT FROM 2, true) FROM t WHERE g = 1 OR g IS DISTINCT FROM 2",
		"SELECT id::INTEGER FROM t ORDER BY id::INTEGER DESC LIMIT 3",
		"SELECT id::SMALLINT AS k, g FROM t ORDER BY k NULLS FIRST, g LIMIT 3 OFFSET 1",
		"SELECT id::INTEGER FROM t ORDER BY 1 DESC LIMIT 3", "SELECT DISTINCT g::TINYINT AS k FROM t ORDER BY k LIMIT 2",
		"SELECT g::TINYINT, count(*) FROM t GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT 2",
		"SELECT id::INTEGER AS k FROM t ORDER BY ALL LIMIT 2",
		"SELECT id FROM t UNION ALL SELECT g FROM t ORDER BY id DESC LIMIT 4",
		"SELECT id FROM t ORDER BY row_number() OVER (ORDER BY id::INTEGER DESC) LIMIT 2",
		"SELECT a.id FROM t a WHERE a.id IN (SELECT b.id::INTEGER AS k FROM t b ORDER BY k DESC LIMIT 3)",
		"SELECT a.id, (SELECT b.id::INTEGER AS k FROM t b WHERE b.g = a.g ORDER BY k DESC LIMIT 1) AS m FROM t a",
		"SELECT avg(span), avg(day) FROM t",
		"SELECT sum(w), avg(v) FROM (SELECT w, w::HUGEINT AS v FROM t)",
		"SELECT max(s) FROM (SELECT sum(w) AS s FROM t GROUP BY g)",
	} {
		t.Run(text, func(t *testing.T) { w.compare(t, text) })
	}
	for _, text := range []string{
		"SELECT sum(COLUMNS(*)) FROM (SELECT w, m FROM t)",
		"SELECT * FROM (SELECT g, b, w FROM t) PIVOT (sum(w) FOR b IN (true, false))",
	} {
		q, err := parse(t, text)
		require.NoError(t, err)
		_, err = q.Bind(t.Context(), sharedParser(), w.relations(t, q, false))
		require.Equal(t, refusal.CodeArgument, codeOf(err), text)
	}
}

// TestRowsAreComparedWithSubqueriesAsConditionsOnly checks what the engine would answer wrongly if a
// row of the subquery has a NULL.
func TestRowsAreComparedWithSubqueriesAsConditionsOnly(t *testing.T) {
	w := newWorld(t, []string{
		"CREATE TABLE t AS SELECT i AS id, i % 3 AS g, CASE WHEN i % 5 > 0 THEN i % 4 END AS h FROM range(50) r(i)",
	}, map[string]string{"t": "t.id < 20"})
	const some = "(SELECT g, h FROM t WHERE id > 9)"
	for _, text := range []string{
		"SELECT id FROM t WHERE (g, h) IN " + some, "SELECT id FROM t WHERE id < 5 OR (g = 1 AND (g, h) IN " + some + ")",
		"SELECT a.id FROM t a JOIN t b ON a.id = b.id AND (a.g, b.h) IN " + some, "SELECT g, h FROM t GROUP BY g, h HAVING (g, h) IN " + some,
		"SELECT id FROM t WHERE (g, h) IN ((1, 2), (2, NULL))", "SELECT id FROM t WHERE g NOT IN (SELECT h FROM t WHERE h IS NOT NULL)",
	} {
		t.Run(text, func(t *testing.T) { w.compare(t, text) })
	}
	for _, text := range []string{
		"SELECT id FROM t WHERE (g, h) NOT IN " + some, "SELECT id FROM t WHERE NOT (id > 3 AND (g, h) IN " + some + ")",
		"SELECT (g, h) IN " + some + " FROM t", "SELECT id FROM t WHERE ((g, h) IN " + some + ") IS NULL",
		"SELECT id FROM t WHERE (g, h) <> ALL " + some, "SELECT id FROM t WHERE (g, h) < ANY " + some,
		"SELECT count(*) FILTER (WHERE row(g, h) IN " + some + ") FROM t", "SELECT id FROM t ORDER BY (g, h) IN " + some,
	} {
		q, err := parse(t, text)
		require.NoError(t, err)
		_, err = q.Bind(t.Context(), sharedParser(), w.relations(t, q, false))
		require.Equal(t, refusal.CodeSyntaxNode, codeOf(err), text)
	}
}
