package sqlguard_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The tables of the differential test: many small files, whose values, bounds and NULLs differ.
// All columns that statements return are integers, texts or BOOLEAN.
var differentialTables = []struct {
	name  string
	files []string
}{
	{"nums", append(repeated(9, func(i int) string {
		return fmt.Sprintf(`SELECT (i + %[1]d * 1000)::BIGINT AS id, (i * 37 %% 211)::INTEGER AS i,
			((i * 7 %% 13) + %[1]d * 3000000000)::BIGINT AS l,
			(i %% 50 - 25)::SMALLINT AS s, (i %% 5)::INTEGER AS g, CASE WHEN i %% 4 = 0 THEN NULL ELSE (i %% 7)::INTEGER END AS n,
			i %% 3 = 0 AS b, 'v' || (i %% 11) AS v, ((i * 14)::DECIMAL(38,0) * 1000000000000000000000000000000000) AS w
			FROM range(60) r(i)`, i)
	}), `SELECT (i + 20000)::BIGINT AS id, NULL::INTEGER AS i, NULL::BIGINT AS l, NULL::SMALLINT AS s, 3::INTEGER AS g, NULL::INTEGER AS n,
			NULL::BOOLEAN AS b, NULL::VARCHAR AS v, NULL::DECIMAL(38,0) AS w FROM range(20) r(i)`)},
	{"posts", repeated(2, func(i int) string {
		return fmt.Sprintf(`SELECT (i + %[1]d * 8)::BIGINT AS id, (i * 5 %% 9 + %[1]d)::INTEGER AS likes,
			CASE WHEN i %% 4 = 2 THEN NULL ELSE (i * 11 %% 17)::INTEGER END AS views, (i %% 3)::INTEGER AS g, 'p' || i AS v FROM range(8) r(i)`, i)
	})},
	{"none", []string{"SELECT 1::BIGINT AS id, 2::INTEGER AS i, 'x' AS v WHERE false"}},
	{"big", []string{"SELECT i::BIGINT AS id, i::BIGINT AS l FROM range(300000) r(i)"}},
}

var seen = strings.NewReplacer("nums", "seen_nums", "posts", "seen_posts", "none", "seen_none", "big", "seen_big")

func repeated(n int, file func(i int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = file(i)
	}
	return out
}

// statement is a generated statement. exact, if not empty, has the same meaning without the
// aggregates that the engine computes wrongly without optimizers too; then wide is true.
type statement struct {
	text, exact string
	wide        bool
}

func (s statement) exactly() string {
	if s.exact == "" {
		return s.text
	}
	return s.exact
}

type generator struct{ *rand.Rand }

func (g *generator) of(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) direction() string {
	return g.of("", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " NULLS LAST")
}

func (g *generator) limit() string {
	return fmt.Sprintf(" LIMIT %d%s", 1+g.IntN(6), g.of("", "", fmt.Sprintf(" OFFSET %d", g.IntN(4))))
}

func (g *generator) number() string { return g.of("id", "i", "l", "s", "n") }

// condition returns a condition on a row of nums.
func (g *generator) condition() string {
	c := g.number()
	switch g.IntN(7) {
	case 0:
		return fmt.Sprintf("%s > %d", c, g.IntN(60)-5)
	case 1:
		return fmt.Sprintf("%s IS DISTINCT FROM %d", c, g.IntN(5))
	case 2:
		return fmt.Sprintf("(%s = %d OR %s IS NULL)", c, g.IntN(6), g.number())
	case 3:
		return "b IS NOT TRUE"
	case 4:
		return fmt.Sprintf("v IN ('v1', 'v%d')", g.IntN(11))
	case 5:
		return fmt.Sprintf("(%s OR NOT (%s < %d))", g.of("b", "n IS NOT NULL"), c, g.IntN(40))
	}
	return fmt.Sprintf("%s BETWEEN %d AND %d", c, g.IntN(20)-10, 10+g.IntN(100))
}

// from returns a relation with the columns of nums.
func (g *generator) from() string {
	switch g.IntN(4) {
	case 0:
		return "(SELECT * FROM nums WHERE " + g.condition() + ") q"
	case 1:
		return "(SELECT DISTINCT * FROM nums) q"
	}
	return "nums q"
}

// faultClass is a shape of statements. known says that the engine answers some of them wrongly.
type faultClass struct {
	name      string
	known     bool
	statement func(g *generator) statement
}

var faultClasses = []faultClass{
	{"top-N through a narrowing cast", true, topNarrow},
	{"top-N through a cast", true, topCast},
	{"top-N through a set operation", false, topUnion},
	{"top-N below an outer join", true, topOuter},
	{"top-N of TRY_CAST over a copy", false, topTry},
	{"row numbers with NULL keys", true, rowNumbers},
	{"row numbers with an order of their own", true, rowNumberOrder},
	{"row numbers of nothing", true, rowNumberNone},
	{"windows with repeated partitions", true, windowSelf},
	{"subqueries that repeat outer columns", true, correlated},
	{"IS DISTINCT FROM in a disjunction", true, distinctFrom},
	{"sums of wide decimals", true, wideSum},
	{"medians of wide decimals", true, wideMedian},
	{"unions of joins", true, unionJoins},
	{"rows among those of a subquery", false, rowsIn},
	{"mixed", false, mixed},
}

func topNarrow(g *generator) statement {
	return statement{text: fmt.Sprintf("SELECT CAST(%s AS INTEGER) AS k FROM %s ORDER BY %s%s%s",
		g.of("id", "id", "l % 3000000"), g.from(),
		g.of("k", "1", "ALL"), g.of("", " DESC", " DESC"), g.limit())}
}

func topCast(g *generator) statement {
	cast := fmt.Sprintf("CAST(%s AS %s)", g.of("l", "id", "i"), g.of("BIGINT", "BIGINT", "HUGEINT"))
	if g.IntN(2) == 0 {
		cast = fmt.Sprintf("CAST(%s AS %s)", g.of("id", "i", "s", "n", "g"), g.of("INTEGER", "SMALLINT", "UINTEGER", "BIGINT"))
		if strings.Contains(cast, " AS U") {
			cast = strings.Replace(cast, "(s ", "(abs(s) ", 1)
		}
	}
	if g.IntN(4) == 0 {
		cast = fmt.Sprintf("TRY_CAST(%s AS %s)", g.number(), g.of("TINYINT", "SMALLINT", "UTINYINT", "INTEGER"))
	}
	key := g.of("k", "1", "k", cast)
	text := "SELECT " + cast + "::BIGINT AS k FROM " + g.from() + " ORDER BY " + key + g.direction() + g.limit()
	switch g.IntN(4) {
	case 0:
		text = "SELECT k FROM (SELECT " + cast + " AS k FROM " + g.from() + ") x ORDER BY k" + g.direction() + g.limit()
	case 1:
		text = "SELECT k::BIGINT AS k FROM (SELECT " + cast + " AS k FROM " + g.from() + " GROUP BY ALL) x" +
			" ORDER BY k" + g.direction() + g.limit()
	case 2:
		text = "SELECT count(*) AS c FROM posts WHERE likes < (SELECT max(k) FROM (SELECT " + cast + " AS k FROM nums ORDER BY k" +
			g.direction() + g.limit() + ") y)"
	}
	return statement{text: strings.ReplaceAll(text, "::BIGINT AS k", g.of(" AS k", "::BIGINT AS k"))}
}

func topUnion(g *generator) statement {
	arms := []string{"SELECT i AS k FROM nums", "SELECT l FROM nums", "SELECT s FROM nums WHERE " + g.condition(),
		"SELECT likes FROM posts", "SELECT (i + 2000000000)::INTEGER FROM nums"}
	g.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
	arms[0] = strings.Replace(strings.Replace(arms[0], "SELECT l ", "SELECT l AS k ", 1), "SELECT likes ", "SELECT likes AS k ", 1)
	arms[0] = strings.Replace(strings.Replace(arms[0], "SELECT s ", "SELECT s AS k ", 1), "INTEGER) FROM", "INTEGER) AS k FROM", 1)
	arms[0] = strings.Replace(arms[0], "::INTEGER FROM", "::INTEGER AS k FROM", 1)
	union := strings.Join(arms[:2+g.IntN(2)], g.of(" UNION ALL ", " UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT "))
	if g.IntN(2) == 0 {
		return statement{text: union + " ORDER BY " + g.of("k", "1") + g.direction() + g.limit()}
	}
	return statement{text: "SELECT k FROM (" + union + ") u ORDER BY k" + g.direction() + g.limit()}
}

func topOuter(g *generator) statement {
	join := g.of("FULL", "FULL", "RIGHT")
	key := g.of("a.id", "a.l", "a.id")
	return statement{text: fmt.Sprintf("SELECT %s AS k FROM big a %s JOIN (SELECT id + %d AS id FROM big) c ON"+
		" a.id = c.id ORDER BY %s%s LIMIT %d",
		key, join, g.IntN(3), key, g.of(" NULLS FIRST", " DESC NULLS FIRST", ""), 3+g.IntN(3))}
}

func topTry(g *generator) statement {
	return statement{text: fmt.Sprintf("SELECT TRY_CAST(l AS %s) AS k FROM big ORDER BY k%s%s",
		g.of("SMALLINT", "UTINYINT", "INTEGER"), g.direction(), g.limit())}
}

func rowNumbers(g *generator) statement {
	key := g.of("NULL", "NULLIF(g, 2)", "NULLIF(1, 1)", "TRY_CAST('x' AS INTEGER)", "n", "i")
	return statement{text: fmt.Sprintf("SELECT g, r FROM (SELECT g, row_number() OVER (PARTITION BY %s ORDER BY"+
		" %s%s) AS r FROM nums) x WHERE r <= %d",
		g.of("g", "g", "g, b"), key, g.direction(), 2+g.IntN(3))}
}

func rowNumberOrder(g *generator) statement {
	return statement{text: fmt.Sprintf(`SELECT id, g FROM nums QUALIFY row_number(ORDER BY id%s) OVER (PARTITION BY g ORDER BY id%s
		ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) <= %d`, g.of("", " DESC"), g.of("", " DESC"), 1+g.IntN(3))}
}

func rowNumberNone(g *generator) statement {
	return statement{text: fmt.Sprintf("SELECT %s FROM %s QUALIFY row_number() OVER (ORDER BY %s) <= %d", g.of("v", "id", "i"),
		g.of("none", "none", "(SELECT id, i, v FROM nums WHERE id < 0) x"), g.of("id", "i"), 1+g.IntN(2))}
}

func windowSelf(g *generator) statement {
	column := func() string { return g.of("g", "b", "n") }
	a, b := column(), column()
	return statement{text: fmt.Sprintf("SELECT id, %s(i) OVER (PARTITION BY %s, %s) AS x, %s(i) OVER (PARTITION BY %s, %s) AS y FROM nums",
		g.of("bit_and", "max", "min", "count"), a, b, g.of("bit_or", "max", "count"), b, g.of(a, b, b))}
}

func correlated(g *generator) statement {
	op := func() string { return g.of(">", "<", "!=", ">=", "=") }
	inner := fmt.Sprintf("SELECT o.id AS c0, i.views AS c1, i.id AS c2 FROM posts i WHERE o.likes %s i.likes", op())
	outer := fmt.Sprintf("q.c1 %s o.%s", op(), g.of("likes", "likes", "views", "id"))
	condition := "EXISTS (SELECT 1 FROM (" + inner + ") q WHERE " + outer + ")"
	switch g.IntN(4) {
	case 0:
		condition = "NOT " + condition
	case 1:
		condition = "o.id IN (SELECT q.c2 FROM (" + inner + ") q WHERE " + outer + ")"
	}
	if g.IntN(3) == 0 {
		return statement{text: "SELECT o.id, " + condition + " AS x FROM posts o"}
	}
	return statement{text: "SELECT o.id FROM posts o WHERE " + condition}
}

func distinctFrom(g *generator) statement {
	test := func() string {
		return fmt.Sprintf("%s IS %sDISTINCT FROM %d", g.of("i", "n", "s", "g"), g.of("", "", "NOT "), g.IntN(5))
	}
	return statement{text: fmt.Sprintf("SELECT id FROM nums WHERE %s OR (%s AND %s)", g.of(test(), "n = 1", "i = 3", "b IS TRUE"),
		g.of(test(), "b IS NOT TRUE", "n IS DISTINCT FROM 1"), g.condition())}
}

func rowsIn(g *generator) statement {
	a, b := g.of("g", "n", "s"), g.of("b", "i", "n")
	condition := g.of("x.i > 2", "x.id < 300", "x.n IS NULL OR x.g = 1")
	form := "SELECT q.id FROM nums q WHERE %s" + g.of("", " OR q.g = 2", " AND q.id < 5000")
	in := fmt.Sprintf("(q.%s, q.%s) IN (SELECT x.%s, x.%s FROM nums x WHERE %s)", a, b, a, b, condition)
	exists := fmt.Sprintf("EXISTS (SELECT 1 FROM nums x WHERE (%s) AND q.%s = x.%s AND q.%s = x.%s)", condition, a, a, b, b)
	return statement{text: fmt.Sprintf(form, in), exact: fmt.Sprintf(form, exists)}
}

func wideSum(g *generator) statement {
	from := g.of("nums q", "(SELECT * FROM nums UNION ALL SELECT * FROM nums) q",
		"(SELECT * FROM nums WHERE id < 5000 UNION ALL SELECT * FROM nums WHERE id >= 5000) q",
		fmt.Sprintf("(SELECT * FROM nums WHERE i > %d UNION ALL SELECT * FROM nums WHERE id < 100) q", g.IntN(150)))
	value := g.of("w", "w", "w // 1", "w * 2", "i", "l")
	value = strings.Replace(value, "w // 1", "abs(w)", 1)
	fn, exact := "sum", "list_sum"
	if g.IntN(3) == 0 {
		fn, exact = "avg", "list_avg"
	}
	filter := g.of("", "", " FILTER (WHERE g > 1)")
	group := g.of("", " GROUP BY g")
	form := "SELECT %s FROM " + from + group
	return statement{wide: true,
		text:  fmt.Sprintf(form, fmt.Sprintf("CAST(%s(%s)%s AS VARCHAR) AS x", fn, value, filter)),
		exact: fmt.Sprintf(form, fmt.Sprintf("CAST(%s(list(%s)%s) AS VARCHAR) AS x", exact, value, filter))}
}

func wideMedian(g *generator) statement {
	fn := g.of("median(%s)", "quantile_cont(%s, 0.5)", "percentile_cont(0.5) WITHIN GROUP (ORDER BY %s)")
	value := g.of("w", "w + 2", "CAST(id * 2 AS DECIMAL(38,0))", "CAST(id * 2000000000000 AS DECIMAL(18,0))")
	group := g.of("", " GROUP BY g")
	form := "SELECT CAST(%s AS VARCHAR) AS x FROM nums" + group
	return statement{wide: true, text: fmt.Sprintf(form, fmt.Sprintf(fn, value)),
		exact: fmt.Sprintf(form, fmt.Sprintf("exact_median(list(%s))", value))}
}

func unionJoins(g *generator) statement {
	const pairs = "(SELECT a.id AS a, b.id AS b FROM posts a JOIN posts b ON a.likes < b.likes) p" +
		" JOIN posts s ON s.id = p.a JOIN posts o ON o.id = p.b"
	arm := func() string {
		if g.IntN(3) == 0 {
			return fmt.Sprintf("SELECT s.id AS x, o.%s AS y, s.v || coalesce(o.v, '-') AS z"+
				" FROM posts s %s JOIN posts o ON s.likes = o.%s WHERE %s",
				g.of("id", "likes"), g.of("LEFT", "LEFT", "INNER"), g.of("likes", "views"),
				g.of("NOT (s.g = 1 AND o.v <> 'p1')", "(s.g = 1 AND o.v <> 'p1') IS NULL", "o.id IS NULL", "s.views > 3"))
		}
		return fmt.Sprintf("SELECT %s AS x, %s AS y, CAST(%s AS VARCHAR) AS z FROM %s%s",
			g.of("p.a", "p.b", "1"), g.of("s.id", "s.likes"), g.of("s.v", "o.v", "o.likes", "s.likes || '-' || o.likes"),
			pairs, g.of(" WHERE s.likes < o.likes", " WHERE s.likes < o.likes", ""))
	}
	return statement{text: arm() + g.of(" UNION ALL ", " UNION ALL ", " UNION ") + arm()}
}

func mixed(g *generator) statement {
	switch g.IntN(6) {
	case 0:
		return statement{text: fmt.Sprintf("SELECT g, count(*) AS c, CAST(sum(%s) AS VARCHAR) AS s, max(v) AS m"+
			" FROM %s WHERE %s GROUP BY g HAVING count(*) > %d",
			g.number(), g.from(), g.condition(), g.IntN(5))}
	case 1:
		return statement{text: fmt.Sprintf("SELECT a.id, b.v FROM %s JOIN posts b ON q.g = b.g AND q.i %s b.likes"+
			" JOIN nums a ON a.id = q.id WHERE q.%s",
			g.from(), g.of(">", "=", "<"), "g < 4")}
	case 2:
		return statement{text: fmt.Sprintf("SELECT id, (SELECT max(p.views) FROM posts p WHERE p.g = q.g AND"+
			" p.likes > q.%s) AS x FROM %s", g.number(), g.from())}
	case 3:
		return statement{text: fmt.Sprintf("WITH w AS (SELECT g, %s AS k FROM %s) SELECT a.g, count(b.k) AS c FROM"+
			" w a LEFT JOIN w b ON a.k = b.k + 1 GROUP BY a.g",
			g.number(), g.from())}
	case 4:
		return statement{text: fmt.Sprintf("SELECT id, CAST(sum(i) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN %d"+
			" PRECEDING AND CURRENT ROW) AS VARCHAR) AS s, lag(n) OVER (ORDER BY id) AS p FROM %s",
			1+g.IntN(3), g.from())}
	}
	return statement{text: fmt.Sprintf("SELECT id, v FROM %s WHERE %s AND (%s OR %s) ORDER BY id%s%s",
		g.from(), g.condition(), g.condition(), g.condition(),
		g.of("", " DESC"), g.limit())}
}
