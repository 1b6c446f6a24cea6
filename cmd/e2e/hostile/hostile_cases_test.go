package hostile_test

import (
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// The ways in which a hostile statement may end. In none of them does an answer
// hold a hidden value, a path or the engine's words.
const (
	isRefused  = "refused"  // 400, before anything runs
	isFailed   = "failed"   // 422, while it runs
	isHarmless = "harmless" // 200, over visible rows only
	isStopped  = "stopped"  // refused, or ended by a limit; never 200
	isNeutral  = "neutral"  // any of the above
)

type hostileCase struct{ name, want, sql string }

// hostileCases use {t} for the governed table, {s} for its schema, {root} for
// the directory of the data and {parquet} for a data file with hidden rows.
func hostileCases() []hostileCase {
	return []hostileCase{
		// Files, named in every way.
		{"file as a table", isRefused, `SELECT * FROM '{parquet}'`},
		{"quoted file", isRefused, `SELECT * FROM "{parquet}"`},
		{"glob as a table", isRefused, `FROM '{root}/**/*.parquet'`},
		{"relative file", isRefused, `FROM 'catalog.db'`},
		{"url as a table", isRefused, `FROM 's3://bucket/x.parquet'`},
		{"http as a table", isRefused, `FROM 'http://127.0.0.1/x.csv'`},
		{"read_parquet", isRefused, `SELECT * FROM read_parquet('{parquet}')`},
		{"parquet_scan", isRefused, `SELECT * FROM parquet_scan(['{parquet}'])`},
		{"read_text", isRefused, `SELECT content FROM read_text('{root}/t/_delta_log/*.json')`},
		{"read_blob", isRefused, `SELECT content FROM read_blob('/proc/self/environ')`},
		{"read_csv", isRefused, `SELECT * FROM read_csv('/etc/passwd', delim=':')`},
		{"read_json", isRefused, `SELECT * FROM read_json_auto('{root}/t/_delta_log/00000000000000000000.json')`},
		{"glob", isRefused, `SELECT * FROM glob('{root}/**')`},
		{"sniff_csv", isRefused, `FROM sniff_csv('/etc/passwd')`},
		{"parquet statistics", isRefused, `SELECT stats_min_value, stats_max_value FROM parquet_metadata('{parquet}')`},
		{"parquet schema", isRefused, `FROM parquet_schema('{parquet}')`},
		{"parquet bloom", isRefused, `FROM parquet_bloom_probe('{parquet}', 'secret', 'x')`},
		{"read_duckdb", isRefused, `FROM read_duckdb('{root}/../../catalog.db')`},
		{"cased name", isRefused, `SELECT * FROM ReAd_TeXt('/etc/passwd')`},
		{"quoted name", isRefused, `SELECT * FROM "read_text"('/etc/passwd')`},
		{"qualified name", isRefused, `SELECT * FROM system.main.read_text('/etc/passwd')`},
		{"name with a comment", isRefused, "SELECT * FROM read_text/**/('/etc/passwd')"},
		{"name after a line comment", isRefused, "SELECT * FROM --\nread_text('/etc/passwd')"},
		{"unicode spaces", isNeutral, "SELECT\u00a0*\u2003FROM\u3000read_text('/etc/passwd')"},
		{"full width letters", isRefused, "SELECT * FROM ｒｅａｄ＿ｔｅｘｔ('/etc/passwd')"},
		{"method call", isRefused, `SELECT '/etc/passwd'.read_text()`},
		{"in a scalar subquery", isRefused, `SELECT (SELECT content FROM read_text('/etc/passwd'))`},
		{"in a lateral", isRefused, `FROM {t} x, LATERAL (SELECT * FROM read_text(x.secret))`},
		{"in an unused with", isRefused, `WITH w AS (FROM read_text('/etc/passwd')) SELECT 1`},
		{"in a recursive with", isRefused, `WITH RECURSIVE w AS (SELECT 1 AS x UNION ALL SELECT 2 FROM w, glob('/*')) FROM w`},
		{"in an order", isRefused, `SELECT 1 ORDER BY (SELECT count(*) FROM glob('/*'))`},
		{"in a limit", isRefused, `SELECT 1 LIMIT (SELECT count(*) FROM glob('/*'))`},
		{"in a lambda", isRefused, `SELECT list_transform(['/etc/passwd'], lambda f: (SELECT max(content) FROM read_text(f)))`},
		{"in a pivot", isRefused, `PIVOT (FROM glob('/*')) ON file IN ('a') USING count(*)`},
		{"in summarize", isRefused, `SUMMARIZE SELECT * FROM read_parquet('{parquet}')`},
		{"in describe", isRefused, `DESCRIBE SELECT * FROM read_parquet('{parquet}')`},
		{"in explain", isRefused, `EXPLAIN SELECT * FROM read_parquet('{parquet}')`},
		{"in explain analyze", isRefused, `EXPLAIN ANALYZE SELECT * FROM read_parquet('{parquet}')`},
		{"written by explain analyze", isRefused, `EXPLAIN ANALYZE COPY (SELECT 1) TO '{root}/t/_delta_log/00000000000000000099.json'`},

		// The delta extension, which does not know the sandbox.
		{"delta_scan", isRefused, `SELECT * FROM delta_scan('{root}/t')`},
		{"delta_scan with file url", isRefused, `SELECT * FROM delta_scan('file://{root}/t')`},
		{"delta_list_files", isRefused, `FROM delta_list_files('{root}/t')`},
		{"write_blob", isRefused, `SELECT write_blob('{root}/t/_delta_log/00000000000000000099.json', 'x'::BLOB)`},
		{"write_blob of hidden rows", isRefused, `SELECT count(write_blob('/tmp/' || id, secret::BLOB)) FROM {t}`},
		{"copy_dir", isRefused, `SELECT * FROM copy_dir('{root}/t', '/tmp/x')`},
		{"crash by test function", isRefused, `SELECT get_delta_test_expression()`},
		{"crash by struct_update", isRefused, `SELECT count(*) FROM (SELECT struct_update(st, a := id) AS e FROM {t}) WHERE e IS NOT NULL`},
		{"crash by pointer", isRefused, `SELECT * FROM arrow_scan(1, 2, 3)`},
		{"crash by repeat_row", isRefused, `FROM repeat_row(1, num_rows := -1)`},

		// SQL in text.
		{"query", isRefused, `FROM query('SELECT * FROM {t}')`},
		{"nested query", isRefused, `FROM query('FROM query(''SELECT 1'')')`},
		{"query_table", isRefused, `FROM query_table('{t}')`},
		{"serialized sql", isRefused, `FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))`},
		{"serialize a plan", isRefused, `SELECT json_serialize_plan('SELECT * FROM {t}')`},
		{"aggregate by name", isRefused, `SELECT list_aggregate([1], 'wri' || 'te_blob')`},

		// Not one SELECT.
		{"attach", isRefused, `ATTACH '{root}/t' AS d (TYPE delta)`}, {"copy out", isRefused, `COPY (SELECT * FROM {t}) TO '/tmp/x.csv'`},
		{"copy in", isRefused, `COPY {t} FROM '/tmp/x.csv'`}, {"set", isRefused, `SET enable_external_access = true`},
		{"set variable", isRefused, `SET VARIABLE tenant = 'b'`},
		{"reset", isRefused, `RESET lock_configuration`}, {"pragma", isRefused, `PRAGMA database_list`},
		{"call", isRefused, `CALL duckdb_secrets()`},
		{"two statements", isRefused, `SELECT 1; SELECT * FROM {t}`}, {"statement after a comment", isRefused,
			`SELECT 1 /* ; */; DROP TABLE {t}`}, {"create macro", isRefused, `CREATE TEMP MACRO lower(x) AS 'a'`},
		{"create table", isRefused, `CREATE TEMP TABLE flt_x AS SELECT 1`}, {"create view", isRefused, `CREATE VIEW t AS SELECT 1`},
		{"insert", isRefused, `INSERT INTO {t} VALUES (1)`},
		{"delete", isRefused, `DELETE FROM {t}`}, {"update", isRefused, `UPDATE {t} SET tenant = 'a'`},
		{"merge", isRefused, `MERGE INTO {t} USING {t} AS s ON true WHEN MATCHED THEN DELETE`},
		{"drop", isRefused, `DROP TABLE {t}`}, {"load", isRefused, `LOAD '/tmp/x.duckdb_extension'`}, {"install", isRefused, `INSTALL httpfs`},
		{"export", isRefused, `EXPORT DATABASE '/tmp/x'`},
		{"import", isRefused, `IMPORT DATABASE '{root}'`}, {"prepare", isRefused, `PREPARE p AS SELECT 1`}, {"execute", isRefused, `EXECUTE p`},
		{"begin", isRefused, `BEGIN`}, {"checkpoint", isRefused, `CHECKPOINT`}, {"vacuum", isRefused, `VACUUM`},
		{"use", isRefused, `USE temp`}, {"create secret", isRefused, `CREATE SECRET (TYPE s3)`},
		{"create type", isRefused, `CREATE TYPE e AS ENUM (SELECT secret FROM {t})`}, {"dynamic pivot", isRefused, `PIVOT {t} ON secret`},

		// Names of the inside.
		{"engine tables", isRefused, `SELECT * FROM duckdb_tables()`}, {"engine columns", isRefused, `SELECT * FROM duckdb_columns()`},
		{"engine secrets", isRefused, `SELECT * FROM duckdb_secrets()`}, {"engine settings", isRefused, `SELECT * FROM duckdb_settings()`},
		{"engine databases", isRefused, `SELECT path FROM duckdb_databases()`}, {"engine logs", isRefused, `FROM duckdb_logs()`},
		{"temporary files", isRefused, `FROM duckdb_temporary_files()`}, {"file cache", isRefused, `FROM duckdb_external_file_cache()`},
		{"sqlite_master", isRefused, `SELECT sql FROM sqlite_master`}, {"pg_class", isRefused, `SELECT * FROM pg_catalog.pg_class`},
		{"pg_views", isRefused, `FROM pg_views`}, {"information_schema of the engine", isRefused, `FROM system.information_schema.tables`},
		{"filtered copy", isRefused, `SELECT * FROM temp.main.flt_00000000000000000000000000000000`},
		{"source", isRefused, `SELECT * FROM src_000000000000000000000000_1.main.t`}, {"temp main", isRefused, `SELECT * FROM temp.main.t`},
		{"memory main", isRefused, `SELECT * FROM memory.main.t`}, {"other schema", isRefused,
			`SELECT * FROM cfg_00000000000000000000000000000000.t`},
		{"with takes the name", isHarmless, `WITH t AS (SELECT 'mine' AS secret) SELECT * FROM t`},
		{"with named as the schema", isNeutral, `WITH {s} AS (SELECT 1) SELECT count(*) FROM {t}`},
		{"with named as a copy", isHarmless, `WITH flt_0 AS (SELECT 1 AS x) SELECT * FROM flt_0`},
		{"alias that captures", isHarmless, `SELECT tenant, count(*) FROM (SELECT 'b' AS tenant, id FROM {t}) t GROUP BY ALL`},
		{"current setting", isRefused, `SELECT current_setting('temp_directory')`}, {"variable", isRefused, `SELECT getvariable('x')`},
		{"current query", isRefused, `SELECT current_query()`}, {"which secret", isRefused, `FROM which_secret('s3://x', 's3')`},
		{"profiling", isRefused, `FROM enable_profiling()`}, {"logging", isRefused, `CALL enable_logging()`},
		{"rowid", isRefused, `SELECT max(rowid) FROM {t}`}, {"filename", isRefused, `SELECT filename FROM {t}`},
		{"file_row_number", isRefused, `SELECT file_row_number FROM {t}`}, {"file_index", isRefused, `SELECT file_index FROM {t}`},

		// Values of hidden rows, through errors, plans and statistics.
		{"error()", isRefused, `SELECT error(secret) FROM {t}`}, {"error in a lambda", isRefused,
			`SELECT list_transform([secret], lambda x: error(x)) FROM {t}`}, {"statistics", isRefused, `SELECT DISTINCT stats(secret) FROM {t}`},
		{"vector type", isRefused, `SELECT vector_type(secret) FROM {t}`},
		{"cast", isHarmless, `SELECT count(*) FROM {t} WHERE CAST(replace(secret, 'mine-', '') AS INT) >= 0`},
		{"date_diff", isHarmless, `SELECT count(*) FROM {t} WHERE date_diff(regexp_replace(secret, 'mine-.*', 'day'), DATE '2020-01-01', DATE ` +
			`'2020-01-02') = 1`},
		{"list cast", isHarmless, `SELECT count(*) FROM {t} WHERE CAST([regexp_replace(secret, 'mine-.*', '1')] AS INT[])[1] = 1`},
		{"lambda cast", isHarmless,
			`SELECT count(*) FROM {t} WHERE list_transform([secret], lambda x: CAST(regexp_replace(x, 'mine-.*', '1') AS ` +
				`INT))[1] = 1`}, {"lambda in the select list", isHarmless,
			`SELECT list_transform([secret], lambda x: CAST(regexp_replace(x, 'mine-.*', ` +
				`'1') AS INT)) FROM {t}`},
		{"regex of a column", isHarmless, `SELECT count(*) FROM {t} WHERE regexp_matches('x', CASE WHEN tenant = 'a' THEN 'x' ELSE '(' END)`},
		{"left of a column", isHarmless, `SELECT count(*) FROM {t} WHERE left(secret, CASE WHEN tenant = 'a' THEN 1 ELSE -9223372036854775808 ` +
			`END) = 'm'`}, {"epoch_ms", isHarmless,
			`SELECT count(*) FROM {t} WHERE epoch_ms(CASE WHEN tenant = 'a' THEN 0 ELSE 9223372036854775807 ` +
				`END) IS NOT NULL`},
		{"own value in an error", isFailed, `SELECT CAST(secret AS INT) FROM {t}`},
		{"own value in a regex error", isFailed, `SELECT regexp_matches('x', '(' || secret) FROM {t}`},
		{"own value in date_diff", isFailed, `SELECT date_diff(secret, DATE '2020-01-01', DATE '2020-01-02') FROM {t}`},
		{"scalar subquery of many rows", isFailed, `SELECT (SELECT secret FROM {t})`},
		{"summarize", isHarmless, `SUMMARIZE {t}`}, {"sample", isHarmless, `SELECT count(*) FROM {t} USING SAMPLE 100%`},
		{"system sample", isHarmless, `SELECT secret FROM {t} TABLESAMPLE system(90%)`}, {"explain", isHarmless, `EXPLAIN SELECT * FROM {t}`},
		{"explain analyze", isRefused, `EXPLAIN ANALYZE SELECT * FROM {t} WHERE id = 900`},
		{"explain analyze with options", isRefused, `EXPLAIN (ANALYZE, FORMAT json) SELECT * FROM {t}`},
		{"time travel before the table", isNeutral, `SELECT * FROM {t} AT (VERSION => 0)`},
		{"time travel", isHarmless, `SELECT * FROM {t} AT (VERSION => 1)`}, {"time travel by a value", isRefused,
			`SELECT * FROM {t} AT (VERSION => (SELECT 1))`}, {"collation", isHarmless,
			`SELECT count(*) FROM {t} WHERE secret COLLATE NOCASE LIKE 'sec%'`}, {"not tenant a", isHarmless,
			`SELECT count(*) FROM {t} WHERE tenant <> 'a' OR tenant IS NULL OR tenant = 'a'`},
		{"or true", isHarmless, `SELECT secret FROM {t} WHERE tenant = 'b' OR 1 = 1`},
		{"comment in the where", isHarmless, "SELECT secret FROM {t} -- WHERE tenant = 'a'\nWHERE true"},
		{"names of relations", isHarmless, `SELECT (SELECT count(*) FROM {t}), EXISTS (SELECT * FROM {t})`},

		// Types that break.
		{"bignum", isRefused, `SELECT repeat('9', 10000)::BIGNUM`}, {"varint", isRefused, `SELECT '9'::VARINT`},
		{"variant", isRefused, `SELECT 1::VARIANT`}, {"geometry", isRefused, `SELECT st_geomfromwkb('a'::BLOB)`},
		{"bignum by json", isRefused, `SELECT from_json('[9]', '["BIGNUM"]')`},
		{"json collation", isNeutral, `SELECT ('{}'::JSON) COLLATE NOCASE FROM {t}`},

		// Resources that are bounded before anything runs.
		{"repeat 4e9", isRefused, `SELECT repeat('a', 4000000000)`}, {"lpad 1e9", isRefused, `SELECT lpad('a', 1000000000, 'x')`},
		{"printf width", isRefused, `SELECT printf('%1000000000d', 1)`}, {"format width", isRefused, `SELECT format('{:1000000000d}', 1)`},
		{"levenshtein of huge constants", isRefused, `SELECT levenshtein('` + strings.Repeat("a", 5000) + `', '` + strings.Repeat("b", 5000) +
			`')`}, {"sleep", isRefused, `SELECT sleep_ms(100000)`}, {"pg_sleep", isRefused, `SELECT pg_sleep(100)`},
		{"list range", isRefused, `SELECT list_sum(range(3000000000))`}, {"300k items", isStopped, `SELECT 1 WHERE 1 IN (` +
			strings.Repeat("1,", 100_000) + `1)`}, {"deep nesting", isStopped, `SELECT ` + strings.Repeat("(", 20_000) + "1" +
			strings.Repeat(")", 20_000)}, {"deep subqueries", isStopped, strings.Repeat("SELECT * FROM (", 3000) + "SELECT 1" +
			strings.Repeat(")", 3000)}, {"long sum", isStopped, `SELECT 1` + strings.Repeat("+1", 60_000)},
		{"many nots", isStopped, `SELECT ` + strings.Repeat("NOT ", 60_000) + "true"},
		{"nearly 256 KB", isNeutral, `SELECT '` + strings.Repeat("x", 250<<10) + `' IS NULL`},
		{"cube of 13", isStopped, `SELECT 1 FROM {t} GROUP BY CUBE (id, tenant, secret, id+1, id+2, id+3, id+4, id+5, id+6, id+7, id+8, id+9, ` +
			`id+10)`}, {"long name", isRefused, `SELECT "` + strings.Repeat("x", 300) + `"`},
	}
}

// growing is a statement of n WITH queries, each made from the one before it: #p in
// step is its name and #i the number.
func growing(n int, first, step, last string) string {
	out := "WITH c0 AS (" + first + ")"
	for i := 1; i <= n; i++ {
		out += strings.NewReplacer("#i", strconv.Itoa(i), "#p", "c"+strconv.Itoa(i-1)).Replace(", c#i AS (" + step + ")")
	}
	return out + " " + strings.ReplaceAll(last, "#n", "c"+strconv.Itoa(n))
}

// planningCases are short statements whose plan would be so large that the engine
// does not come back from planning it. They are refused before it sees them.
func planningCases() []hostileCase {
	count := "SELECT count(*) FROM #n"
	return []hostileCase{
		{"doubling stars", isRefused, growing(18, "SELECT * FROM {t}", "SELECT * FROM #p a, #p b", count)},
		{"doubling stars explained", isRefused, "EXPLAIN " + growing(18, "SELECT * FROM {t}", "SELECT * FROM #p a, #p b", count)},
		{"doubling stars of one table", isRefused, growing(18, "SELECT * FROM {t}", "SELECT *, * FROM #p", count)},
		{"doubling COLUMNS", isRefused, growing(18, "SELECT id FROM {t}", "SELECT COLUMNS(*), COLUMNS(*) FROM #p", count)},
		{"doubling joins", isRefused, growing(18, "SELECT id FROM {t}", "SELECT a.id FROM #p a, #p b", count)},
		{"doubling unions", isRefused, growing(18, "SELECT id FROM {t}", "FROM #p UNION ALL FROM #p", count)},
		{"doubling subqueries", isRefused, growing(18, "SELECT id FROM {t}", "SELECT (SELECT max(id) FROM #p) + (SELECT min(id) FROM #p) AS id",
			"FROM #n")},
		{"doubling conditions", isRefused, growing(22, "SELECT secret AS x FROM {t}", "SELECT x || x AS x FROM #p", count+" WHERE x = 'a'")},
		{"doubling structs", isRefused, growing(18, "SELECT id AS x FROM {t}", "SELECT {'a': x, 'b': x} AS x FROM #p", "FROM #n")},
		{"doubling rows", isRefused, growing(18, "SELECT id FROM {t}", "SELECT a AS a#i, b AS b#i FROM #p a, #p b", count)},
		{"doubling results", isRefused, "SELECT 1 AS c0" + doublingResults(30) + " FROM {t}"},
		{"nested structs unnested", isRefused, growing(12, "SELECT id AS x FROM {t}", "SELECT {'a': x, 'b': x} AS x FROM #p",
			"SELECT unnest(x, recursive := true) FROM #n")},
		{"nested scalar subqueries", isRefused, "SELECT 1 WHERE 1 > " + strings.Repeat("(SELECT max(id) FROM {t} WHERE id > ", 12) +
			"(SELECT 1)" + strings.Repeat(")", 12)},
		{"nested correlated subqueries", isRefused, "SELECT 1 FROM {t} o WHERE id > " +
			strings.Repeat("(SELECT max(id) FROM {t} WHERE id > ", 12) + "(SELECT o.id)" + strings.Repeat(")", 12)},
		{"equal columns", isRefused, "SELECT 1 FROM (SELECT " + harness.ManyResults(200, "id + # AS k#") + " FROM {t}) WHERE COLUMNS(*) = k0"},
		{"many grouping sets", isRefused, strings.TrimSuffix(strings.Repeat("SELECT count(*) FROM {t} GROUP BY CUBE ("+
			harness.ManyResults(12, "id + #")+") UNION ALL ", 2), " UNION ALL ")},
		{"many groups", isRefused, "SELECT 1 FROM {t} GROUP BY " + harness.ManyResults(9000, "id + #")},
		{"many windows", isRefused, "SELECT " + harness.ManyResults(4000, "sum(id) OVER (PARTITION BY id + #)") + " FROM {t}"},
		{"whole rows in a list", isRefused, "SELECT [" + harness.ManyResults(4000, "w") + "] FROM (SELECT " +
			harness.ManyResults(8000, "1 AS c#") + ") w"},
		{"structs that merge", isRefused, "SELECT [{" + harness.ManyResults(6000, "'a#': 1") + "}, " + harness.ManyResults(3000, "{'b#': 1}") +
			"] FROM {t}"},
		{"casts of COLUMNS", isRefused, "SELECT COLUMNS(*)::STRUCT(" + harness.ManyResults(5000, "a# INT") + ") FROM (SELECT " +
			harness.ManyResults(6000, "1 AS c#") + ")"},
		{"many distinct columns", isRefused, "SELECT DISTINCT " + harness.ManyResults(9000, "id + #") + " FROM {t}"},
	}
}

func doublingResults(n int) string {
	out := ""
	for i := 1; i <= n; i++ {
		out += strings.NewReplacer("#i", strconv.Itoa(i), "#p", strconv.Itoa(i-1)).Replace(", c#p + c#p AS c#i")
	}
	return out
}

// representative names a resource case of each kind: work without end, text and lists outside of
// the engine's memory limit, state of aggregates, files, and work that ignores interrupts.
var representative = []string{
	"growing recursion", "computed range", "repeat computed", "lpad computed", "levenshtein in bound", "levenshtein computed", "list_reduce",
	"nested lambdas", "big sort", "big window", "string_agg in groups", "doubling with", "regex", "json", "exact quantile", "bits by group",
	"wide pivot", "wide sort", "sleep",
}

// resourceCases run until a limit stops them.
func resourceCases() []hostileCase {
	doubling := "WITH c0 AS (SELECT id FROM {t})"
	for i := 1; i <= 30; i++ {
		doubling += strings.NewReplacer("#n", strconv.Itoa(i), "#p",
			strconv.Itoa(i-1)).Replace(", c#n AS (SELECT * FROM c#p UNION ALL SELECT * FROM c#p)")
	}
	return []hostileCase{
		{"cross join", isStopped, `SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range = 7`},
		{"endless recursion", isStopped, `WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r`},
		{"growing recursion", isStopped, `WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r, range(50)) SELECT count(*) FROM r`},
		{"range as rows", isStopped, `SELECT sum(hash(range)) FROM range(900000000)`},
		{"computed range", isStopped, `SELECT len(range(n)) FROM (SELECT 3000000000 + range AS n FROM range(2))`},
		{"list of everything", isStopped, `SELECT len(list(range)) FROM range(900000000)`},
		{"repeat per row", isStopped,
			`SELECT max(length(repeat(x, 100))) FROM (SELECT repeat('ab', 40 + range % 10) AS x FROM range(500000000))`},
		{"repeat computed", isStopped, `SELECT repeat('a', (id + 4000000000)::BIGINT) FROM {t}`},
		{"lpad computed", isStopped, `SELECT lpad('a', (id + 1000000000)::INT, 'x') FROM {t}`},
		{"levenshtein in bound", isStopped, `SELECT sum(levenshtein(a.x, b.x)) FROM (SELECT repeat('ab', 480 + range % 9) AS x FROM ` +
			`range(200000)) a, (SELECT repeat('ba', 490) AS x FROM range(200000)) b`},
		{"levenshtein computed", isStopped, `SELECT levenshtein(repeat('a', 9000 + (id % 5)::INT), repeat('b', 9000)) FROM {t}`},
		{"list_reduce", isStopped, `SELECT list_reduce(range(50000000 + id), lambda a, b: a + b) FROM {t}`},
		{"list_reduce in bound", isStopped, `SELECT sum(list_reduce(range(n), lambda a, b: a + b)) FROM (SELECT 9000 + range % 900 AS n FROM ` +
			`range(3000000))`},
		{"nested lambdas", isStopped, `SELECT list_sum(list_transform(range(100000), lambda x: list_sum(list_transform(range(100000), lambda ` +
			`y: x * y))))`},
		{"big sort", isStopped, `SELECT * FROM (SELECT hash(range) AS h, range FROM range(900000000)) ORDER BY h LIMIT 1 OFFSET 100000000`},
		{"big group", isStopped, `SELECT count(*) FROM (SELECT range::VARCHAR AS k, count(*) FROM range(900000000) GROUP BY k)`},
		{"big window", isStopped, `SELECT max(s) FROM (SELECT sum(range) OVER (ORDER BY hash(range) ROWS 1000000 PRECEDING) AS s FROM ` +
			`range(100000000))`},
		{"string_agg", isStopped, `SELECT length(string_agg(range::VARCHAR, ',')) FROM range(900000000)`},
		{"string_agg in groups", isStopped, `SELECT max(length(s)) FROM (SELECT string_agg(repeat('x', 100 + (range % 3)::INT), ',') AS s FROM ` +
			`range(900000000) GROUP BY range % 1000)`},
		{"cube", isStopped, `SELECT count(*) FROM (SELECT 1 FROM range(3000000) r(i) GROUP BY CUBE (i, i+1, i+2, i+3, i+4, i+5, i+6, i+7, i+8, ` +
			`i+9, i+10, i+11))`},
		{"doubling with", isStopped, doubling + " SELECT count(*) FROM c30"},
		{"join explosion", isStopped, `SELECT count(*) FROM {t} a, {t} b, {t} c, {t} d, {t} e WHERE a.secret || b.secret || c.secret || ` +
			`d.secret || e.secret = 'x'`},
		{"regex", isStopped, `SELECT count(*) FROM range(500000000) WHERE regexp_matches(repeat('ab', 400 + (range % 3)::INT), '(a|b|ab)*c')`},
		{"json", isStopped, `SELECT max(length(to_json(range(n))::VARCHAR)) FROM (SELECT 900000 + range AS n FROM range(100000))`},
		{"histogram", isStopped, `SELECT len(map_keys(histogram(range))) FROM range(900000000)`},
		{"unnest", isStopped, `SELECT count(*) FROM (SELECT unnest(range(1000000)) AS a) x, (SELECT unnest(range(1000000)) AS b) y WHERE a + b ` +
			`= 1`},
		{"exact quantile", isStopped, `SELECT quantile_cont(hash(range)::DOUBLE, 0.5) FROM range(900000000)`},
		{"arg_max list", isStopped, `SELECT len(max(range, 900000)) FROM range(900000000) GROUP BY range % 1000`},
		{"big literal rows", isStopped, `SELECT [range(1000000), range(1000000), range(1000000)] FROM range(100000)`},
		{"levenshtein of short texts", isStopped, `SELECT sum(levenshtein(a.x, b.x)) FROM (SELECT repeat('ab', 48 + range % 2) AS x FROM ` +
			`range(60000)) a, (SELECT repeat('ba', 48) AS x FROM range(60000)) b`},
		{"many distances", isStopped, `SELECT ` + strings.Repeat("sum(damerau_levenshtein(a.x, b.x)), ", 15) +
			`1 FROM (SELECT repeat('ab', 48 + range % 2) AS x FROM range(60000)) a, (SELECT repeat('ba', 48) AS x FROM range(60000)) b`},
		{"list_reduce of short lists", isStopped, `SELECT sum(list_reduce(range(n), lambda a, b: a + b)) FROM (SELECT 4900 + range % 100 AS n ` +
			`FROM range(1000000))`},
		{"many list_reduce", isStopped, `SELECT ` + strings.Repeat("sum(list_reduce(range(n), lambda a, b: a + b)), ", 16) +
			`1 FROM (SELECT 4900 + range % 100 AS n FROM range(1000000))`},
		{"growing list_reduce", isStopped, `SELECT sum(strlen(list_reduce(list_transform(range(n), lambda x: 'a'), lambda a, b: a || ` +
			`'12345678' || b))) FROM (SELECT 550 + range % 10 AS n FROM range(1000000))`},
		{"wildcards", isStopped, `SELECT count(*) FROM range(100000000) WHERE (repeat('a', 180) || range) LIKE '%a_%a_b'`},
		{"lpad per row", isStopped, `SELECT sum(length(lpad(range::VARCHAR, 10000, 'x'))) FROM range(100000000)`},
		{"format per row", isStopped, `SELECT sum(length(format('{} {} {}', rpad(range::VARCHAR, 9000, 'x'), range, range))) FROM ` +
			`range(100000000)`},
		{"replacements per row", isStopped, `SELECT sum(length(regexp_replace(repeat('a', 900 + (range % 9)::INT), 'a', 'bbbbbbbb', 'g'))) ` +
			`FROM range(100000000)`},
		{"json of many levels", isStopped, `SELECT sum(len(json_extract(j, '$..z'))) FROM (SELECT repeat('{"a":', 1600) || '1' || repeat('}', ` +
			`1600) || repeat(' ', range % 7) AS j FROM range(204800))`},
		{"json groups", isStopped, `SELECT length(json_group_array({'a': range, 'b': range::VARCHAR})::VARCHAR) FROM range(900000000)`},
		{"list of structs", isStopped, `SELECT len(array_agg({'a': range, 'b': range::VARCHAR, 'c': [range, range]})) FROM range(900000000)`},
		{"nested lists", isStopped, `SELECT count(l) FROM (SELECT list_transform(range(300), lambda x: list_transform(range(30), lambda y: [x, ` +
			`y, n])) AS l FROM range(90000000) t(n)) ORDER BY 1`},
		{"mode", isStopped, `SELECT mode(hash(range)::VARCHAR) FROM range(900000000)`},
		{"samples by group", isStopped, `SELECT max(q) FROM (SELECT reservoir_quantile(range, 0.5, 8192) AS q FROM range(100000000) GROUP BY ` +
			`range)`},
		{"bits by group", isStopped, `SELECT count(b) FROM (SELECT bitstring_agg(range % 10000, 0, 9999) AS b FROM range(100000000) GROUP BY ` +
			`range)`},
		{"big join", isStopped, `SELECT count(*) FROM (SELECT hash(range) AS h, range::VARCHAR AS t FROM range(900000000)) a JOIN (SELECT ` +
			`hash(range + 1) AS h, range::VARCHAR AS t FROM range(900000000)) b USING (h) WHERE a.t < b.t`},
		{"range join", isStopped, `SELECT count(*) FROM range(30000000) a, range(30000000) b WHERE hash(a.range) < hash(b.range) AND ` +
			`hash(a.range + 1) > hash(b.range + 1)`},
		{"wide sort", isStopped, `SELECT * FROM (SELECT hash(range) AS h` + strings.Repeat(", repeat('x', 100 + (range % 9)::INT)", 200) +
			` FROM range(100000000)) ORDER BY h`},
		{"wide pivot", isStopped, `SELECT count(*) FROM (SELECT * FROM (SELECT range % 100000 AS g, range % 2000 AS k FROM range(900000000)) ` +
			`PIVOT (sum(g) FOR k IN (` + countTo(2000) + `) GROUP BY g))`},
		{"items", isStopped, `SELECT count(*) FROM range(900000000) WHERE hash(range) IN (` + countTo(9000) + `)`},
		{"sleep", isRefused, `SELECT sleep_ms(100000 + id) FROM {t}`},
	}
}

// countTo is the list of the numbers below n.
func countTo(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return strings.Join(out, ", ")
}
