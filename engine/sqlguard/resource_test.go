package sqlguard_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// TestResourceAttacksEnd: what the guard lets pass must end soon after an
// interrupt and stay near the engine's memory limit.
func TestResourceAttacksEnd(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	mustExec(t, w.guarded, "SET threads = 2")
	mustExec(t, w.guarded, "SET memory_limit = '512MB'")
	attacks := map[string]string{
		"cross join":    "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7",
		"recursive cte": "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r",
		"levenshtein computed": "SELECT count(levenshtein(a.x, b.x)) FROM (SELECT repeat('ab', range % 4000) AS x FROM range(60000)) a, " +
			"(SELECT repeat('ba', range % 4000) AS x FROM range(60000)) b",
		"levenshtein in bound": "SELECT sum(damerau_levenshtein(a.x, b.x)) FROM (SELECT repeat('ab', 120 + range % 5) AS x FROM " +
			"range(60000)) a, (SELECT repeat('ba', 120) AS x FROM range(60000)) b",
		"list reduce": "SELECT list_reduce(range(n), lambda a, b: a + b) FROM (SELECT 50000000 + range AS n FROM range(3))",
		"list reduce in bound": "SELECT sum(list_reduce(range(n), lambda a, b: a + b)) FROM (SELECT 4900 + range % 100 AS n FROM " +
			"range(1000000))",
		"doubling":            doubling("x || x"),
		"doubling by replace": doubling("replace(x, 'a', 'aa')"),
		"replace chain": "SELECT sum(length(replace(replace(replace(replace(x, 'a', 'aaaaaaaaaa'), 'a', 'aaaaaaaaaa'), 'a', " +
			"'aaaaaaaaaa'), 'a', 'aaaaaaaaaa'))) FROM (SELECT repeat('a', 40 + range % 5) AS x FROM range(100000))",
		"cube": "SELECT count(*) FROM (SELECT count(*) FROM (SELECT range % 2 AS a, range % 3 AS b, range % 5 AS c, range % " +
			"7 AS d, range % 11 AS e, range % 13 AS f, range AS g FROM range(10000000)) GROUP BY CUBE (a, b, c, d, e, f, g))",
		"list reduce growing": "SELECT sum(strlen(list_reduce(list_transform(range(n), lambda x: 'a'), lambda a, b: a || '12345678' || " +
			"b))) FROM (SELECT 300 + range % 30 AS n FROM range(1000000))",
		"json every level": "SELECT sum(len(json_extract(j, '$..z'))) FROM (SELECT repeat('{\"a\":', 1600) || '1' || repeat('}', 1600) " +
			"|| repeat(' ', range % 7) AS j FROM range(204800))",
		"json tree": "SELECT count(path), sum(length(path)) FROM json_tree(repeat('[', 9000) || repeat('[', 9000) || repeat(']', " +
			"9000) || repeat(']', 9000))",
		"bits by group":    "SELECT count(b) FROM (SELECT bitstring_agg(range % 10000, 0, 9999) AS b FROM range(100000000) GROUP BY range)",
		"samples by group": "SELECT max(q) FROM (SELECT reservoir_quantile(range, 0.5, 8192) AS q FROM range(100000000) GROUP BY range)",
		"list reduce many": "SELECT " + strings.Repeat("sum(list_reduce(range(n), lambda a, b: a + b)), ", 16) +
			"1 FROM (SELECT 4900 + range % 100 AS n FROM range(1000000))",
		"list of everything": "SELECT len(list(range)) FROM range(1000000000)",
		"list huge":          "SELECT len(range(n)) FROM (SELECT 3000000000 + range AS n FROM range(2))",
		"string agg":         "SELECT length(string_agg(range::VARCHAR, ',')) FROM range(1000000000)",
		"sort":               "SELECT * FROM (SELECT hash(range) AS h, range FROM range(1000000000)) ORDER BY h LIMIT 1 OFFSET 100000000",
		"repeat per row":     "SELECT sum(length(repeat(x, 100))) FROM (SELECT repeat('ab', 50 + range % 50) AS x FROM range(100000000))",
		"lpad per row":       "SELECT sum(length(lpad(range::VARCHAR, 10000, 'x'))) FROM range(100000000)",
		"regexp":             "SELECT count(regexp_replace(repeat('ab', 500), '(a|b|ab)*c', 'x', 'g')) FROM range(100000000)",
		"nested lambda": "SELECT sum(list_sum(list_transform(range(400), lambda x: list_sum(list_transform(range(40), lambda y: x * " +
			"y + n))))) FROM range(1000000) t(n)",
		"wildcards": "SELECT count(*) FROM range(100000000) WHERE (repeat('a', 180) || range) LIKE '%a_%a_b'",
		"wildcards computed": "SELECT count(*) FROM range(100000000) WHERE (repeat('a', 90) || range) LIKE " +
			"'%aaaaaaaaaaaaaaaaaaaaaaaaaa%aaaaaaaaaaaaaaaaa' || (range % 2)",
		"wildcards many": "SELECT " + strings.Repeat("count(x LIKE '%a_%a_b'), ", 200) +
			"1 FROM (SELECT repeat('a', 30 + range % 3) AS x FROM range(100000000))",
		"wildcards computed many": "SELECT " + strings.Repeat("count(x LIKE '%aaaaaaaaaaaaaaaaaa' || (n % 2)), ", 60) +
			"1 FROM (SELECT range % 2 AS n, repeat('a', 100 + range % 3) AS x FROM range(100000000))",
		"many distances": "SELECT " + strings.Repeat("sum(damerau_levenshtein(a.x, b.x)), ", 15) +
			"1 FROM (SELECT repeat('ab', 48 + range % 2) AS x FROM range(60000)) a, (SELECT repeat('ba', 48) AS x FROM range(60000)) b",
	}
	for name, text := range attacks {
		t.Run(name, func(t *testing.T) {
			plan := w.bind(t, text, false)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			start, stalls := time.Now(), enginetest.WatchStalls(200*time.Millisecond)
			before := rss(t)
			var out any
			rows, err := w.guarded.QueryContext(ctx, plan.SQL)
			if err == nil {
				for rows.Next() {
					_ = rows.Scan(&out)
				}
				err = rows.Err()
				require.NoError(t, rows.Close())
			}
			took, stalled := time.Since(start), stalls()
			t.Logf("%v (stalls of %v), RSS %+d MB, %.100v", took.Round(time.Millisecond), stalled.Round(time.Millisecond), (rss(t)-before)>>20, err)
			require.Error(t, err, "it should not have finished")
			require.Less(t, took-stalled, 5*time.Second)
			require.Less(t, rss(t)-before, int64(900<<20))
		})
	}
}

// deep and deepObject are JSON nested in so many levels that walking it by
// recursion would take more stack than a process has.
const (
	deep       = "(repeat('[', 9000) || repeat('[', 9000) || repeat('[', 9000))"
	nest       = `(repeat('{"a":', 1500) || '1' || repeat('}', 1500))`
	deepObject = `(repeat('{"a":', 1900) || repeat('{"a":', 1900) || repeat('{"a":', 1900))`
)

// doubling makes texts twice as long at each of 40 levels.
func doubling(expr string) string {
	var out strings.Builder
	out.WriteString("WITH t0 AS (SELECT 'aaaaaaaaaaaaaaaa' || range AS x FROM range(1000))")
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&out, ", t%d AS (SELECT %s AS x FROM t%d)", i, expr, i-1)
	}
	return out.String() + " SELECT sum(length(x)) FROM t40"
}

// rss is the resident memory of this process.
func rss(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0 // not Linux
	}
	var size, resident int64
	_, err = fmt.Fscan(strings.NewReader(string(text)), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}

// parameterFor is a value over the limit.
func parameterFor(statement string) any {
	if strings.Contains(statement, "json_exists") {
		return "$..a..a..a..z"
	}
	if strings.Contains(statement, "lpad('x', $1") {
		return int64(100_000)
	}
	return strings.Repeat(" ", 200_000)
}

// TestGuardsKeepMeaning: a bounded call answers as the plain one below the
// bound, and fails above it.
func TestGuardsKeepMeaning(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for _, s := range []string{
		"SELECT repeat(name, id % 5), repeat('x', id), repeat(name, NULL), repeat(NULL, id), repeat('ab', 3) FROM customers",
		"SELECT lpad(name, id, 'xy'), rpad(name, id + 10, '-'), lpad(NULL, id, 'x'), rpad(name, NULL, 'x') FROM customers",
		"SELECT bar(id, 0, 60, id), bar(id, 0, 60, 10), bar(id, 0, 60) FROM customers",
		"SELECT levenshtein(name, country), hamming(name, reverse(name)), jaro_similarity(name, 'cust'), mismatches('ab', 'cd') FROM customers",
		"SELECT list_reduce(list_transform(tags, x -> length(x)), (a, b) -> a + b) FROM customers WHERE len(tags) > 0",
		"SELECT replace(name, 'cust', country), regexp_replace(name, 'u|s', country, 'g') FROM customers WHERE country IS NOT NULL",
		"SELECT array_to_string(tags, ' ' || chr(10)), list_resize(tags, id, name), bitstring('101', id + 8), equi_width_bins(0, 100, id, " +
			"true) FROM customers",
		"SELECT list_aggregate(tags, 'string_agg', '/'), list_aggregate(tags, 'min') FROM customers",
		"SELECT repeat(name, id % 3), count(*) FROM customers GROUP BY repeat(name, id % 3) ORDER BY repeat(name, id % 3)",
		"SELECT max(repeat(name, id % 3)), sum(levenshtein(name, country)) FILTER (WHERE lpad(name, id, 'x') <> '') FROM customers",
		"SELECT a.id FROM customers a JOIN customers b ON repeat(a.name, a.id % 3) = repeat(b.name, b.id % 3)",
		"SELECT repeat(repeat(repeat('a', id % 3), 2), id % 4) FROM customers",
		"SELECT repeat('a', (SELECT max(id) FROM customers))",
		"SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders WHERE note = repeat(c.name, c.id % 2))",
		"SELECT repeat(current_user, id % 3) IS NULL, lpad(session_user, id, user) IS NULL, repeat(customers.name, 1) FROM customers",
		"SELECT lpad((SELECT min(name) FROM customers), id, (SELECT max(country) FROM customers WHERE id < 20)) FROM customers",
		"SELECT string_agg(name, chr(10) ORDER BY id), string_agg(name, ', ' ORDER BY id) FILTER (WHERE vip), string_agg(country, '') OVER () " +
			"FROM customers GROUP BY country",
		"SELECT range(id % 4), range(1, id), range(id, 1), range(id, 100, 7), range(100, id, -9), generate_series(id, id + 2) FROM customers",
		"SELECT generate_series(signup, signup + 3, INTERVAL 1 DAY), range(signup, DATE '2019-12-01', INTERVAL '-1' MONTH) FROM customers",
		"SELECT range(placed, placed + INTERVAL 1 DAY, INTERVAL 6 HOUR), range(0, 5000000000, 1000000000), range(0, 2000000000, id * 30000000) " +
			"FROM orders",
		"SELECT count(*) FROM (SELECT unnest(generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-06-01', INTERVAL 1 MINUTE)))",
		"SELECT count(*) FROM (SELECT unnest(range(500000)))",
		"SELECT replace(name, '_', '&amp;'), replace(name, name, country), regexp_replace(name, name, 'x'), regexp_replace(name, '(\\d)', " +
			"'<\\1>', 'g') FROM customers",
		"SELECT replace(upper(name), 'CUST', 'customer'), replace(name, 'cust', lower('CU')), regexp_replace(name || 'x', '$', id::VARCHAR) " +
			"FROM customers",
		"SELECT [[x || y FOR y IN tags] FOR x IN tags] AS r, list_transform(tags, x -> list_filter(tags, y -> x <> y)), list_transform([[1, 2]," +
			" [3]], l -> list_reduce(l, (a, b) -> a + b)) AS s FROM customers",
		"SELECT list_transform(range(3), x -> repeat('ab', x)) AS r FROM customers",
		"SELECT list_transform(range(3), x -> {'a': x, 'b': x + 1, 'c': x + 2, 'd': x + 3}) AS r FROM customers",
		"SELECT sum(length(repeat(name, id))) OVER (ORDER BY id) FROM customers",
		"SELECT name LIKE 'c_st%1_' , name NOT LIKE '%s_%1%', name ILIKE '%S%T%', name NOT ILIKE 'C%', name GLOB '*s*_[1-3]*', name LIKE " +
			"'%u_t%1%' FROM customers",
		"SELECT name LIKE country || '%', name ILIKE '%' || id || '%', name NOT LIKE name, name GLOB '*' || id, name LIKE NULL, country LIKE " +
			"'%R', country ILIKE '%r' FROM customers",
		"SELECT name LIKE '%!_%' ESCAPE '!', name NOT LIKE 'c' || '!_%' ESCAPE '!', name ILIKE '%T!_%' ESCAPE '!', name NOT ILIKE country " +
			"ESCAPE '!' FROM customers",
		"SELECT contains(name, 'st'), contains(name, country), contains(tags, 'a'), contains(tags, country), instr(name, id::VARCHAR), " +
			"strpos(name, right(name, 1)), position(country IN name) FROM customers",
		"SELECT string_split(name, '_'), str_split(name, left(name, 1)), split_part(name, right(country, 1), 1), regexp_extract_all(name, '.')," +
			" string_split_regex(name, '_|s'), regexp_split_to_array(name, 't') FROM customers",
		"SELECT id, unnest(string_split(name, lower('_'))), regexp_split_to_table(name, '_') FROM customers",
		"SELECT * ILIKE '%ID%' FROM orders",
		"SELECT COLUMNS(c -> c ILIKE '%ID%'), COLUMNS(c -> c GLOB '*t*s') FROM orders",
		"SELECT rpad(name, 900, 'x') LIKE '%' || id || '%', rpad(name, 900, 'x') LIKE '%' || rpad(country, 50, 'y') || '%', rpad(name, 100, " +
			"'x') LIKE '%_u_t%1%' FROM customers",
		"SELECT " + strings.Repeat("rpad(name, 900, 'x') LIKE '%' || country || '%', ", 39) + "name LIKE '%' || country || '%' FROM customers",
		"SELECT count(*) FROM customers WHERE name LIKE '%' || id || '%' AND name ILIKE '%S%' GROUP BY name LIKE '%_1%' ORDER BY ALL",
		"SELECT 'ÄÖ' ILIKE '%ö', 'straße' ILIKE 'STRASSE', 'É' ILIKE '_', upper(name) ILIKE '%É%' FROM customers",
		"SELECT list_reduce(tags, (a, x) -> a || '-' || x), list_reduce(tags, (a, x) -> CASE WHEN strlen(a) > strlen(x) THEN a ELSE x END), " +
			"list_transform(tags, x -> x || '/' || x) FROM customers WHERE len(tags) > 0",
		"SELECT json_structure(meta), json_contains(meta, '\"red\"'), json_merge_patch(meta, '{\"a\": 1}', meta), json_structure('[1]'), " +
			"json_structure(NULL) FROM items",
		"SELECT json_contains(meta::JSON, to_json(sku)), json_structure(to_json(qty)) FROM items",
		"SELECT meta -> '$..color', meta ->> '$..*', json_extract(meta, ['$.color', '$.size']), json_extract(meta, lower('$.SIZE')), meta ->> " +
			"sku FROM items",
		"SELECT json_extract(meta, p), json_keys(meta, p), json_type(meta, p), json_exists(meta, '$..a') FROM (SELECT meta, '$.' || ['color', " +
			"'size'][qty % 2 + 1] AS p FROM items)",
		"SELECT '[1,2]'::JSON -> 0, '[1,2]'::JSON ->> qty, '[1,2]'::JSON -> -1, json_extract('[1,2]', NULL), list_transform([meta], x -> (x -> " +
			"'$.size')) AS r FROM items",
		"SELECT '{\"a..b\": 1}'::JSON ->> ('a..' || left(sku, 0) || 'b'), '{\"..a..\": 1}'::JSON ->> '..a..' FROM items",
		"SELECT e.key, e.value FROM items, json_each(meta) e WHERE order_id < 5",
		"SELECT e.fullkey FROM json_tree('{\"a\": [1]}', '$.a') e",
		"SELECT reservoir_quantile(1, 0.5), reservoir_quantile(2, [0.1, 0.9], 100), bitstring_agg(order_id, -1, 400), bitstring_agg(qty, 0, " +
			"9999) FROM items",
		"SELECT list_reduce(list_transform(range(99), x -> 'a' || x), (a, x) -> a || x), list_reduce(range(4000), (a, x) -> greatest(a, x)) " +
			"FROM customers",
		"SELECT from_json('{\"a\": 1}', '{\"a\": \"INTEGER\"}'), json_transform('[1]', '[\"DOUBLE\"]')",
		"SELECT printf('%d %s %5.2f%% %-10s|', 1, 'a', 2.5, 'x'), format('{} {:>10} {{}} {:.2f}', 1, 'a', 2.0)",
	} {
		t.Run(s, func(t *testing.T) { w.compare(t, s) })
	}
	for _, s := range []string{
		"SELECT repeat(name, id * 1000) FROM customers",
		"SELECT repeat('x', id * 1000) FROM customers",
		"SELECT lpad(name, id * 1000, 'x') FROM customers",
		"SELECT bar(id, 0, 60, id * 100) FROM customers",
		"SELECT levenshtein(repeat(name, 200), name) FROM customers",
		"SELECT list_reduce(range(id * 1000), lambda a, b: a + b) FROM customers",
		"SELECT replace(repeat(name, 100), 'c', repeat(name, 800)) FROM customers",
		"SELECT list_resize(tags, id * 100000) FROM customers",
		"SELECT range(id * 10000) FROM customers",
		"SELECT generate_series(-id * 10000, id) FROM customers",
		"SELECT range(signup, signup + 10000, INTERVAL 1 MINUTE) FROM customers",
		"SELECT range(TIMESTAMP '2024-01-01', placed + INTERVAL 1 YEAR, INTERVAL 1 SECOND) FROM orders",
		"SELECT range(id, -100000, -1) FROM customers",
		"SELECT range(DATE '2024-01-01', DATE '2025-01-01', INTERVAL 1 SECOND)",
		"SELECT list_transform(range(401), lambda x: list_sum(list_transform([1, x], lambda y: x * y))) FROM customers",
		"SELECT list_transform(range(10), lambda x: list_sum(list_transform(range(x * 10), lambda y: x * y))) FROM customers",
		"SELECT unnest(range(DATE '2024-01-01', DATE '2025-01-01', INTERVAL 1 SECOND))",
		"SELECT regexp_replace(repeat('a', 10000), '', repeat('b', id + 20), 'g') FROM customers",
		"SELECT replace(replace(replace(repeat('a', 5000 + id), 'a', 'bbbbbbbbbb'), 'b', 'cccccccccc'), 'c', 'dddd') FROM customers",
		"SELECT repeat('a', (random() * 1e9)::BIGINT + 20000) FROM customers",
		"SELECT repeat(x, 5000) FROM (SELECT repeat('abcd', 2000) AS x)",
		"SELECT lpad('x', 9999 + 2, 'y')",
		"SELECT lpad('x', $1, 'y')",
		"SELECT repeat(name, 500) LIKE '%a_%b%c' FROM customers",
		"SELECT repeat(name, 50) LIKE '%a_%a_%a_%b' FROM customers",
		"SELECT repeat(name, 500) ILIKE '%a_%b%c' FROM customers",
		"SELECT repeat(name, 500) GLOB '*a*b*c' FROM customers",
		"SELECT repeat(name, 500) NOT LIKE '%a!_%b%c' ESCAPE '!' FROM customers",
		"SELECT repeat(name, 500) LIKE '%' || country FROM customers",
		"SELECT repeat(name, 50) LIKE '%a%b%' || name FROM customers",
		"SELECT name LIKE '%a%b%c%' || name FROM customers",
		"SELECT " + strings.Repeat("rpad(name, 900, 'x') LIKE '%' || rpad(country, 50, 'y') || '%', ", 79) +
			"name LIKE '%' || country || '%' FROM customers",
		"SELECT " + strings.Repeat("rpad(name, 100, 'x') LIKE '%_u_t%1%', ", 200) + "1 FROM customers",
		"SELECT name LIKE repeat('a', 90 + id) || name FROM customers",
		"SELECT repeat('x', 1000 + id) ILIKE $1 FROM customers",
		"SELECT name LIKE $1 FROM customers",
		"SELECT contains(repeat(name, 1400) || rpad('', 9000, 'x'), rpad(name, 9990, 'y')) FROM customers",
		"SELECT strpos(rpad(name, 9000, 'x') || rpad(name, 9000, 'x'), $1) FROM customers",
		"SELECT string_split(rpad(name, 9000, 'x'), rpad(name, 9000, 'y')) FROM customers",
		"SELECT regexp_extract_all(rpad(name, 9999, 'x') || rpad(name, 9999, 'x') || name, 'x') FROM customers",
		"SELECT regexp_split_to_table(rpad(name, 9999, 'x') || rpad(name, 9999, 'x') || name, 'x') FROM customers",
		"SELECT list_reduce(list_transform(range(1001), lambda x: 'a'), lambda a, b: a || b) FROM customers",
		"SELECT list_reduce(list_transform(range(1001), lambda x: [x]), lambda a, b: list_concat(a, b)) FROM customers",
		"SELECT '$..a..a..a..z' AS p, json_extract(" + nest + ", p)",
		"SELECT json_extract(" + nest + ", lower('$..a..a..a..z'))",
		"SELECT json_exists(" + nest + ", $1)",
		"SELECT " + nest + "::JSON -> ('$..a' || '..a..a..z')",
		"SELECT " + nest + "::JSON ->> concat('$..a..a..', 'a..z')",
		"SELECT json_structure(" + deep + ") FROM items",
		"SELECT json_contains(" + deep + ", '1'), json_contains('1', " + deep + ")",
		"SELECT json_contains('1', j) FROM (SELECT " + deep + " AS j)",
		"SELECT json_merge_patch('{}', '{}', x || x) FROM (SELECT " + deepObject + " AS x)",
		"SELECT json_structure('[1]' || rpad('', 9000, ' ') || $1)",
	} {
		t.Run(s, func(t *testing.T) {
			plan := w.bind(t, s, false)
			var args []any
			if strings.Contains(s, "$1") {
				args = append(args, parameterFor(s))
			}
			rows, err := w.guarded.QueryContext(t.Context(), plan.SQL, args...)
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				require.NoError(t, rows.Close())
			}
			require.ErrorContains(t, err, "argument exceeds the limit")
		})
	}
}
