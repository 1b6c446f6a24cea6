package sqlguard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
)

// TestPlainStatements lists statements that read filtered tables without copies.
func TestPlainStatements(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for _, text := range []string{
		"SELECT count(*) FROM t",
		"SELECT id FROM t",
		"SELECT sum(v_dec * (1 - v_dec)), avg(v_i64), max(v_s) FROM t WHERE v_s LIKE 'd%' AND v_d >= DATE '2020-01-05'",
		"SELECT g, count(DISTINCT v_s) AS n FROM t GROUP BY g",
		"SELECT g, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
		"SELECT id, v_s FROM t WHERE v_i32 IN (1, 2, 3) ORDER BY v_ts",
		"SELECT * FROM (SELECT id, v_s FROM t) q ORDER BY id",
		"SELECT DISTINCT v_s FROM t WHERE v_f > v_dec",
		"SELECT a.id, b.v_s FROM t a JOIN d b USING (id) WHERE b.v_b ORDER BY b.v_d DESC LIMIT 5",
		"SELECT id FROM t a WHERE NOT EXISTS (SELECT * FROM d WHERE d.id = a.id AND d.v_s <> a.v_s) ORDER BY id",
		"SELECT id FROM t WHERE v_dec < (SELECT 0.2 * avg(v_dec) FROM d) ORDER BY id",
		"WITH w AS (SELECT g AS k, sum(v_dec) AS s FROM t GROUP BY g) SELECT k, s FROM w WHERE s = (SELECT max(s) FROM w) ORDER BY k",
		"SELECT y, sum(v) FROM (SELECT year(v_d) AS y, v_i8 * v_i8 AS v FROM t) q GROUP BY y",
		"SELECT sum(v_i64) / count(*) FROM t",
		"SELECT g, lower(v_s) AS s, count(*) FROM t GROUP BY ALL",
		"SELECT g FROM t GROUP BY g HAVING sum(v_i64 * 2) > 10 ORDER BY count(*)",
	} {
		q := parseFor(t, text)
		reason, ok := q.LeakProof(w.relations(q, 0), noArgs)
		require.True(t, ok, "%s: %s", text, reason)
		require.Empty(t, reason)
	}
}

// TestCopiedStatements lists statements that need copies, and why.
func TestCopiedStatements(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for text, want := range map[string]string{
		// Rows in an order that the plan decides.
		"SELECT id FROM t LIMIT 5":                                "no order",
		"SELECT id, v_f FROM t ORDER BY id":                       "rows that cannot be told apart by sorting",
		"SELECT avg(v_dec) FROM t GROUP BY g":                     "rows that cannot be told apart by sorting",
		"SELECT id FROM t UNION SELECT id FROM d":                 "a query of type SET_OPERATION_NODE with these clauses",
		"SELECT DISTINCT ON (g) g, id FROM t ORDER BY g":          "DISTINCT_MODIFIER in this place",
		"SELECT id FROM (SELECT id FROM t LIMIT 5) q ORDER BY id": "LIMIT_MODIFIER in this place",
		"SELECT id FROM t ORDER BY id LIMIT 5%":                   "LIMIT_PERCENT_MODIFIER in this place",
		"SELECT v_s AS id FROM t ORDER BY id":                     "an order by something that is no result",
		// Values that depend on the order of rows.
		"SELECT sum(v_f) FROM t":                             "a sum of double depends on the order of rows",
		"SELECT avg(v_f) FROM t":                             "a sum of double depends on the order of rows",
		"SELECT min(v_f) FROM t":                             "the least and greatest of equal doubles depend on their order",
		"SELECT v_f, count(*) FROM t GROUP BY v_f":           "which of equal doubles stands for a group depends on their order",
		"SELECT DISTINCT v_f FROM t":                         "which of equal doubles is taken depends on their order",
		"SELECT first(id) FROM t":                            "first is not listed with these arguments",
		"SELECT string_agg(v_s, ',') FROM t":                 "string_agg is not listed with these arguments",
		"SELECT sum(id ORDER BY id) FROM t":                  "sum with an order",
		"SELECT id, row_number() OVER () FROM t ORDER BY id": "WINDOW_ROW_NUMBER is not listed",
		"SELECT sum(v_wide * v_wide) FROM t":                 "a part of the sum may pass its range",
		// Operations that may fail, where the plan decides whether they are done.
		"SELECT count(*) FROM t WHERE v_i64 * 2 > 3":                                 "COMPARE_GREATERTHAN may fail",
		"SELECT id, v_i64 * 2 FROM t ORDER BY id":                                    "* may fail",
		"SELECT g, sum(v_i64) / 3 AS x FROM t GROUP BY g LIMIT 2":                    "/ may fail",
		"SELECT g, count(*) FROM t GROUP BY g, v_i64 + 1":                            "+ may fail",
		"SELECT count(*) FROM t JOIN d ON t.id + 1 = d.id":                           "COMPARE_EQUAL may fail",
		"SELECT count(*) FROM t WHERE id < (SELECT sum(v_i64 * 2) FROM d)":           "* may fail",
		"SELECT sum(v) FROM (SELECT v_i64 * 2 AS v, g FROM t) q WHERE g = 1":         "v may fail below the outermost query",
		"SELECT sum(v) FROM (SELECT v_i64 * 2 AS v, g FROM t) q JOIN d ON q.g = d.g": "v may fail below the outermost query",
		// A literal has the type of what it stands beside, and the result with it.
		"SELECT count(*) FROM t WHERE CASE WHEN v_b THEN v_i16 ELSE 0 END * v_i16 <> 7":                      "COMPARE_NOTEQUAL may fail",
		"SELECT count(*) FROM t WHERE CASE WHEN v_b THEN 1 WHEN g = 1 THEN 2 ELSE v_i16 END * v_i16 <> 7":    "COMPARE_NOTEQUAL may fail",
		"SELECT count(*) FROM t JOIN d ON t.id = d.id WHERE coalesce(t.v_i8, 0) * 100 > 5 AND d.v_s = 'day'": "COMPARE_GREATERTHAN may fail",
		"SELECT count(*) FROM t WHERE v_i8 * (-128) > 5":                                                     "COMPARE_GREATERTHAN may fail",
		"SELECT (SELECT id FROM t)": "a subquery of any number of rows as a value",
		// Operations that are not known.
		"SELECT count(*) FROM t WHERE CAST(v_s AS INTEGER) = 1":     "a cast to INTEGER",
		"SELECT count(*) FROM t WHERE CAST(v_i64 AS INTEGER) = 1":   "a cast to a narrower integer",
		"SELECT count(*) FROM t WHERE TRY_CAST(v_s AS INTEGER) = 1": "a cast to INTEGER",
		"SELECT count(*) FROM t WHERE date_diff(v_s, v_d, v_d) = 1": "date_diff is not listed " +
			"with these arguments",
		"SELECT count(*) FROM t WHERE substr(v_s, v_i32, 2) = 'a'": "substr is not listed with " +
			"these arguments",
		"SELECT count(*) FROM t WHERE v_s LIKE x_s": "is not listed with these " +
			"arguments",
		"SELECT count(*) FROM t WHERE len(list_transform([v_s], lambda x: x)) = 1": "list_value is not listed " +
			"with these arguments",
		"SELECT count(*) FROM t WHERE v_d < TIMESTAMP '2020-01-01 00:00:00'": "comparing date and timestamp",
		"SELECT count(*) FROM t WHERE v_d = 'yesterday'":                     "a text beside a date",
		"SELECT count(*) FROM t WHERE v_s = 5":                               "comparing text and integer",
		"SELECT count(*) FROM t WHERE id = $1": "a parameter of a type that " +
			"is not known",
		"SELECT count(*) FROM t WHERE id IN (g, 1)": "IN of something that is no " +
			"constant",
		"SELECT count(*) FROM t WHERE id % 0 = 1": "% is not listed with these " +
			"arguments",
		"SELECT count(*) FROM t TABLESAMPLE 10%":    "two runs may differ",
		"SELECT count(*) FROM t WHERE random() < 2": "two runs may differ",
		"SELECT count(*) FROM t NATURAL JOIN d":     "a join of type NATURAL",
		"SELECT count(*) FROM t, unnest([1]) u":     "TABLE_FUNCTION in FROM",
		"SELECT count(*) FROM t AS q(a, b)": "names for the columns of a " +
			"table",
		"SELECT g, count(*) FROM t GROUP BY GROUPING SETS ((g), ())": "several sets of groups",
		"SELECT g, 1, count(*) FROM t GROUP BY ALL":                  "a group that is a constant",
		"SELECT count(*) FROM t QUALIFY true": "a query of type " +
			"SELECT_NODE with these clauses",
		"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT count(*) FROM r, t": "a query of type " +
			"RECURSIVE_CTE_NODE with these clauses",
		// Names that may mean several things.
		"SELECT lower(v_s) AS v_s FROM t WHERE v_s = 'a' ORDER BY 1": "v_s may mean several things",
		"SELECT id AS a, v_s AS A FROM t ORDER BY 1":                 "two results named a",
		"SELECT (SELECT sum(t.id) FROM d) FROM t ORDER BY 1":         "an aggregate of an outer column",
		"SELECT count(*) FROM t, (SELECT t.id AS k FROM d) q":        "id is not found",
		"SELECT count(t) FROM t":                                     "t is no column",
	} {
		q := parseFor(t, text)
		reason, ok := q.LeakProof(w.relations(q, 0), noArgs)
		if ok || !strings.Contains(reason, want) {
			t.Errorf("%s: %q, want %q", text, reason, want)
		}
	}
}

// TestRelationsThatNeedCopies: masks, the organisation's wish and another build
// of the engine.
func TestRelationsThatNeedCopies(t *testing.T) {
	w := newTwoWorlds(t, 1)
	const text = "SELECT count(*) FROM t JOIN d ON t.id = d.id"
	for name, change := range map[string]func(*Query, *Relation){
		"masked":        func(_ *Query, r *Relation) { r.ColumnExpr = map[string]string{"v_s": "NULL"} },
		"keep whole":    func(_ *Query, r *Relation) { r.NoPushdown = true },
		"long":          func(_ *Query, r *Relation) { r.Predicate = string(make([]byte, maxPlainPredicates+1)) },
		"no columns":    func(_ *Query, r *Relation) { r.Columns = nil },
		"unknown build": func(q *Query, _ *Relation) { q.opts.EngineVersion = "v1.5.6" },
		"no build":      func(q *Query, _ *Relation) { q.opts.EngineVersion = "" },
	} {
		q := parseFor(t, text)
		relations := w.relations(q, 0)
		_, ok := q.LeakProof(relations, noArgs)
		require.True(t, ok)
		change(q, &relations[1])
		_, ok = q.LeakProof(relations, noArgs)
		require.False(t, ok, name)
	}
	require.Equal(t, leakproof.Default.Engine, duckdb.Version(), "the list is not of the engine that is built in")
}
