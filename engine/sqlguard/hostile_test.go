package sqlguard_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// hostile statements must be refused with the code, before anything is bound.
// Those that are harmless instead, because their names cannot resolve or they
// read only what the caller may read, are in neutral.
var hostile = []struct {
	name string
	code refusal.Code
	sql  string
}{
	// Files.
	{"read parquet", refusal.CodeFunction, `SELECT * FROM read_parquet('/etc/passwd')`},
	{"read csv", refusal.CodeFunction, `SELECT * FROM read_csv('/etc/passwd')`},
	{"read csv auto", refusal.CodeFunction, `SELECT * FROM read_csv_auto('/etc/passwd')`},
	{"read text", refusal.CodeFunction, `SELECT content FROM read_text('/proc/self/environ')`},
	{"read blob", refusal.CodeFunction, `SELECT * FROM read_blob('/etc/shadow')`},
	{"read json", refusal.CodeFunction, `FROM read_json('_delta_log/00000000000000000000.json')`},
	{"read ndjson objects", refusal.CodeFunction, `FROM read_ndjson_objects('x')`},
	{"glob", refusal.CodeFunction, `SELECT * FROM glob('/**')`},
	{"sniff csv", refusal.CodeFunction, `FROM sniff_csv('/etc/passwd')`},
	{"read duckdb", refusal.CodeFunction, `FROM read_duckdb('/data/catalog.db')`},
	{"parquet metadata", refusal.CodeFunction, `SELECT stats_min FROM parquet_metadata('/lake/t/*.parquet')`},
	{"parquet bloom probe", refusal.CodeFunction, `FROM parquet_bloom_probe('/lake/t/*.parquet', 'a', 1)`},
	{"quoted mixed case", refusal.CodeFunction, `SELECT * FROM "ReAd_PaRqUeT"('/x')`},
	{"qualified function", refusal.CodeFunction, `SELECT * FROM system.main.read_parquet('/x')`},
	{"method syntax", refusal.CodeFunctionUnknown, `SELECT ('/etc/passwd').read_text()`},
	{"method syntax query", refusal.CodeFunctionUnknown, `SELECT ('SELECT 1').query()`},
	{"in a subquery", refusal.CodeFunction, `SELECT (SELECT count(*) FROM glob('/*'))`},
	{"in exists", refusal.CodeFunction, `SELECT 1 WHERE EXISTS (FROM read_text('/x'))`},
	{"in order by", refusal.CodeFunction, `SELECT 1 ORDER BY (SELECT count(*) FROM glob('/*'))`},
	{"in limit", refusal.CodeFunction, `SELECT 1 LIMIT (SELECT count(*) FROM glob('/*'))`},
	{"in having", refusal.CodeFunction, `SELECT 1 HAVING (SELECT true FROM glob('/*'))`},
	{"in qualify", refusal.CodeFunction, `SELECT 1 QUALIFY (SELECT true FROM glob('/*'))`},
	{"in filter", refusal.CodeFunction, `SELECT count(*) FILTER (WHERE (SELECT true FROM glob('/*')))`},
	{"in window", refusal.CodeFunction, `SELECT sum(1) OVER (PARTITION BY (SELECT 1 FROM glob('/*')))`},
	{"in window order", refusal.CodeFunction, `SELECT sum(1) OVER (ORDER BY (SELECT 1 FROM glob('/*')))`},
	{"in window bound", refusal.CodeFunction, `SELECT sum(1) OVER (ROWS BETWEEN (SELECT 1 FROM glob('/*')) PRECEDING AND CURRENT ROW)`},
	{"in distinct on", refusal.CodeFunction, `SELECT DISTINCT ON ((SELECT 1 FROM glob('/*'))) 1`},
	{"in replace", refusal.CodeFunction, `SELECT * REPLACE ((SELECT 1 FROM glob('/*')) AS x) FROM t`},
	{"in columns", refusal.CodeFunction, `SELECT COLUMNS(c -> (SELECT true FROM glob('/*'))) FROM t`},
	{"in join condition", refusal.CodeFunction, `SELECT * FROM t a JOIN t b ON (SELECT true FROM glob('/*'))`},
	{"in table function argument", refusal.CodeFunction, `SELECT * FROM range((SELECT count(*) FROM glob('/*')))`},
	{"in group by", refusal.CodeFunction, `SELECT 1 FROM t GROUP BY (SELECT 1 FROM glob('/*'))`},
	{"in case", refusal.CodeFunction, `SELECT CASE WHEN true THEN (SELECT 1 FROM glob('/*')) END`},
	{"in values", refusal.CodeFunction, `VALUES ((SELECT 1 FROM glob('/*')))`},
	{"in pivot", refusal.CodeFunction, `SELECT * FROM (FROM glob('/*')) PIVOT (count(*) FOR file IN ('a'))`},
	{"in unpivot", refusal.CodeFunction, `UNPIVOT (FROM glob('/*')) ON file INTO NAME n VALUE v`},
	{"in lateral", refusal.CodeFunction, `SELECT * FROM t, LATERAL (SELECT * FROM glob('/*' || t.a))`},
	{"in recursive cte", refusal.CodeFunction, `WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT 2 FROM r, glob('/*')) FROM r`},
	{"in unused cte", refusal.CodeFunction, `WITH r AS (FROM glob('/*')) SELECT 1`},
	{"in describe", refusal.CodeFunction, `DESCRIBE SELECT * FROM read_parquet('/x')`},
	{"in summarize", refusal.CodeFunction, `SUMMARIZE SELECT * FROM read_parquet('/x')`},
	{"in explain", refusal.CodeFunction, `EXPLAIN SELECT * FROM read_parquet('/x')`},
	{"in lambda", refusal.CodeFunction, `SELECT list_transform([1], x -> (SELECT count(*) FROM glob('/*')))`},
	{"in set operation", refusal.CodeFunction, `SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT count(*) FROM glob('/*')`},
	{"in grouping set", refusal.CodeFunction, `SELECT 1 FROM t GROUP BY GROUPING SETS ((write_blob('/x', 'y'::BLOB)))`},
	{"in aggregate order", refusal.CodeFunction, `SELECT list(a ORDER BY write_blob('/x', 'y'::BLOB)) FROM t`},
	{"in lag default", refusal.CodeFunction, `SELECT lag(a, 1, write_blob('/x', 'y'::BLOB)) OVER () FROM t`},
	{"in at", refusal.CodeTimeTravel, `SELECT * FROM t AT (VERSION => (SELECT count(*) FROM glob('/*')))`},
	{"in collate child", refusal.CodeFunction, `SELECT current_setting('x') COLLATE NOCASE`},

	// The delta extension, which ignores the sandbox.
	{"delta scan", refusal.CodeFunction, `SELECT * FROM delta_scan('s3://other/t')`},
	{"delta list files", refusal.CodeFunction, `SELECT * FROM delta_list_files('/lake/secret')`},
	{"write blob", refusal.CodeFunction, `SELECT write_blob('/tmp/x', 'PWN'::BLOB)`},
	{"write blob in where", refusal.CodeFunction, `SELECT * FROM t WHERE write_blob('/tmp/x', a) IS NULL`},
	{"copy dir", refusal.CodeFunction, `SELECT * FROM copy_dir('/a', '/b')`},
	{"crash the server", refusal.CodeFunction, `SELECT get_delta_test_expression()`},
	{"corrupt the heap", refusal.CodeFunction, `SELECT count(*) FROM (SELECT struct_update(s, a := x) AS e FROM t) WHERE e IS NOT NULL`},
	{"delta log", refusal.CodeFunction, `FROM delta_filter_pushdown_log()`},
	{"delta transaction", refusal.CodeFunction, `FROM delta_set_transaction_version('t', 'x', 1)`},

	// SQL in text.
	{"query", refusal.CodeFunction, `SELECT * FROM query('SELECT * FROM secret')`},
	{"query table", refusal.CodeFunction, `SELECT * FROM query_table('secret')`},
	{"query table list", refusal.CodeFunction, `SELECT * FROM query_table(['a', 'b'])`},
	{"serialize plan", refusal.CodeFunction, `SELECT json_serialize_plan('SELECT * FROM secret')`},
	{"serialize sql", refusal.CodeFunction, `SELECT json_serialize_sql('SELECT 1')`},
	{"execute serialized", refusal.CodeFunction, `FROM json_execute_serialized_sql('{}')`},
	{"aggregate by name", refusal.CodeArgument, `SELECT list_aggregate([1], a) FROM t`},
	{"aggregate that does not exist", refusal.CodeFunction, `SELECT list_aggregate([1], 'write_blob')`},

	// State, settings, statistics, catalog.
	{"settings", refusal.CodeFunction, `SELECT * FROM duckdb_settings()`},
	{"secrets", refusal.CodeFunction, `SELECT * FROM duckdb_secrets(redact := false)`},
	{"which secret", refusal.CodeFunction, `FROM which_secret('s3://x', 's3')`},
	{"tables of the engine", refusal.CodeFunction, `SELECT * FROM duckdb_tables()`},
	{"views", refusal.CodeFunction, `SELECT sql FROM duckdb_views()`},
	{"logs", refusal.CodeFunction, `FROM duckdb_logs()`},
	{"file cache", refusal.CodeFunction, `FROM duckdb_external_file_cache()`},
	{"current setting", refusal.CodeFunction, `SELECT current_setting('s3_secret_access_key')`},
	{"getvariable", refusal.CodeFunction, `SELECT getvariable('tenant')`},
	{"statistics", refusal.CodeFunction, `SELECT DISTINCT stats(a) FROM t`},
	{"current query", refusal.CodeFunction, `SELECT current_query()`},
	{"transaction id", refusal.CodeFunction, `SELECT txid_current()`},
	{"sequence", refusal.CodeFunction, `SELECT nextval('s')`},
	{"setseed", refusal.CodeFunction, `SELECT setseed(0.5)`},
	{"log", refusal.CodeFunction, `SELECT write_log('x')`},
	{"enable logging", refusal.CodeFunction, `FROM enable_logging()`},
	{"checkpoint", refusal.CodeFunction, `FROM checkpoint()`},
	{"pragma function", refusal.CodeFunction, `SELECT * FROM pragma_table_info('t')`},
	{"pragma storage info", refusal.CodeFunction, `SELECT * FROM pragma_storage_info('t')`},
	{"other parser", refusal.CodeFunction, `FROM enable_peg_parser()`},
	{"privileges", refusal.CodeFunction, `SELECT has_table_privilege('x', 'select')`},
	{"view definition", refusal.CodeFunction, `SELECT pg_get_viewdef(1)`},
	{"internal function", refusal.CodeFunction, `SELECT __internal_compress_string_utinyint('a')`},
	{"vector type", refusal.CodeFunction, `SELECT vector_type(a) FROM t`},
	{"sort key", refusal.CodeFunction, `SELECT create_sort_key(a, 'ASC') FROM t`},
	{"pointer", refusal.CodeFunction, `SELECT * FROM pandas_scan(NULL)`},
	{"arrow pointer", refusal.CodeFunction, `SELECT * FROM arrow_scan(0, 0, 0)`},
	{"sequential scan", refusal.CodeFunction, `FROM seq_scan()`},
	{"repeat row", refusal.CodeFunction, `FROM repeat_row(1, num_rows := -1)`},
	{"error", refusal.CodeFunction, `SELECT error(a) FROM t`},
	{"error in lambda", refusal.CodeFunction, `SELECT list_transform([a], x -> error(x)) FROM t`},
	{"other schema", refusal.CodeFunction, `SELECT pg_catalog.lower('a')`},
	{"other catalog", refusal.CodeFunction, `SELECT memory.main.lower('a')`},
	{"macro in temp", refusal.CodeFunction, `SELECT temp.main.lower('a')`},
	{"unknown function", refusal.CodeFunctionUnknown, `SELECT lowerr('a')`},
	{"unknown table function", refusal.CodeFunctionUnknown, `SELECT * FROM tpch_queries()`},
	{"scalar as table", refusal.CodeFunctionUnknown, `SELECT * FROM lower('a')`},
	{"table as scalar", refusal.CodeFunctionUnknown, `SELECT read_text('a')`},
	{"window of unknown", refusal.CodeFunctionUnknown, `SELECT nosuch(1) OVER ()`},
	{"window of denied", refusal.CodeFunction, `SELECT stats(a) OVER () FROM t`},
	{"window of capped", refusal.CodeFunction, `SELECT repeat('a', 1) OVER ()`},

	// Not one query.
	{"two statements", refusal.CodeStatement, `SELECT 1; SELECT 2`},
	{"second statement hidden", refusal.CodeStatement, `SELECT 1;/**/DROP TABLE t`},
	{"nothing", refusal.CodeStatement, ``},
	{"semicolon", refusal.CodeStatement, `;`},
	{"comment", refusal.CodeStatement, `-- nothing`},
	{"create table", refusal.CodeStatement, `CREATE TABLE x AS SELECT 1`},
	{"create macro", refusal.CodeStatement, `CREATE TEMP MACRO lower(x) AS 'a'`},
	{"create view", refusal.CodeStatement, `CREATE OR REPLACE VIEW t AS SELECT 1`},
	{"create type", refusal.CodeStatement, `CREATE TYPE e AS ENUM (SELECT secret FROM s)`},
	{"create secret", refusal.CodeStatement, `CREATE SECRET s (TYPE s3)`},
	{"insert", refusal.CodeStatement, `INSERT INTO t VALUES (1)`},
	{"update", refusal.CodeStatement, `UPDATE t SET a = 1`},
	{"delete", refusal.CodeStatement, `DELETE FROM t`},
	{"merge", refusal.CodeStatement, `MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE`},
	{"drop", refusal.CodeStatement, `DROP TABLE t`},
	{"alter", refusal.CodeStatement, `ALTER TABLE t ADD COLUMN x INT`},
	{"copy to", refusal.CodeStatement, `COPY (SELECT 1) TO '/tmp/x'`},
	{"copy from", refusal.CodeStatement, `COPY t FROM '/tmp/x'`},
	{"attach", refusal.CodeStatement, `ATTACH '/x' AS y (TYPE delta)`},
	{"detach", refusal.CodeStatement, `DETACH lake`},
	{"use", refusal.CodeStatement, `USE memory`},
	{"set", refusal.CodeStatement, `SET threads = 64`},
	{"set variable", refusal.CodeStatement, `SET VARIABLE tenant = 'b'`},
	{"reset", refusal.CodeStatement, `RESET threads`},
	{"pragma", refusal.CodeStatement, `PRAGMA database_list`},
	{"call", refusal.CodeStatement, `CALL checkpoint()`},
	{"load", refusal.CodeStatement, `LOAD '/tmp/x.duckdb_extension'`},
	{"install", refusal.CodeStatement, `INSTALL httpfs`},
	{"export", refusal.CodeStatement, `EXPORT DATABASE '/tmp/x'`},
	{"import", refusal.CodeStatement, `IMPORT DATABASE '/tmp/x'`},
	{"prepare", refusal.CodeStatement, `PREPARE p AS SELECT 1`},
	{"execute", refusal.CodeStatement, `EXECUTE p`},
	{"begin", refusal.CodeStatement, `BEGIN`},
	{"checkpoint statement", refusal.CodeStatement, `CHECKPOINT`},
	{"vacuum", refusal.CodeStatement, `VACUUM`},
	{"explain analyze of a change", refusal.CodeStatement, `EXPLAIN ANALYZE DELETE FROM t`},
	{"explain analyze into a file", refusal.CodeStatement, `EXPLAIN ANALYZE COPY t TO '/tmp/x'`},
	{"explain analyze of a file", refusal.CodeFunction, `EXPLAIN ANALYZE SELECT * FROM read_parquet('/tmp/x')`},
	{"explain with options", refusal.CodeStatement, `EXPLAIN (FORMAT json) SELECT * FROM t`},
	{"explain analyze after comment", refusal.CodeStatement, `/* x */ EXPLAIN /* y */ ANALYZE DELETE FROM t`},
	{"explain delete", refusal.CodeStatement, `EXPLAIN DELETE FROM t`},
	{"explain explain", refusal.CodeStatement, `EXPLAIN EXPLAIN SELECT 1`},
	{"explain show", refusal.CodeStatement, `EXPLAIN SHOW TABLES`},
	{"show databases", refusal.CodeStatement, `SHOW DATABASES`},
	{"show variables", refusal.CodeStatement, `SHOW VARIABLES`},
	{"show as a table", refusal.CodeStatement, `SELECT * FROM (SHOW TABLES)`},
	{"show all as a table", refusal.CodeStatement, `SELECT * FROM (SHOW ALL TABLES)`},
	{"dynamic pivot", refusal.CodeStatement, `PIVOT t ON a USING count(*)`},

	// Types and texts.
	{"bignum", refusal.CodeType, `SELECT '9'::BIGNUM`},
	{"varint", refusal.CodeType, `SELECT '9'::VARINT`},
	{"nested bignum", refusal.CodeType, `SELECT NULL::STRUCT(a BIGNUM[])`},
	{"bignum in map", refusal.CodeType, `SELECT NULL::MAP(INT, BIGNUM)`},
	{"try bignum", refusal.CodeType, `SELECT TRY_CAST('9' AS BIGNUM)`},
	{"bignum by json", refusal.CodeType, `SELECT from_json('[9]', '["BIGNUM"]')`},
	{"type by json column", refusal.CodeArgument, `SELECT json_transform('[9]', a) FROM t`},
	{"variant", refusal.CodeType, `SELECT 1::VARIANT`},
	{"geometry", refusal.CodeType, `SELECT NULL::GEOMETRY`},
	{"type of the catalog", refusal.CodeType, `SELECT 1::mytype`},
	{"type of another schema", refusal.CodeType, `SELECT 1::other.mytype`},
	{"enum", refusal.CodeType, `SELECT 'a'::ENUM('a', 'b')`},
	{"make type", refusal.CodeFunction, `SELECT make_type('BIGNUM')`},
	{"cast to type", refusal.CodeFunction, `SELECT cast_to_type('9', NULL)`},
	{"strange collation", refusal.CodeSyntaxNode, `SELECT 'a' COLLATE "x; y"`},
	{"default", refusal.CodeSyntaxNode, `SELECT DEFAULT`},
	{"zero byte", refusal.CodeSyntax, `SELECT chr(0) || e'\u0000'`},

	// Time travel.
	{"volatile version", refusal.CodeTimeTravel, `SELECT * FROM t AT (VERSION => random()::INT)`},
	{"negative version", refusal.CodeTimeTravel, `SELECT * FROM t AT (VERSION => -1)`},
	{"huge version", refusal.CodeTimeTravel, `SELECT * FROM t AT (VERSION => 99999999999999999999)`},
	{"text version", refusal.CodeTimeTravel, `SELECT * FROM t AT (VERSION => '1')`},
	{"computed timestamp", refusal.CodeTimeTravel, `SELECT * FROM t AT (TIMESTAMP => now() - INTERVAL 1 DAY)`},
	{"bad timestamp", refusal.CodeTimeTravel, `SELECT * FROM t AT (TIMESTAMP => 'yesterday')`},
	{"parameter version", refusal.CodeTimeTravel, `SELECT * FROM t AT (VERSION => ?)`},
	{"version of a cte", refusal.CodeTimeTravel, `WITH c AS (SELECT 1) SELECT * FROM c AT (VERSION => 1)`},

	// Resources.
	{"sleep", refusal.CodeFunction, `SELECT sleep_ms(100000)`},
	{"pg sleep", refusal.CodeFunction, `SELECT pg_sleep(100)`},
	{"json path of many levels", refusal.CodeArgument, `SELECT json_extract(a, '$..a..b') FROM t`},
	{"json path in a list", refusal.CodeArgument, `SELECT json_exists(a, ['$.a', '$..a..b']) FROM t`},
	{"json path behind an arrow", refusal.CodeArgument, `SELECT a -> '$..a..b' FROM t`},
	{"json path behind an arrow in a lambda", refusal.CodeArgument, `SELECT list_transform([a], x -> (x -> '$..a..b')) FROM t`},
	{"json path behind two signs", refusal.CodeArgument, `SELECT a ->> '$..a..b' FROM t`},
	{"json path of a table function", refusal.CodeArgument, `SELECT * FROM t, json_tree(a, '$..a..b')`},
	{"reservoir of everything", refusal.CodeArgument, `SELECT reservoir_quantile(a, 0.5, 2000000000) FROM t`},
	{"reservoir computed", refusal.CodeArgument, `SELECT reservoir_quantile(a, 0.5, 1000 * 1000000) FROM t`},
	{"reservoir by parameter", refusal.CodeArgument, `SELECT reservoir_quantile(a, 0.5, $1) FROM t`},
	{"bits of statistics", refusal.CodeArgument, `SELECT bitstring_agg(a) FROM t`},
	{"bits of everything", refusal.CodeArgument, `SELECT bitstring_agg(a, 0, 999999999) FROM t`},
	{"bits beyond numbers", refusal.CodeArgument, `SELECT bitstring_agg(a, -9223372036854775808, 9223372036854775807) FROM t`},
	{"fold that adds a column", refusal.CodeArgument, `SELECT list_reduce(l, (a, x) -> a || b) FROM t`},
	{"fold that adds a long text", refusal.CodeArgument, `SELECT list_reduce(l, (a, x) -> a || '123456789') FROM t`},
	{"fold that adds a made text", refusal.CodeArgument, `SELECT list_reduce(l, lambda a, x: a || lpad('', 9999, 'x')) FROM t`},
	{"repeat 4 GB", refusal.CodeArgument, `SELECT repeat('a', 4000000000)`},
	{"repeat product", refusal.CodeArgument, `SELECT repeat('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 5000)`},
	{"lpad", refusal.CodeArgument, `SELECT lpad('a', 1000000000, 'x')`},
	{"rpad", refusal.CodeArgument, `SELECT rpad('a', 1000000000, 'x')`},
	{"printf width", refusal.CodeArgument, `SELECT printf('%1000000000d', 1)`},
	{"printf precision", refusal.CodeArgument, `SELECT printf('%.1000000000f', 1.0)`},
	{"printf star", refusal.CodeArgument, `SELECT printf('%*d', 1000000000, 1)`},
	{"printf format of a column", refusal.CodeArgument, `SELECT printf(a, 1) FROM t`},
	{"format width", refusal.CodeArgument, `SELECT format('{:1000000000d}', 1)`},
	{"format nested width", refusal.CodeArgument, `SELECT format('{:{}d}', 1, 1000000000)`},
	{"format of a column", refusal.CodeArgument, `SELECT format(a, 1) FROM t`},
	{"bar", refusal.CodeArgument, `SELECT bar(1, 0, 1, 1000000000)`},
	{"list range", refusal.CodeArgument, `SELECT list_sum(range(1000000000))`},
	{"list series", refusal.CodeArgument, `SELECT generate_series(0, 1000000000, 2)`},
	{"backward series", refusal.CodeArgument, `SELECT generate_series(1000000000, 0, -1)`},
	{"table range", refusal.CodeArgument, `SELECT count(*) FROM range(10000000000000)`},
	{"resize", refusal.CodeArgument, `SELECT list_resize([1], 1000000000)`},
	{"bitstring", refusal.CodeArgument, `SELECT bitstring('1', 1000000000)`},
	{"bins", refusal.CodeArgument, `SELECT equi_width_bins(0, 1000000000, 100000000, true)`},
	{"replacement", refusal.CodeArgument, `SELECT replace('a', 'a', '` + strings.Repeat("b", 2001) + `')`},
	{"separator", refusal.CodeArgument, `SELECT array_to_string(['a', 'b'], '` + strings.Repeat("b", 101) + `')`},
	{"separator of an aggregate", refusal.CodeArgument, `SELECT string_agg(a, repeat('x', 100000)) FROM t`},
	{"separator of a window", refusal.CodeArgument, `SELECT string_agg(a, repeat('x', 100000)) OVER () FROM t`},
	{"separator of a list aggregate", refusal.CodeArgument, `SELECT list_aggregate(range(1000000), 'string_agg', repeat('x', 100000))`},
	{"separator of a column", refusal.CodeArgument, `SELECT array_to_string(a, b) FROM t`},
	{"nested constant", refusal.CodeArgument, `SELECT json_structure('` + strings.Repeat("[", 16_001) + `')`},
	{"nested patch", refusal.CodeArgument, `SELECT json_merge_patch('{}', '{}', '` + strings.Repeat("[", 16_001) + `')`},
	{"nested structure", refusal.CodeArgument, `SELECT from_json('1', '` + strings.Repeat("[", 4097) + `')`},
	{"nested strict structure", refusal.CodeArgument, `SELECT json_transform_strict('1', '` + strings.Repeat("[", 4097) + `')`},
	{"indented nesting", refusal.CodeFunction, `SELECT json_pretty(a) FROM t`},
	{"wildcards", refusal.CodeArgument, `SELECT a LIKE '%a_%a%a%a%a%a%b' FROM t`},
	{"wildcards of glob", refusal.CodeArgument, `SELECT a GLOB '*a*a*a*a*a*a*b' FROM t`},
	{"wildcards for names of columns", refusal.CodeArgument, `SELECT COLUMNS(c -> c LIKE '%a_%a_%a_%b') FROM t`},
	{"computed pattern for names of columns", refusal.CodeArgument, `SELECT COLUMNS(c -> c LIKE '%' || c) FROM t`},
	{"wildcards with escape", refusal.CodeArgument, `SELECT a ILIKE '%a%a%a%a%a%a%b' ESCAPE '!' FROM t`},
	{"matches in a long constant", refusal.CodeArgument, `SELECT regexp_extract_all('` + strings.Repeat("x", 20_001) + `', 'x')`},
	{"sleep by a column", refusal.CodeFunction, `SELECT id.sleep_ms() FROM t`},
	{"sleep by a column of a table", refusal.CodeFunction, `SELECT t.id.pg_sleep() FROM t`},
	{"repeat by a column", refusal.CodeArgument, `SELECT id.lpad(100000000, 'x') FROM t`},
	{"many folds", refusal.CodeTooComplex, `SELECT ` + strings.Repeat(`list_reduce(l, (a, x) -> a + x), `, 16) +
		`list_reduce(l, (a, x) -> a + x) FROM t`},
	{"doubling fold", refusal.CodeArgument, `SELECT list_reduce(['ab' FOR i IN range(28)], lambda a, x: a || a)`},
	{"doubling fold of lists", refusal.CodeArgument, `SELECT reduce([[1]], (a, x) -> list_concat(a, x, a))`},
	{"doubling fold of arrays", refusal.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string([a, a], '')) FROM t`},
	{"doubling fold by code", refusal.CodeArgument, `SELECT array_reduce(l, (a, x) -> hex(a)) FROM t`},
	{"doubling fold by an inner lambda", refusal.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string(list_transform([1, 2], y -> ` +
		`concat(a, a)), '')) FROM t`},
	{"doubling fold by resize", refusal.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string(list_resize([''], 3, a), '')) FROM t`},
	{"doubling fold by an inner list", refusal.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string(list_transform([1, 2], y -> ` +
		`a), '')) FROM t`},
	{"wide concatenation", refusal.CodeArgument, `SELECT list_transform(l, x -> x || x || x || x) FROM t`},
	{"case bomb", refusal.CodeTooComplex, nested("CASE ", "a", " WHEN 1 THEN 2 WHEN 3 THEN 4 END", 30)},
	{"case bomb behind a decoy", refusal.CodeTooComplex, nested("CASE (CASE WHEN true THEN 1 END + ", "a", ") WHEN 1 THEN 2 WHEN 3 THEN 4 END",
		30)},
	{"case bomb with labels", refusal.CodeTooComplex, nested("CASE (SELECT 1 AS END, ", "a", ") WHEN 1 THEN 2 WHEN 3 THEN 4 END", 30)},
	{"case bomb in comments", refusal.CodeTooComplex, nested("CASE /* END /* */ END */ ", "a",
		" -- END\n WHEN 'END' THEN $$END$$ WHEN \"END\" THEN e'\\'END' END", 30)},
	{"wide case bomb", refusal.CodeTooComplex, nested("CASE ", "a", strings.Repeat(" WHEN 1 THEN 2", 300)+" END", 3)},
	{"window bomb", refusal.CodeTooComplex, "SELECT " + strings.Repeat("sum(a) OVER w, ", 3000) + "1 FROM t WINDOW w AS (ORDER BY a" +
		strings.Repeat("+a", 900) + ")"},
	{"window bomb in parentheses", refusal.CodeTooComplex, "SELECT " + strings.Repeat("sum(a) OVER (w), ", 3000) +
		"1 FROM t WINDOW w AS (ORDER BY a" + strings.Repeat(", a", 900) + ")"},
	{"alias bomb", refusal.CodeTooComplex, aliases("c%d||c%d AS c%d", 30)},
	{"alias bomb of subqueries", refusal.CodeTooComplex, aliases("(SELECT c%d + c%d) AS c%d", 30)},
	{"alias bomb in where", refusal.CodeTooComplex, aliases("c%d||c%d AS c%d", 11) + " FROM t WHERE " + strings.Repeat("c11 = 'x' OR ", 50) +
		"true"},
	{"macro bomb", refusal.CodeTooComplex, nested("round_even(", "a", ", 1)", 20)},
	{"macro bomb of nullif", refusal.CodeTooComplex, nested("nullif(", "a", ", 1)", 30)},
	{"macro bomb of split_part", refusal.CodeTooComplex, nested("split_part(", "a", ", ',', 1)", 30)},
	{"wide pivot", refusal.CodeTooComplex, "PIVOT t ON a IN (" + numbers(400) + "), b IN (" + numbers(400) + ") USING sum(c)"},
	{"wide join", refusal.CodeTooComplex, "SELECT 1 FROM t" + strings.Repeat(", t", 32)},
	{"wide join of functions", refusal.CodeTooComplex, "SELECT 1 FROM range(2)" + strings.Repeat(" CROSS JOIN range(2)", 32)},
	{"wide join of parentheses", refusal.CodeTooComplex, "SELECT 1 FROM " + strings.Repeat("(t CROSS JOIN ", 32) + "t" +
		strings.Repeat(")", 32)},
	{"wide join of subqueries", refusal.CodeTooComplex, "SELECT 1 FROM (SELECT 1)" + strings.Repeat(" NATURAL JOIN (SELECT 1)", 32)},
	{"wide join of a cte", refusal.CodeTooComplex, "WITH c AS (SELECT 1) SELECT 1 FROM c" + strings.Repeat(", c", 32)},
	{"wide statement", refusal.CodeTooComplex, "SELECT 1" + strings.Repeat(" + (SELECT 1 FROM t)", 65)},
	{"joins in joins", refusal.CodeTooComplex, "SELECT 1 FROM (SELECT 1 FROM t" + strings.Repeat(", t", 31) + ") a, (SELECT 1 FROM t" +
		strings.Repeat(", t", 31) + ") b"},
	{"wide disjunction", refusal.CodeTooComplex, "SELECT 1 FROM t WHERE " + strings.Repeat("a = 1 AND b = 2 OR ", 501) + "true"},
	{"wide disjunction in halves", refusal.CodeTooComplex, "SELECT 1 FROM t WHERE (" + strings.Repeat("a = 1 AND b = 2 OR ", 251) +
		"true) OR (" + strings.Repeat("a = 1 AND b = 2 OR ", 251) + "true)"},
	{"wide disjunction of negations", refusal.CodeTooComplex, "SELECT 1 FROM t WHERE " + strings.Repeat("NOT (a = 1 OR b = 2) OR ", 501) +
		"true"},
	{"deep lambdas", refusal.CodeTooComplex, `SELECT list_transform([1], x -> list_transform([2], y -> list_transform([3], z -> x + y + z)))`},
	{"series in a lambda", refusal.CodeArgument, `SELECT list_transform([1], x -> list_sum(range(1000)))`},
	{"many distances", refusal.CodeTooComplex, "SELECT " + strings.Repeat("levenshtein(a, b), ", 17) + "1 FROM t"},
	{"long list", refusal.CodeTooComplex, `SELECT 1 IN (` + strings.Repeat("1,", 10_000) + `1)`},
	{"long values", refusal.CodeTooComplex, `VALUES (1)` + strings.Repeat(",(1)", 10_000)},
	{"long name", refusal.CodeTooComplex, `SELECT "` + strings.Repeat("x", 256) + `"`},
	{"long text", refusal.CodeTooLarge, `SELECT '` + strings.Repeat("x", 256<<10) + `'`},
	{"deep unions", refusal.CodeSyntax, `SELECT 1` + strings.Repeat(" UNION SELECT 1 EXCEPT SELECT 2", 2000)},
	{"many grouping sets", refusal.CodeTooComplex, `SELECT 1 FROM t GROUP BY CUBE (a, b, c, d, e, f, g, h, i, j, k, l, m)`},
	{"high parameter", refusal.CodeTooComplex, `SELECT $4000000`},
	{"deep parentheses", refusal.CodeSyntax, `SELECT ` + strings.Repeat("(", 50_000) + "1" + strings.Repeat(")", 50_000)},
	{"long sum", refusal.CodeSyntax, `SELECT 1` + strings.Repeat("+1", 50_000)},
	{"many nots", refusal.CodeSyntax, `SELECT ` + strings.Repeat("NOT ", 50_000) + `true`},
}

// nested wraps a core n times.
func nested(before, core, after string, n int) string {
	return "SELECT " + strings.Repeat(before, n) + core + strings.Repeat(after, n) + " FROM t"
}

// aliases chains n result columns, each over the one before it.
func aliases(format string, n int) string {
	out := "SELECT 'a' AS c0"
	for i := 1; i <= n; i++ {
		out += ", " + fmt.Sprintf(format, i-1, i-1, i)
	}
	return out
}

func numbers(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return strings.Join(out, ",")
}

func TestHostileStatementsAreRefused(t *testing.T) {
	require.GreaterOrEqual(t, len(hostile), 100)
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			_, err := parse(t, h.sql)
			require.Error(t, err)
			require.Equal(t, h.code, codeOf(err), "%v", err)
		})
	}
}
