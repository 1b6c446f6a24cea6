package sqlguard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// chain is a statement of n WITH queries, each made from the one before it: #p in
// step is the name of that one and #i the number.
func chain(n int, first, step, last string) string {
	var out strings.Builder
	out.WriteString("WITH c0 AS (" + first + ")")
	for i := 1; i <= n; i++ {
		r := strings.NewReplacer("#p", fmt.Sprintf("c%d", i-1), "#i", fmt.Sprint(i))
		fmt.Fprintf(&out, ", c%d AS (%s)", i, r.Replace(step))
	}
	return out.String() + " " + strings.ReplaceAll(last, "#n", fmt.Sprintf("c%d", n))
}

// joined is items with a separator, where # is the number of the item.
func joined(n int, item, separator string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.NewReplacer("#+", fmt.Sprint(i+1), "#", fmt.Sprint(i)).Replace(item)
	}
	return strings.Join(out, separator)
}

// inside nests a text n times.
func inside(n int, before, core, after string) string {
	return strings.Repeat(before, n) + core + strings.Repeat(after, n)
}

// growths are classes of statements whose plan grows much faster than their text:
// the largest of each that is served, and one beyond the bound.
var growths = []struct {
	name           string
	make           func(n int) string
	served, beyond int
}{
	{"stars of joins", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT * FROM #p a, #p b", "SELECT count(*) FROM #n")
	}, 11, 15},
	{"two stars", func(n int) string { return chain(n, "SELECT 1 AS x", "SELECT *, * FROM #p", "SELECT count(*) FROM #n") }, 14, 16},
	{"qualified stars", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT a.*, b.* FROM #p a, #p b", "SELECT count(*) FROM #n")
	}, 11, 15},
	{"COLUMNS", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT COLUMNS(*), COLUMNS(*) + 1 FROM #p", "SELECT count(*) FROM #n")
	}, 14, 16},
	{"natural joins of doubled columns", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT *, * FROM #p", "SELECT count(*) FROM #n a NATURAL JOIN #n b")
	}, 11, 13},
	{"joins without stars", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT a.x FROM #p a, #p b", "SELECT count(*) FROM #n")
	}, 11, 13},
	{"unions", func(n int) string {
		return chain(n, "SELECT 1 AS x", "FROM #p UNION ALL FROM #p", "SELECT count(*) FROM #n")
	}, 11, 13},
	{"scalar subqueries", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT (SELECT x FROM #p) + (SELECT x FROM #p) AS x", "FROM #n")
	}, 11, 13},
	{"laterals", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT a.x FROM #p a, LATERAL (SELECT a.x FROM #p) b", "FROM #n")
	}, 10, 13},
	{"recursive queries", func(n int) string {
		return strings.Replace(chain(n, "SELECT 1 AS x", "SELECT x FROM #p UNION ALL SELECT a.x FROM c#i a, #p b WHERE a.x < 0", "FROM #n"),
			"WITH", "WITH RECURSIVE", 1)
	}, 10, 14},
	{"conditions over columns of columns", func(n int) string {
		return chain(n, "SELECT 'a' AS x", "SELECT x || x AS x FROM #p", "SELECT count(*) FROM #n WHERE x = 'a'")
	}, 12, 14},
	{"conditions over nested subqueries", func(n int) string {
		out := "SELECT 'a' AS x0"
		for i := range n {
			out = fmt.Sprintf("SELECT x%d || x%d AS x%d FROM (%s)", i, i, i+1, out)
		}
		return fmt.Sprintf("SELECT * FROM (%s) WHERE x%d = 'a'", out, n)
	}, 12, 14},
	{"conditions at every level", func(n int) string {
		return chain(n, "SELECT 'a' AS x", "SELECT x || x AS x FROM #p WHERE x <> 'a'", "FROM #n")
	}, 12, 14},
	{"conditions by JSON", func(n int) string {
		return chain(n, "SELECT '1' AS x", "SELECT (x -> '$') || (x -> '$') AS x FROM #p", "SELECT count(*) FROM #n WHERE (x -> '$') = 'a'")
	}, 10, 14},
	{"HAVING", func(n int) string {
		return chain(n, "SELECT 'a' AS x", "SELECT x || x AS x FROM #p", "SELECT x FROM #n GROUP BY x HAVING x <> 'a'")
	}, 12, 14},
	{"joins on columns of columns", func(n int) string {
		return chain(n, "SELECT 'a' AS x", "SELECT x || x AS x FROM #p", "SELECT count(*) FROM #n JOIN c0 ON #n.x < c0.x")
	}, 12, 14},
	{"members of structs", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT {'a': x, 'b': x} AS x FROM #p", "SELECT count(*) FROM #n")
	}, 13, 16},
	{"rows as values", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT a AS a#i, b AS b#i FROM #p a, #p b", "SELECT count(*) FROM #n")
	}, 10, 16},
	{"stars of structs", func(n int) string {
		return chain(n, "SELECT {'a': 1} AS s", "SELECT {'a': s, 'b': s} AS s FROM #p", "SELECT s.*, s.* FROM #n")
	}, 12, 16},
	{"zipped lists", func(n int) string {
		return chain(n, "SELECT [1] AS x", "SELECT list_zip(x, x) AS x FROM #p", "SELECT count(*) FROM #n")
	}, 10, 17},
	{"unnested structs", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT {'a': x, 'b': x} AS x FROM #p", "SELECT unnest(x, recursive := true) FROM #n")
	}, 9, 11},
	{"subqueries in conditions of subqueries", func(n int) string {
		return "SELECT 1 WHERE 1 > " + inside(n, "(SELECT max(range) FROM range(9) WHERE range > ", "(SELECT 1)", ")")
	}, 7, 11},
	{"correlated subqueries", func(n int) string {
		return "SELECT 1 FROM range(9) t WHERE range > " + inside(n, "(SELECT max(range) FROM range(9) WHERE range > ", "(SELECT t.range)", ")")
	}, 7, 11},
	{"long lists in nested subqueries", func(n int) string {
		return "SELECT 1 WHERE 1 > " + inside(n, "(SELECT max(range) FROM range(9) WHERE range > ", "(SELECT 1 WHERE 1 IN ("+numbers(5000)+"))",
			")")
	}, 2, 4},
	{"subqueries in joins", func(n int) string {
		return "SELECT 1 WHERE 1 > " + inside(n, "(SELECT 1 FROM range(9) a JOIN range(9) b ON a.range = b.range + ", "(SELECT 1)", ")")
	}, 6, 11},
	{"grouping sets", func(n int) string {
		return joined(n, "SELECT count(*) FROM (SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS e, 6 AS f, 7 AS g, 8 AS h, 9 AS i, 10 AS j) GROUP "+
			"BY CUBE (a, b, c, d, e, f, g, h, i, j)", " UNION ALL ")
	}, 4, 5},
	{"rollups", func(n int) string {
		return joined(n, "SELECT count(*) FROM range(3) GROUP BY ROLLUP ("+joined(100, "range + #", ", ")+")", " UNION ALL ")
	}, 20, 41},
	{"distinct columns", func(n int) string { return "SELECT DISTINCT " + joined(n, "range + # AS a#", ", ") + " FROM range(2)" }, 5000, 6000},
	{"unions of columns", func(n int) string {
		s := "SELECT " + joined(n, "range + # AS a#", ", ") + " FROM range(2)"
		return s + " UNION " + s
	}, 4000, 5700},
	{"groups", func(n int) string { return "SELECT 1 FROM range(2) GROUP BY " + joined(n, "range + #", ", ") }, 2500, 2501},
	{"groups in brackets", func(n int) string { return "SELECT 1 FROM range(2) GROUP BY (" + joined(n, "range + #", ", ") + ")" }, 2500, 2501},
	{"groups behind a condition", func(n int) string {
		return "SELECT 1 FROM range(2) WHERE range IN (SELECT 1 HAVING true) GROUP BY (SELECT 1 HAVING true), " + joined(n, "range + #", ", ")
	}, 2400, 2501},
	{"windows", func(n int) string {
		return "SELECT " + joined(n, "sum(range) OVER (PARTITION BY range + #)", ", ") + " FROM range(2)"
	}, 1500, 2100},
	{"chained equalities", func(n int) string {
		return "SELECT 1 FROM (SELECT " + joined(n+1, "range + # AS k#", ", ") + " FROM range(9)) WHERE " + joined(n, "k# = k#+", " AND ")
	}, 70, 130},
	{"chained equalities of two tables", func(n int) string {
		s := "(SELECT " + joined(n+1, "range + # AS k#", ", ") + " FROM range(9))"
		return "SELECT 1 FROM " + s + " a, " + s + " b WHERE " + joined(n, "a.k# = b.k#+ AND a.k#+ = b.k#", " AND ")
	}, 30, 130},
	{"renamed equalities", func(n int) string {
		return "SELECT 1 FROM (SELECT " + joined(n+1, "k# AS a#, k# AS b#", ", ") + " FROM (SELECT " + joined(n+1, "range + # AS k#", ", ") +
			" FROM range(9))) WHERE " + joined(n, "a# = b#+", " AND ")
	}, 70, 130},
	{"equalities by COLUMNS", func(n int) string {
		return "SELECT 1 FROM (SELECT " + joined(n, "range + # AS k#", ", ") + " FROM range(9)) WHERE COLUMNS(*) = k0"
	}, 70, 130},
	{"replaced columns", func(n int) string {
		return chain(n, "SELECT 1 AS x", "SELECT *, * FROM #p", "SELECT * REPLACE ("+joined(2500, "# AS a#", ", ")+") FROM #n")
	}, 9, 11},
	{"summarized columns", func(n int) string { return "SUMMARIZE SELECT " + joined(n, "range + # AS k#", ", ") + " FROM range(9)" }, 2000,
		3000},
}

// TestGrowingStatements: a statement is refused before the engine sees it when its
// plan would be too large, and served below that.
func TestGrowingStatements(t *testing.T) {
	for _, g := range growths {
		t.Run(g.name, func(t *testing.T) {
			_, err := parse(t, g.make(g.served))
			require.NoError(t, err)
			_, err = parse(t, g.make(g.beyond))
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, refusal.CodeTooComplex, refused.Code)
			require.NotContains(t, refused.Message, "nested too deeply")
			require.Contains(t, refused.Message, "more than", "the bound of another class refused it")
			if refused.Name != "GROUP BY" { // found before there is a tree
				require.Positive(t, refused.Line, "no place")
			}
		})
	}
}

// wideTable is a table of that many columns.
func wideTable(columns int) sqlguard.Relation {
	r := sqlguard.Relation{Source: source("wide")}
	for i := range columns {
		r.Columns = append(r.Columns, engine.Column{Name: fmt.Sprintf("k%d", i), Type: sqltype.BigInt})
	}
	return r
}

// bindWide parses a statement and prepares it over tables of that many columns.
func bindWide(t *testing.T, text string, columns int) error {
	t.Helper()
	q, err := parse(t, text)
	require.NoError(t, err, text)
	var relations []sqlguard.Relation
	for range q.Tables() {
		relations = append(relations, wideTable(columns))
	}
	_, err = q.Bind(t.Context(), sharedParser(), relations)
	return err
}

// TestWideTablesAreServed: everything that is usual works on 2,000 columns.
func TestWideTablesAreServed(t *testing.T) {
	for _, text := range []string{
		"SELECT * FROM w", "SUMMARIZE w", "DESCRIBE w", "SELECT DISTINCT * FROM w", "SELECT *, count(*) FROM w GROUP BY ALL",
		"SELECT * FROM w ORDER BY ALL", "SELECT * FROM w a NATURAL JOIN w b", "SELECT * FROM w a JOIN w b USING (k0)",
		"SELECT * FROM w a, w b, w c, w d, w e, w f, w g, w h", "SELECT * FROM w EXCEPT SELECT * FROM w",
		"SELECT * FROM w UNION ALL BY NAME SELECT * FROM w", "SELECT max(COLUMNS(*)), min(COLUMNS(*)), avg(COLUMNS(*)) FROM w",
		"SELECT sum(COLUMNS(*)) OVER (ORDER BY k0) FROM w", "SELECT * FROM w WHERE COLUMNS(*) > 0",
		"SELECT coalesce(*COLUMNS(*)) FROM w", "UNPIVOT w ON COLUMNS(*) INTO NAME n VALUE v", "SELECT a FROM w a",
		"SELECT unnest(a, recursive := true) FROM w a", "SELECT to_json(a) FROM w a",
		"SELECT * EXCLUDE (k1), * REPLACE (1 AS k2) FROM w", "SELECT " + joined(2000, "k#", ", ") + " FROM w GROUP BY " +
			joined(2000, "k#", ", "),
		"SELECT a.k0 FROM w a JOIN w b ON " + joined(2000, "a.k# = b.k#", " AND "),
		"SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM w))))",
		"WITH a AS (SELECT * FROM w), b AS (SELECT * FROM a WHERE k0 > 1), c AS (SELECT b.* FROM b JOIN a USING (k0)) SELECT * FROM c UNION " +
			"ALL SELECT * FROM b",
	} {
		t.Run(text[:min(len(text), 70)], func(t *testing.T) { require.NoError(t, bindWide(t, text, 2000)) })
	}
}

// TestColumnsOfTablesCount: the columns of tables are known when a statement is
// prepared, and count then.
func TestColumnsOfTablesCount(t *testing.T) {
	for _, text := range []string{
		chain(6, "SELECT * FROM w", "SELECT * FROM #p a, #p b", "SELECT count(*) FROM #n"),
		"SELECT *, * FROM (SELECT *, *, *, *, *, *, *, * FROM w a, w b, w c)",
		"SELECT DISTINCT * FROM w a, w b, w c",
		"SELECT * FROM w a, w b, w c, w d EXCEPT SELECT * FROM w a, w b, w c, w d",
		"SELECT sum(COLUMNS(*)) OVER (ORDER BY a.k0) FROM w a, w b",
		"SUMMARIZE SELECT * FROM w a, w b",
		"SELECT 1 FROM w WHERE COLUMNS(*) = k0",
		"SELECT * FROM w a NATURAL JOIN w b NATURAL JOIN w c NATURAL JOIN w d NATURAL JOIN w e NATURAL JOIN w f",
	} {
		t.Run(text[:min(len(text), 70)], func(t *testing.T) {
			require.NoError(t, bindWide(t, text, 20))
			err := bindWide(t, text, 2000)
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, refusal.CodeTooComplex, refused.Code)
			require.Positive(t, refused.Line, "no place")
		})
	}
}
