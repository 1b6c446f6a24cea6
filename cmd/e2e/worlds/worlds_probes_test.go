package worlds_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// scalarPlaces and aggregatePlaces are the places of a statement where an
// expression can be used: {e} is the expression, {t} the table, {a} the expression
// with its columns qualified by the alias a.
var scalarPlaces = []string{
	"SELECT {e} AS e FROM {t}",
	"SELECT count(*), min(id) FROM {t} WHERE ({e}) IS NOT NULL",
	"SELECT {e} AS e, count(*) FROM {t} GROUP BY e",
	"SELECT count(*) FROM {t} a JOIN {dim} b ON a.grp = b.g AND ({e}) IS NULL",
	"SELECT id FROM {t} WHERE tenant = 'a' AND id BETWEEN 0 AND 1000 AND CASE WHEN tenant = 'a' THEN true ELSE ({e}) IS NULL END ORDER BY " +
		"id LIMIT 9",
	"SELECT id FROM {t} ORDER BY {e}, id LIMIT 7",
	"SELECT grp, count({e}) AS n FROM {t} GROUP BY grp HAVING count({e}) >= 0 ORDER BY grp",
	"SELECT id, row_number() OVER (PARTITION BY {e} ORDER BY id) AS n FROM {t} ORDER BY id LIMIT 7",
	"SELECT id FROM {t} QUALIFY lag({e}) OVER (ORDER BY id) IS NULL ORDER BY id LIMIT 7",
	"SELECT DISTINCT {e} AS e FROM {t}",
	"SELECT sum(CASE WHEN id < 0 THEN 0 WHEN ({e}) IS NULL THEN 1 ELSE 2 END) AS n FROM {t}",
	"SELECT sum(len(list_filter([1, 2], lambda w: ({e}) IS NULL))) AS n FROM {t}",
	"SELECT list_transform([x_s], lambda w: CAST(({e}) AS VARCHAR))[1] AS e FROM {t} LIMIT 20 OFFSET 5",
	"SELECT CAST([{e}] AS VARCHAR[]) AS e FROM {t} WHERE id % 5 = 0",
	"WITH w AS (SELECT id, {e} AS e FROM {t}) SELECT count(e), max(id) FROM w WHERE e IS NULL",
	"SELECT id FROM {t} o WHERE EXISTS (SELECT 1 FROM {t} WHERE id = o.id AND ({e}) IS NULL) ORDER BY id LIMIT 7",
	"SELECT DISTINCT ON (grp) grp, {e} AS e FROM {t} ORDER BY grp, id",
	"SELECT count(*) FILTER (WHERE ({e}) IS NULL) FROM {t} WHERE id IN (1, 5, 9, 270)",
}

var aggregatePlaces = []string{
	"SELECT {e} AS e FROM {t}",
	"SELECT grp, {e} AS e FROM {t} GROUP BY grp ORDER BY grp",
	"SELECT {e} FILTER (WHERE id > 5) AS e FROM {t} WHERE id < 250",
	"SELECT grp FROM {t} GROUP BY grp HAVING ({e}) IS NULL ORDER BY grp",
	"SELECT id, {e} OVER (ORDER BY id ROWS 3 PRECEDING) AS e FROM {t} ORDER BY id LIMIT 7",
	"SELECT {e} AS e, b.name FROM {t} a JOIN {dim} b ON a.grp = b.g GROUP BY b.name ORDER BY b.name",
}

func fill(place, e, table, dim string) string {
	return strings.NewReplacer("{e}", e, "{t}", table, "{dim}", dim).Replace(place)
}

// specials are calls of functions whose arguments a type does not describe.
var specials = []string{
	"json_transform(x_s, '{\"a\": \"INTEGER\"}')", "json_transform_strict(x_s, '{\"a\": \"INTEGER\"}')", "from_json(x_s, '[\"DOUBLE\"]')",
	"from_json_strict(x_s, '{\"a\": \"INTEGER\"}')",
	"list_aggregate(x_li, 'sum')", "list_aggr(x_ls, 'string_agg', ',')", "aggregate(x_li, 'product')", "array_aggr(x_ls, 'max')",
	"array_aggregate(x_li, 'kurtosis')", "format('{} {}', x_s, x_i64)", "printf('%d %s', x_i64, x_s)", "printf('%.3f', x_f64)",
	"lag(x_s) OVER (ORDER BY id)", "lead(x_s, x_i32::INT) OVER (ORDER BY id)", "first_value(x_s) OVER (ORDER BY x_i64, id)",
	"last_value(x_li) OVER (ORDER BY id)", "nth_value(x_s, x_i32) OVER (ORDER BY id)", "fill(x_f64) OVER (ORDER BY id)",
	"ntile(coalesce(x_i32, 3)) OVER (ORDER BY id)", "cume_dist() OVER (ORDER BY x_f64)", "dense_rank() OVER (ORDER BY x_s)",
	"percent_rank() OVER (PARTITION BY x_s ORDER BY id)", "rank() OVER (ORDER BY x_ts)",
	"approx_quantile(x_f64, 0.5)", "quantile(x_i64, 0.5)", "quantile_cont(x_f64, [0.1, 0.9])", "quantile_disc(x_s, 0.3)",
	"reservoir_quantile(x_f64, 0.5)", "histogram(x_i64, [1, 2])", "histogram_exact(x_s, ['a'])", "bitstring_agg(x_i32)",
	"bitstring_agg(x_i32, 0, 10)", "string_agg(x_s, ', ' ORDER BY x_s)", "listagg(x_s, ';')", "group_concat(x_s, ',')",
	"list(x_s ORDER BY x_f64)", "arg_max(x_s, x_f64, 3)", "max(x_s, 2)", "approx_top_k(x_s, 2)", "mode(x_li)", "geomean(x_f64)",
	"json_group_object(coalesce(x_s, 'k'), x_i64)", "json_group_array(x_ls)", "json_group_structure(x_s)",
	"list_reduce(x_li, lambda a, b: a + b)", "reduce(x_ls, lambda a, b: a || b, 'z')", "array_reduce(x_li, lambda a, b: a - b)",
	"list_sort(x_ls, 'DESC', 'NULLS LAST')", "list_slice(x_ls, x_i32, 9)", "x_s[x_i32:]", "x_ls[:x_i64]", "x_s ->> '$.a'", "x_s -> 'a'",
	"x_s::JSON -> x_s", "element_at(x_mp, x_s)", "map(x_ls, x_ls)", "map(x_ls, x_li)", "map_from_entries(map_entries(x_mp))",
	"map_extract_value(x_mp, 'a')", "map_contains(x_mp, x_s)", "cardinality(x_mp)", "struct_extract(x_st, 'b')", "struct_extract_at(x_st, 1)",
	"struct_insert(x_st, c := x_s)", "struct_concat(x_st, {'c': x_s})", "struct_contains(x_st, x_i32)", "struct_keys(x_st)",
	"struct_values(x_st)", "row_to_json(x_st)", "array_to_json(x_ls)", "json_object(coalesce(x_s, ''), x_i64)", "union_value(a := x_s)",
	"union_tag(union_value(a := x_i64))", "union_extract(union_value(a := x_s), 'a')",
	"array_value(x_s, x_s)", "array_cross_product(x_li::DOUBLE[3], [1, 2, 3]::DOUBLE[3])", "time_bucket(to_days(x_i32), x_ts)",
	"generate_subscripts(x_ls, 1)", "switch(x_s, 'a', 'b')", "COALESCE(x_s, v_s)", "x_s BETWEEN v_s AND x_s", "x_i64 IN (x_i32, v_i64)",
	"GREATEST(x_s, x_s)", "x_ls IN (['a'])", "(x_s, x_i64) = ('a', 1)", "x_s IS DISTINCT FROM v_s", "x_ts AT TIME ZONE x_s",
	"EXTRACT(year FROM x_ts)", "x_d - DATE '2000-01-01'", "x_ts - x_ts", "INTERVAL (x_i32) YEAR", "[y FOR y IN x_li IF y + 1 > 0]",
	"x_s COLLATE NOCASE", "x_s COLLATE de", "strip_accents(x_s)", "TRY(CAST(x_s AS INT))", "CAST(x_s AS VARCHAR)::INT::VARCHAR",
	"equi_width_bins(x_f64, 10.0, 3, true)", "unpivot_list(x_s, x_s)", "days_in_month(x_d)", "pg_size_pretty(x_i64)", "round_even(x_f64, 1)",
	"roundbankers(x_f64, 1)", "regexp_split_to_table(x_s, ',')", "array_to_string(x_ls, ',')", "array_to_string_comma_default(x_ls)",
	"list_string_agg(x_ls)", "json_quote(x_s)", "map_contains_entry(x_mp, 'a', 1)", "struct_has(row(x_s), 'a')",
	"struct_contains(row(x_s), 'a')", "struct_position(row(x_s), 'a')", "struct_indexof(row(x_s), 'a')", "rank_dense() OVER (ORDER BY x_s)",
	"timetz_byte_comparable(x_ts::TIMETZ)", "sum_no_overflow(x_i32)", "current_schemas(x_b)", "x_bin || x_bin", "array_extract(x_st, 'a')",
}

// specialProbes puts every one of them into two places.
func specialProbes() []probe {
	var out []probe
	for i, e := range specials {
		for _, place := range []string{scalarPlaces[0], "SELECT count(*) FROM (SELECT {e} AS e FROM {t}) w WHERE e IS NOT NULL",
			scalarPlaces[i%len(scalarPlaces)]} {
			out = append(out, probe{"", fill(place, e, "{t}", "{dim}")})
		}
	}
	return out
}

// probe is a statement with the place of its tables left open.
type probe struct {
	function string
	sql      string // with {t} and {dim}
}

// probes makes n statements: every expression in some place, then in the next.
func probes(all []expression, n int) []probe {
	var out []probe
	for round := 0; len(out) < n && round < len(scalarPlaces); round++ {
		for i, e := range all {
			places := scalarPlaces
			if e.aggregate {
				places = aggregatePlaces
			}
			// Most errors show in SELECT and WHERE, so one of them comes first.
			at := i % 2
			if round > 0 || i >= n/2 {
				at = (i + round) % len(places)
			}
			if len(out) == n {
				return out
			}
			out = append(out, probe{e.function, fill(places[at], e.sql, "{t}", "{dim}")})
		}
	}
	return out
}

// leakFamilies are the expressions that are known to leak through a view, and
// their relatives.
func leakFamilies() []probe {
	columns := []string{"x_s", "v_s"}
	bodies := []string{
		"date_diff(%s, DATE '2020-01-01', DATE '2020-01-02')", "date_part(%s, DATE '2020-01-01')", "date_trunc(%s, DATE '2020-01-01')",
		"list_transform([%s], lambda x: CAST(regexp_replace(x, 'day.*', '1') AS INT))", "[CAST(x AS INT) FOR x IN [%s]]",
		"list_filter([%s], lambda x: CAST(x AS INT) > 0)", "list_reduce([%s, '1'], lambda x, y: CAST(CAST(x AS INT) AS VARCHAR))",
		"CAST([%s] AS INT[])", "CAST([[%s]] AS INT[][])", "CAST({'a': %s} AS STRUCT(a INT))", "CAST(MAP {'k': %s} AS MAP(VARCHAR, INT))",
		"CAST(%s AS INT)", "CAST(%s AS DATE)", "CAST(%s AS TIMESTAMP)", "CAST(%s AS DECIMAL(4,2))", "CAST(%s AS UUID)", "CAST(%s AS JSON)",
		"CAST(%s AS BLOB)", "CAST(%s AS INT[])",
		"CAST(%s AS BOOLEAN)", "CAST(%s AS INTERVAL)", "CAST(%s AS BIT)", "CAST(%s AS TIME)", "CAST(%s AS STRUCT(a INT))", "TRY_CAST(%s AS INT)",
		"regexp_extract_all('aaa', %s)", "regexp_matches('a', %s)", "regexp_full_match('a', %s)", "regexp_replace('a', %s, 'x')",
		"regexp_extract('a', %s)", "regexp_split_to_array('a', %s)", "'a' SIMILAR TO %s",
		"strptime('2020-01-01', %s)", "try_strptime('2020', %s)", "strftime(DATE '2020-01-01', %s)", "like_escape('a', 'a', %s)", "'a' LIKE %s",
		"'a' ILIKE %s", "'a' GLOB %s",
		"from_hex(%s)", "unhex(%s)", "from_base64(%s)", "unbin(%s)", "hamming(%s, 'day')", "levenshtein(%s, 'day')", "jaccard(%s, 'day')",
		"ascii(%s)", "chr(length(%s)::INT * 100000)",
		"repeat(%s, 400)", "lpad(%s, 20000 + length(%s)::INT, 'x')", "replace('a', 'a', %s)", "json_extract(%s, '$.a')", "json_keys(%s)",
		"json_type(%s)", "json_structure(%s)", "json_merge_patch(%s, '{}')", "json_extract('{}', %s)", "from_json(%s, '{\"a\": \"INTEGER\"}')",
		"timezone(%s, TIMESTAMP '2020-01-01 00:00:00')", "list_position(['a'], %s)", "split_part(%s, ',', 9)", "string_split(%s, '')",
		"substr(%s, 2000, 5)", "left(%s, length(%s) - 2)", "array_extract(%s, 1)", "parse_formatted_bytes(%s)",
		"map_from_entries([{'k': %s, 'v': 1}, {'k': %s, 'v': 2}])", "MAP {%s: 1, 'day': 2}",
		"(SELECT %s)", "(SELECT max(d.name) FROM {dim} d WHERE d.name >= %s)", "list_sort([%s], '', '')", "list_aggregate([%s], 'max')",
		"nullif(%s, '')", "coalesce(%s, CAST(CAST(%s AS INT) AS VARCHAR))",
		"CASE WHEN %s = 'zz' THEN 'a' ELSE CAST(CAST(%s AS INT) AS VARCHAR) END",
	}
	numbers := []string{
		"x_i64 + x_i64", "x_i64 * 3", "-x_i64", "abs(x_i64)", "x_i64 // x_i32", "x_i64 % x_i32", "x_i32 << x_i32", "x_i64::INT", "x_i64::UBIGINT",
		"x_f64::BIGINT", "x_f64::DECIMAL(4,2)", "x_dec * x_dec", "x_dec::DECIMAL(6,2)", "factorial(x_i32)", "chr(x_i32)", "to_base(x_i64, x_i32)",
		"ln(x_f64)", "sqrt(x_f64)", "acos(x_f64)", "gamma(x_f64)", "pow(x_f64, x_f64)", "x_f32 * x_f32", "epoch_ms(x_i64)", "to_timestamp(x_f64)",
		"make_date(x_i32, x_i32, x_i32)", "make_time(x_i32, 1, 1.0)", "make_timestamp(x_i64)", "last_day(x_d)", "x_d + x_i32",
		"x_ts + to_years(x_i32)", "date_add(x_d, to_years(x_i32))", "CAST(x_ts AS TIMETZ)", "age(x_ts, x_ts)", "epoch_ns(x_ts)",
		"strftime(x_ts, x_s)", "date_diff('microsecond', x_d, DATE '2020-01-01')", "CAST(x_d AS TIMESTAMP_NS)",
		"x_li[x_i32]", "x_li[x_i32:]", "x_ls[:x_i32]", "x_s[x_i32:]", "x_i64.abs()", "x_s.left(x_i32)", "x_i64 + 5.", "x_f64 * 1e400",
		"x_ls[1]::INT", "list_sum(x_li)::INT", "list_select(x_ls, x_li)", "list_resize(x_ls, x_i32)", "x_li::INT[3]",
		"list_distance(x_li::DOUBLE[], [1, 2])", "list_zip(x_li, x_ls)", "x_mp['a']", "map_extract(x_mp, x_s)", "map_concat(x_mp, x_mp)",
		"x_st.a + x_st.a", "x_st.b::INT", "decode(x_bin)", "x_bin::VARCHAR::INT", "get_bit(x_s::BIT, x_i32)", "set_bit('1'::BIT, x_i32, 1)",
		"bitstring('1', x_i32)", "unnest(x_ls)::INT", "unnest(x_li) + 1", "range(x_i32)", "generate_series(x_i64, x_i64 + 5, x_i32)",
		"width_bucket(x_f64)", "x_i64::VARCHAR::TINYINT", "round(x_dec, x_i32)", "x_f64::FLOAT", "bit_count(x_i64)", "xor(x_i64, x_i32)",
		"sum(x_i64) OVER ()", "equi_width_bins(0, x_i64, 10, true)", "repeat('a', x_i64)", "lpad('a', x_i32, 'b')", "bar(x_f64, 0, 1, x_i32)",
		"array_value(x_i32, x_i32)", "x_li || x_i32", "list_reduce(x_li, lambda a, b: a + b)",
		"sum(x_i32) FILTER (WHERE x_i32 > 2) OVER (ORDER BY id)",
	}
	var out []probe
	for i, body := range bodies {
		for j, column := range columns {
			e := strings.ReplaceAll(body, "%s", column)
			for k := range 2 {
				out = append(out, probe{"", fill(scalarPlaces[(i*2+j+k*5)%len(scalarPlaces)], e, "{t}", "{dim}")})
			}
			out = append(out, probe{"", fill(scalarPlaces[0], e, "{t}", "{dim}")}, probe{"", fill(scalarPlaces[1], e, "{t}", "{dim}")})
		}
	}
	for i, e := range numbers {
		for k := range 2 {
			out = append(out, probe{"", fill(scalarPlaces[(i+k*7)%len(scalarPlaces)], e, "{t}", "{dim}")})
		}
		out = append(out, probe{"", fill(scalarPlaces[0], e, "{t}", "{dim}")}, probe{"", fill(scalarPlaces[1], e, "{t}", "{dim}")})
	}
	return out
}

// shapes are whole statements that look at the table rather than at a value.
func shapes() []probe {
	texts := []string{
		"DESCRIBE {t}", "DESCRIBE SELECT * FROM {t}", "SUMMARIZE {t}", "SUMMARIZE SELECT id, grp, v_s, x_s, x_i64 FROM {t}", "SHOW TABLES",
		"SHOW ALL TABLES",
		"SELECT * FROM {t}", "FROM {t} LIMIT 3", "FROM {t} LIMIT 3 OFFSET 298", "FROM {t} LIMIT 10 PERCENT", "SELECT count(*) FROM {t}",
		"SELECT count(*), count(x_s), count(DISTINCT tenant) FROM {t}",
		"SELECT min(id), max(id), min(v_s), max(v_s), min(tenant), max(tenant), min(x_d), max(x_f64) FROM {t}",
		"SELECT sum(v_f64), avg(v_f32), sum(v_dec), stddev(v_i32) FROM {t}",
		"SELECT approx_count_distinct(v_s), approx_quantile(v_f64, 0.3), approx_top_k(v_s, 3), median(v_i64), mode(v_s), reservoir_quantile(id," +
			" 0.5) FROM {t}",
		"SELECT first(v_s), last(v_s), arbitrary(x_s), list(id)[1:5], string_agg(v_s, ',')[1:50] FROM {t}", "SELECT DISTINCT tenant FROM {t}",
		"SELECT tenant, count(*) FROM {t} GROUP BY ALL", "SELECT v_s, count(*) FROM {t} GROUP BY v_s",
		"SELECT v_s, v_i32, count(*) FROM {t} GROUP BY CUBE (v_s, v_i32)", "SELECT id FROM {t} ORDER BY v_s DESC NULLS FIRST, v_d LIMIT 20",
		"SELECT id, v_ls FROM {t} WHERE id % 31 = 2",
		"SELECT * FROM {t} USING SAMPLE 10 ROWS REPEATABLE (7)", "SELECT id FROM {t} USING SAMPLE 10% (bernoulli) REPEATABLE (3)",
		"SELECT id FROM {t} TABLESAMPLE reservoir(20 ROWS) REPEATABLE (42)", "SELECT id FROM {t} TABLESAMPLE system(30%) REPEATABLE (5)",
		"SELECT count(*) FROM {t} TABLESAMPLE 5 ROWS",
		"SELECT count(*) FROM {t} AT (VERSION => 1)", "SELECT count(*) FROM {t} AT (VERSION => 0)",
		"SELECT count(*), max(id) FROM {t} AT (VERSION => 2)", "SELECT * FROM {t} AT (VERSION => 3)",
		"SELECT count(*) FROM {t} AT (TIMESTAMP => '2026-01-02 04:30:00')", "SELECT count(*) FROM {t} AT (TIMESTAMP => '2020-01-01 00:00:00')",
		"SELECT id FROM {t} AT (VERSION => 2) EXCEPT SELECT id FROM {t} AT (VERSION => 1)", "SELECT CAST(x_s AS INT) FROM {t} AT (VERSION => 1)",
		"EXPLAIN SELECT * FROM {t}", "EXPLAIN ANALYZE SELECT * FROM {t}", "SELECT rowid FROM {t}", "SELECT filename FROM {t}",
		"SELECT file_row_number FROM {t}", "SELECT delta_file_number FROM {t}", "SELECT COLUMNS('x_.*') FROM {t} LIMIT 1",
		"SELECT t FROM {t} t LIMIT 2", "SELECT nosuch FROM {t}", "SELECT x_s + 1 FROM {t}", "SELECT * FROM {t}_", "SELECT missing(x_s) FROM {t}",
		"SELECT count(*) FROM {t} a, {t} b WHERE a.id = b.id", "SELECT count(*) FROM {t} a LEFT JOIN {t} b ON a.x_s = b.x_s",
		"SELECT count(*) FROM {t} a JOIN {t} b USING (v_s, v_i32)", "SELECT a.id, b.name FROM {t} a ASOF JOIN {dim} b ON a.grp >= b.g ORDER BY " +
			"a.id LIMIT 5", "SELECT g, (SELECT count(*) FROM {t} WHERE grp = g) FROM {dim} ORDER BY g",
		"SELECT name FROM {dim} WHERE g IN (SELECT grp FROM {t}) ORDER BY 1",
		"SELECT name FROM {dim} WHERE NOT EXISTS (SELECT 1 FROM {t} WHERE x_s LIKE name || '%')",
		"SELECT id FROM {t} WHERE id = (SELECT max(id) FROM {t})", "SELECT (SELECT id FROM {t} WHERE tenant <> 'a')",
		"SELECT (SELECT id FROM {t} WHERE grp = 3)", "SELECT count(*) FROM {t} FULL JOIN {dim} ON grp = g",
		"SELECT * FROM (SELECT grp, v_s FROM {t}) PIVOT (count(*) FOR v_s IN ('day', '1'))",
		"UNPIVOT (SELECT id, v_i32, v_i64::INT AS w FROM {t}) ON v_i32, w INTO NAME n VALUE v ORDER BY ALL LIMIT 9",
		"WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM r, (SELECT max(grp) AS m FROM {t}) WHERE n < m) SELECT count(*) FROM r",
		"SELECT id FROM {t} UNION SELECT g FROM {dim}", "SELECT id FROM {t} INTERSECT ALL SELECT g FROM {dim}",
		"SELECT ntile(4) OVER (ORDER BY id), cume_dist() OVER (ORDER BY v_s), id FROM {t} LIMIT 20",
		"SELECT histogram(v_i32), histogram(x_i32) FROM {t}", "SELECT id, lead(x_s, 1, 'none') OVER (ORDER BY id) FROM {t} LIMIT 3",
		"SELECT typeof(x_s), typeof(v_dec), pg_typeof(x_li) FROM {t} LIMIT 1", "SELECT enum_range(x_s) FROM {t}",
		"SELECT * FROM json_each((SELECT max(x_s) FROM {t}))", "SELECT * FROM range((SELECT max(x_i64) FROM {t}))",
		"SELECT count(*) FROM {t}, unnest(x_ls) u(y)", "SELECT * FROM {t} WHERE x_s = '" + harness.Canary + "s1017'",
		"SELECT count(*) FROM {t} WHERE tenant = '" + harness.Canary + "b' OR tenant IS NULL",
		"SELECT count(*) FROM {t} WHERE id = 9223372036854775807", "SELECT count(*) FROM {t} WHERE v_f64 > 1e300 AND v_d = '9999-12-31'",
		"SELECT count(*) FROM {t} WHERE v_ts BETWEEN '0001-01-01' AND '9999-12-31'",
		"SELECT count(*) FROM {t} WHERE v_dec IN (99999999999999.9999, 1)", "SELECT count(*) FROM {t} WHERE v_i8 = 128",
		"SELECT v_s COLLATE NOCASE AS s, count(*) FROM {t} GROUP BY s", "SELECT hash(x_s), md5(v_s) FROM {t} LIMIT 3",
		"SELECT count(*) FROM {t} GROUP BY id % 3", "SELECT sum(id) FROM {t} GROUP BY GROUPING SETS ((grp), (v_s), ())",
		"VALUES ((SELECT count(*) FROM {t}))", "SELECT * EXCLUDE (x_s) REPLACE (id + 1 AS id) FROM {t} LIMIT 2",
		"SELECT positional.id FROM {t} positional POSITIONAL JOIN {dim}", "SELECT * FROM {t} SEMI JOIN {dim} ON grp = g AND v_i32 > 3 LIMIT 5",
		"SELECT * FROM {t} ANTI JOIN {dim} ON grp = g",
	}
	out := make([]probe, len(texts))
	for i, text := range texts {
		out[i] = probe{"", text}
	}
	return out
}

// worldProbes are all statements of a run: the fixed ones and n generated ones.
func (o *oracle) worldProbes(all []signature, n int) []probe {
	return slices.Concat(shapes(), leakFamilies(), specialProbes(), probes(o.expressions(all, 1, n), n))
}

func (p probe) on(table, dim string) string {
	return strings.NewReplacer("{t}", table, "{dim}", dim).Replace(p.sql)
}

func (p probe) String() string { return fmt.Sprintf("%.300s", p.sql) }
