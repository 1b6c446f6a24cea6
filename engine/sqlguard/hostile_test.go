package sqlguard_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// hostile statements must be refused with the code, before anything is bound.
// Those that are harmless instead, because their names cannot resolve or they
// read only what the caller may read, are in neutral.
var hostile = []struct {
	name string
	code sqlguard.Code
	sql  string
}{
	// Files.
	{"read parquet", sqlguard.CodeFunction, `SELECT * FROM read_parquet('/etc/passwd')`},
	{"read csv", sqlguard.CodeFunction, `SELECT * FROM read_csv('/etc/passwd')`},
	{"read csv auto", sqlguard.CodeFunction, `SELECT * FROM read_csv_auto('/etc/passwd')`},
	{"read text", sqlguard.CodeFunction, `SELECT content FROM read_text('/proc/self/environ')`},
	{"read blob", sqlguard.CodeFunction, `SELECT * FROM read_blob('/etc/shadow')`},
	{"read json", sqlguard.CodeFunction, `FROM read_json('_delta_log/00000000000000000000.json')`},
	{"read ndjson objects", sqlguard.CodeFunction, `FROM read_ndjson_objects('x')`},
	{"glob", sqlguard.CodeFunction, `SELECT * FROM glob('/**')`},
	{"sniff csv", sqlguard.CodeFunction, `FROM sniff_csv('/etc/passwd')`},
	{"read duckdb", sqlguard.CodeFunction, `FROM read_duckdb('/data/catalog.db')`},
	{"parquet metadata", sqlguard.CodeFunction, `SELECT stats_min FROM parquet_metadata('/lake/t/*.parquet')`},
	{"parquet bloom probe", sqlguard.CodeFunction, `FROM parquet_bloom_probe('/lake/t/*.parquet', 'a', 1)`},
	{"quoted mixed case", sqlguard.CodeFunction, `SELECT * FROM "ReAd_PaRqUeT"('/x')`},
	{"qualified function", sqlguard.CodeFunction, `SELECT * FROM system.main.read_parquet('/x')`},
	{"method syntax", sqlguard.CodeFunctionUnknown, `SELECT ('/etc/passwd').read_text()`},
	{"method syntax query", sqlguard.CodeFunctionUnknown, `SELECT ('SELECT 1').query()`},
	{"in a subquery", sqlguard.CodeFunction, `SELECT (SELECT count(*) FROM glob('/*'))`},
	{"in exists", sqlguard.CodeFunction, `SELECT 1 WHERE EXISTS (FROM read_text('/x'))`},
	{"in order by", sqlguard.CodeFunction, `SELECT 1 ORDER BY (SELECT count(*) FROM glob('/*'))`},
	{"in limit", sqlguard.CodeFunction, `SELECT 1 LIMIT (SELECT count(*) FROM glob('/*'))`},
	{"in having", sqlguard.CodeFunction, `SELECT 1 HAVING (SELECT true FROM glob('/*'))`},
	{"in qualify", sqlguard.CodeFunction, `SELECT 1 QUALIFY (SELECT true FROM glob('/*'))`},
	{"in filter", sqlguard.CodeFunction, `SELECT count(*) FILTER (WHERE (SELECT true FROM glob('/*')))`},
	{"in window", sqlguard.CodeFunction, `SELECT sum(1) OVER (PARTITION BY (SELECT 1 FROM glob('/*')))`},
	{"in window order", sqlguard.CodeFunction, `SELECT sum(1) OVER (ORDER BY (SELECT 1 FROM glob('/*')))`},
	{"in window bound", sqlguard.CodeFunction, `SELECT sum(1) OVER (ROWS BETWEEN (SELECT 1 FROM glob('/*')) PRECEDING AND CURRENT ROW)`},
	{"in distinct on", sqlguard.CodeFunction, `SELECT DISTINCT ON ((SELECT 1 FROM glob('/*'))) 1`},
	{"in replace", sqlguard.CodeFunction, `SELECT * REPLACE ((SELECT 1 FROM glob('/*')) AS x) FROM t`},
	{"in columns", sqlguard.CodeFunction, `SELECT COLUMNS(c -> (SELECT true FROM glob('/*'))) FROM t`},
	{"in join condition", sqlguard.CodeFunction, `SELECT * FROM t a JOIN t b ON (SELECT true FROM glob('/*'))`},
	{"in table function argument", sqlguard.CodeFunction, `SELECT * FROM range((SELECT count(*) FROM glob('/*')))`},
	{"in group by", sqlguard.CodeFunction, `SELECT 1 FROM t GROUP BY (SELECT 1 FROM glob('/*'))`},
	{"in case", sqlguard.CodeFunction, `SELECT CASE WHEN true THEN (SELECT 1 FROM glob('/*')) END`},
	{"in values", sqlguard.CodeFunction, `VALUES ((SELECT 1 FROM glob('/*')))`},
	{"in pivot", sqlguard.CodeFunction, `SELECT * FROM (FROM glob('/*')) PIVOT (count(*) FOR file IN ('a'))`},
	{"in unpivot", sqlguard.CodeFunction, `UNPIVOT (FROM glob('/*')) ON file INTO NAME n VALUE v`},
	{"in lateral", sqlguard.CodeFunction, `SELECT * FROM t, LATERAL (SELECT * FROM glob('/*' || t.a))`},
	{"in recursive cte", sqlguard.CodeFunction, `WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT 2 FROM r, glob('/*')) FROM r`},
	{"in unused cte", sqlguard.CodeFunction, `WITH r AS (FROM glob('/*')) SELECT 1`},
	{"in describe", sqlguard.CodeFunction, `DESCRIBE SELECT * FROM read_parquet('/x')`},
	{"in summarize", sqlguard.CodeFunction, `SUMMARIZE SELECT * FROM read_parquet('/x')`},
	{"in explain", sqlguard.CodeFunction, `EXPLAIN SELECT * FROM read_parquet('/x')`},
	{"in lambda", sqlguard.CodeFunction, `SELECT list_transform([1], x -> (SELECT count(*) FROM glob('/*')))`},
	{"in set operation", sqlguard.CodeFunction, `SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT count(*) FROM glob('/*')`},
	{"in grouping set", sqlguard.CodeFunction, `SELECT 1 FROM t GROUP BY GROUPING SETS ((write_blob('/x', 'y'::BLOB)))`},
	{"in aggregate order", sqlguard.CodeFunction, `SELECT list(a ORDER BY write_blob('/x', 'y'::BLOB)) FROM t`},
	{"in lag default", sqlguard.CodeFunction, `SELECT lag(a, 1, write_blob('/x', 'y'::BLOB)) OVER () FROM t`},
	{"in at", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (VERSION => (SELECT count(*) FROM glob('/*')))`},
	{"in collate child", sqlguard.CodeFunction, `SELECT current_setting('x') COLLATE NOCASE`},

	// The delta extension, which ignores the sandbox.
	{"delta scan", sqlguard.CodeFunction, `SELECT * FROM delta_scan('s3://other/t')`},
	{"delta list files", sqlguard.CodeFunction, `SELECT * FROM delta_list_files('/lake/secret')`},
	{"write blob", sqlguard.CodeFunction, `SELECT write_blob('/tmp/x', 'PWN'::BLOB)`},
	{"write blob in where", sqlguard.CodeFunction, `SELECT * FROM t WHERE write_blob('/tmp/x', a) IS NULL`},
	{"copy dir", sqlguard.CodeFunction, `SELECT * FROM copy_dir('/a', '/b')`},
	{"crash the server", sqlguard.CodeFunction, `SELECT get_delta_test_expression()`},
	{"corrupt the heap", sqlguard.CodeFunction, `SELECT count(*) FROM (SELECT struct_update(s, a := x) AS e FROM t) WHERE e IS NOT NULL`},
	{"delta log", sqlguard.CodeFunction, `FROM delta_filter_pushdown_log()`},
	{"delta transaction", sqlguard.CodeFunction, `FROM delta_set_transaction_version('t', 'x', 1)`},

	// SQL in text.
	{"query", sqlguard.CodeFunction, `SELECT * FROM query('SELECT * FROM secret')`},
	{"query table", sqlguard.CodeFunction, `SELECT * FROM query_table('secret')`},
	{"query table list", sqlguard.CodeFunction, `SELECT * FROM query_table(['a', 'b'])`},
	{"serialize plan", sqlguard.CodeFunction, `SELECT json_serialize_plan('SELECT * FROM secret')`},
	{"serialize sql", sqlguard.CodeFunction, `SELECT json_serialize_sql('SELECT 1')`},
	{"execute serialized", sqlguard.CodeFunction, `FROM json_execute_serialized_sql('{}')`},
	{"aggregate by name", sqlguard.CodeArgument, `SELECT list_aggregate([1], a) FROM t`},
	{"aggregate that does not exist", sqlguard.CodeFunction, `SELECT list_aggregate([1], 'write_blob')`},

	// State, settings, statistics, catalog.
	{"settings", sqlguard.CodeFunction, `SELECT * FROM duckdb_settings()`},
	{"secrets", sqlguard.CodeFunction, `SELECT * FROM duckdb_secrets(redact := false)`},
	{"which secret", sqlguard.CodeFunction, `FROM which_secret('s3://x', 's3')`},
	{"tables of the engine", sqlguard.CodeFunction, `SELECT * FROM duckdb_tables()`},
	{"views", sqlguard.CodeFunction, `SELECT sql FROM duckdb_views()`},
	{"logs", sqlguard.CodeFunction, `FROM duckdb_logs()`},
	{"file cache", sqlguard.CodeFunction, `FROM duckdb_external_file_cache()`},
	{"current setting", sqlguard.CodeFunction, `SELECT current_setting('s3_secret_access_key')`},
	{"getvariable", sqlguard.CodeFunction, `SELECT getvariable('tenant')`},
	{"statistics", sqlguard.CodeFunction, `SELECT DISTINCT stats(a) FROM t`},
	{"current query", sqlguard.CodeFunction, `SELECT current_query()`},
	{"transaction id", sqlguard.CodeFunction, `SELECT txid_current()`},
	{"sequence", sqlguard.CodeFunction, `SELECT nextval('s')`},
	{"setseed", sqlguard.CodeFunction, `SELECT setseed(0.5)`},
	{"log", sqlguard.CodeFunction, `SELECT write_log('x')`},
	{"enable logging", sqlguard.CodeFunction, `FROM enable_logging()`},
	{"checkpoint", sqlguard.CodeFunction, `FROM checkpoint()`},
	{"pragma function", sqlguard.CodeFunction, `SELECT * FROM pragma_table_info('t')`},
	{"pragma storage info", sqlguard.CodeFunction, `SELECT * FROM pragma_storage_info('t')`},
	{"other parser", sqlguard.CodeFunction, `FROM enable_peg_parser()`},
	{"privileges", sqlguard.CodeFunction, `SELECT has_table_privilege('x', 'select')`},
	{"view definition", sqlguard.CodeFunction, `SELECT pg_get_viewdef(1)`},
	{"internal function", sqlguard.CodeFunction, `SELECT __internal_compress_string_utinyint('a')`},
	{"vector type", sqlguard.CodeFunction, `SELECT vector_type(a) FROM t`},
	{"sort key", sqlguard.CodeFunction, `SELECT create_sort_key(a, 'ASC') FROM t`},
	{"pointer", sqlguard.CodeFunction, `SELECT * FROM pandas_scan(NULL)`},
	{"arrow pointer", sqlguard.CodeFunction, `SELECT * FROM arrow_scan(0, 0, 0)`},
	{"sequential scan", sqlguard.CodeFunction, `FROM seq_scan()`},
	{"repeat row", sqlguard.CodeFunction, `FROM repeat_row(1, num_rows := -1)`},
	{"error", sqlguard.CodeFunction, `SELECT error(a) FROM t`},
	{"error in lambda", sqlguard.CodeFunction, `SELECT list_transform([a], x -> error(x)) FROM t`},
	{"other schema", sqlguard.CodeFunction, `SELECT pg_catalog.lower('a')`},
	{"other catalog", sqlguard.CodeFunction, `SELECT memory.main.lower('a')`},
	{"macro in temp", sqlguard.CodeFunction, `SELECT temp.main.lower('a')`},
	{"unknown function", sqlguard.CodeFunctionUnknown, `SELECT lowerr('a')`},
	{"unknown table function", sqlguard.CodeFunctionUnknown, `SELECT * FROM tpch_queries()`},
	{"scalar as table", sqlguard.CodeFunctionUnknown, `SELECT * FROM lower('a')`},
	{"table as scalar", sqlguard.CodeFunctionUnknown, `SELECT read_text('a')`},
	{"window of unknown", sqlguard.CodeFunctionUnknown, `SELECT nosuch(1) OVER ()`},
	{"window of denied", sqlguard.CodeFunction, `SELECT stats(a) OVER () FROM t`},
	{"window of capped", sqlguard.CodeFunction, `SELECT repeat('a', 1) OVER ()`},

	// Not one query.
	{"two statements", sqlguard.CodeStatement, `SELECT 1; SELECT 2`},
	{"second statement hidden", sqlguard.CodeStatement, `SELECT 1;/**/DROP TABLE t`},
	{"nothing", sqlguard.CodeStatement, ``},
	{"semicolon", sqlguard.CodeStatement, `;`},
	{"comment", sqlguard.CodeStatement, `-- nothing`},
	{"create table", sqlguard.CodeStatement, `CREATE TABLE x AS SELECT 1`},
	{"create macro", sqlguard.CodeStatement, `CREATE TEMP MACRO lower(x) AS 'a'`},
	{"create view", sqlguard.CodeStatement, `CREATE OR REPLACE VIEW t AS SELECT 1`},
	{"create type", sqlguard.CodeStatement, `CREATE TYPE e AS ENUM (SELECT secret FROM s)`},
	{"create secret", sqlguard.CodeStatement, `CREATE SECRET s (TYPE s3)`},
	{"insert", sqlguard.CodeStatement, `INSERT INTO t VALUES (1)`},
	{"update", sqlguard.CodeStatement, `UPDATE t SET a = 1`},
	{"delete", sqlguard.CodeStatement, `DELETE FROM t`},
	{"merge", sqlguard.CodeStatement, `MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE`},
	{"drop", sqlguard.CodeStatement, `DROP TABLE t`},
	{"alter", sqlguard.CodeStatement, `ALTER TABLE t ADD COLUMN x INT`},
	{"copy to", sqlguard.CodeStatement, `COPY (SELECT 1) TO '/tmp/x'`},
	{"copy from", sqlguard.CodeStatement, `COPY t FROM '/tmp/x'`},
	{"attach", sqlguard.CodeStatement, `ATTACH '/x' AS y (TYPE delta)`},
	{"detach", sqlguard.CodeStatement, `DETACH lake`},
	{"use", sqlguard.CodeStatement, `USE memory`},
	{"set", sqlguard.CodeStatement, `SET threads = 64`},
	{"set variable", sqlguard.CodeStatement, `SET VARIABLE tenant = 'b'`},
	{"reset", sqlguard.CodeStatement, `RESET threads`},
	{"pragma", sqlguard.CodeStatement, `PRAGMA database_list`},
	{"call", sqlguard.CodeStatement, `CALL checkpoint()`},
	{"load", sqlguard.CodeStatement, `LOAD '/tmp/x.duckdb_extension'`},
	{"install", sqlguard.CodeStatement, `INSTALL httpfs`},
	{"export", sqlguard.CodeStatement, `EXPORT DATABASE '/tmp/x'`},
	{"import", sqlguard.CodeStatement, `IMPORT DATABASE '/tmp/x'`},
	{"prepare", sqlguard.CodeStatement, `PREPARE p AS SELECT 1`},
	{"execute", sqlguard.CodeStatement, `EXECUTE p`},
	{"begin", sqlguard.CodeStatement, `BEGIN`},
	{"checkpoint statement", sqlguard.CodeStatement, `CHECKPOINT`},
	{"vacuum", sqlguard.CodeStatement, `VACUUM`},
	{"explain analyze of a change", sqlguard.CodeStatement, `EXPLAIN ANALYZE DELETE FROM t`},
	{"explain analyze into a file", sqlguard.CodeStatement, `EXPLAIN ANALYZE COPY t TO '/tmp/x'`},
	{"explain analyze of a file", sqlguard.CodeFunction, `EXPLAIN ANALYZE SELECT * FROM read_parquet('/tmp/x')`},
	{"explain with options", sqlguard.CodeStatement, `EXPLAIN (FORMAT json) SELECT * FROM t`},
	{"explain analyze after comment", sqlguard.CodeStatement, `/* x */ EXPLAIN /* y */ ANALYZE DELETE FROM t`},
	{"explain delete", sqlguard.CodeStatement, `EXPLAIN DELETE FROM t`},
	{"explain explain", sqlguard.CodeStatement, `EXPLAIN EXPLAIN SELECT 1`},
	{"explain show", sqlguard.CodeStatement, `EXPLAIN SHOW TABLES`},
	{"show databases", sqlguard.CodeStatement, `SHOW DATABASES`},
	{"show variables", sqlguard.CodeStatement, `SHOW VARIABLES`},
	{"show as a table", sqlguard.CodeStatement, `SELECT * FROM (SHOW TABLES)`},
	{"show all as a table", sqlguard.CodeStatement, `SELECT * FROM (SHOW ALL TABLES)`},
	{"dynamic pivot", sqlguard.CodeStatement, `PIVOT t ON a USING count(*)`},

	// Types and texts.
	{"bignum", sqlguard.CodeType, `SELECT '9'::BIGNUM`},
	{"varint", sqlguard.CodeType, `SELECT '9'::VARINT`},
	{"nested bignum", sqlguard.CodeType, `SELECT NULL::STRUCT(a BIGNUM[])`},
	{"bignum in map", sqlguard.CodeType, `SELECT NULL::MAP(INT, BIGNUM)`},
	{"try bignum", sqlguard.CodeType, `SELECT TRY_CAST('9' AS BIGNUM)`},
	{"bignum by json", sqlguard.CodeType, `SELECT from_json('[9]', '["BIGNUM"]')`},
	{"type by json column", sqlguard.CodeArgument, `SELECT json_transform('[9]', a) FROM t`},
	{"variant", sqlguard.CodeType, `SELECT 1::VARIANT`},
	{"geometry", sqlguard.CodeType, `SELECT NULL::GEOMETRY`},
	{"type of the catalog", sqlguard.CodeType, `SELECT 1::mytype`},
	{"type of another schema", sqlguard.CodeType, `SELECT 1::other.mytype`},
	{"enum", sqlguard.CodeType, `SELECT 'a'::ENUM('a', 'b')`},
	{"make type", sqlguard.CodeFunction, `SELECT make_type('BIGNUM')`},
	{"cast to type", sqlguard.CodeFunction, `SELECT cast_to_type('9', NULL)`},
	{"strange collation", sqlguard.CodeSyntaxNode, `SELECT 'a' COLLATE "x; y"`},
	{"default", sqlguard.CodeSyntaxNode, `SELECT DEFAULT`},
	{"zero byte", sqlguard.CodeSyntax, `SELECT chr(0) || e'\u0000'`},

	// Time travel.
	{"volatile version", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (VERSION => random()::INT)`},
	{"negative version", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (VERSION => -1)`},
	{"huge version", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (VERSION => 99999999999999999999)`},
	{"text version", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (VERSION => '1')`},
	{"computed timestamp", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (TIMESTAMP => now() - INTERVAL 1 DAY)`},
	{"bad timestamp", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (TIMESTAMP => 'yesterday')`},
	{"parameter version", sqlguard.CodeTimeTravel, `SELECT * FROM t AT (VERSION => ?)`},
	{"version of a cte", sqlguard.CodeTimeTravel, `WITH c AS (SELECT 1) SELECT * FROM c AT (VERSION => 1)`},

	// Resources.
	{"sleep", sqlguard.CodeFunction, `SELECT sleep_ms(100000)`},
	{"pg sleep", sqlguard.CodeFunction, `SELECT pg_sleep(100)`},
	{"json path of many levels", sqlguard.CodeArgument, `SELECT json_extract(a, '$..a..b') FROM t`},
	{"json path in a list", sqlguard.CodeArgument, `SELECT json_exists(a, ['$.a', '$..a..b']) FROM t`},
	{"json path behind an arrow", sqlguard.CodeArgument, `SELECT a -> '$..a..b' FROM t`},
	{"json path behind an arrow in a lambda", sqlguard.CodeArgument, `SELECT list_transform([a], x -> (x -> '$..a..b')) FROM t`},
	{"json path behind two signs", sqlguard.CodeArgument, `SELECT a ->> '$..a..b' FROM t`},
	{"json path of a table function", sqlguard.CodeArgument, `SELECT * FROM t, json_tree(a, '$..a..b')`},
	{"reservoir of everything", sqlguard.CodeArgument, `SELECT reservoir_quantile(a, 0.5, 2000000000) FROM t`},
	{"reservoir computed", sqlguard.CodeArgument, `SELECT reservoir_quantile(a, 0.5, 1000 * 1000000) FROM t`},
	{"reservoir by parameter", sqlguard.CodeArgument, `SELECT reservoir_quantile(a, 0.5, $1) FROM t`},
	{"bits of statistics", sqlguard.CodeArgument, `SELECT bitstring_agg(a) FROM t`},
	{"bits of everything", sqlguard.CodeArgument, `SELECT bitstring_agg(a, 0, 999999999) FROM t`},
	{"bits beyond numbers", sqlguard.CodeArgument, `SELECT bitstring_agg(a, -9223372036854775808, 9223372036854775807) FROM t`},
	{"fold that adds a column", sqlguard.CodeArgument, `SELECT list_reduce(l, (a, x) -> a || b) FROM t`},
	{"fold that adds a long text", sqlguard.CodeArgument, `SELECT list_reduce(l, (a, x) -> a || '123456789') FROM t`},
	{"fold that adds a made text", sqlguard.CodeArgument, `SELECT list_reduce(l, lambda a, x: a || lpad('', 9999, 'x')) FROM t`},
	{"repeat 4 GB", sqlguard.CodeArgument, `SELECT repeat('a', 4000000000)`},
	{"repeat product", sqlguard.CodeArgument, `SELECT repeat('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 5000)`},
	{"lpad", sqlguard.CodeArgument, `SELECT lpad('a', 1000000000, 'x')`},
	{"rpad", sqlguard.CodeArgument, `SELECT rpad('a', 1000000000, 'x')`},
	{"printf width", sqlguard.CodeArgument, `SELECT printf('%1000000000d', 1)`},
	{"printf precision", sqlguard.CodeArgument, `SELECT printf('%.1000000000f', 1.0)`},
	{"printf star", sqlguard.CodeArgument, `SELECT printf('%*d', 1000000000, 1)`},
	{"printf format of a column", sqlguard.CodeArgument, `SELECT printf(a, 1) FROM t`},
	{"format width", sqlguard.CodeArgument, `SELECT format('{:1000000000d}', 1)`},
	{"format nested width", sqlguard.CodeArgument, `SELECT format('{:{}d}', 1, 1000000000)`},
	{"format of a column", sqlguard.CodeArgument, `SELECT format(a, 1) FROM t`},
	{"bar", sqlguard.CodeArgument, `SELECT bar(1, 0, 1, 1000000000)`},
	{"list range", sqlguard.CodeArgument, `SELECT list_sum(range(1000000000))`},
	{"list series", sqlguard.CodeArgument, `SELECT generate_series(0, 1000000000, 2)`},
	{"backward series", sqlguard.CodeArgument, `SELECT generate_series(1000000000, 0, -1)`},
	{"table range", sqlguard.CodeArgument, `SELECT count(*) FROM range(10000000000000)`},
	{"resize", sqlguard.CodeArgument, `SELECT list_resize([1], 1000000000)`},
	{"bitstring", sqlguard.CodeArgument, `SELECT bitstring('1', 1000000000)`},
	{"bins", sqlguard.CodeArgument, `SELECT equi_width_bins(0, 1000000000, 100000000, true)`},
	{"replacement", sqlguard.CodeArgument, `SELECT replace('a', 'a', '` + strings.Repeat("b", 2001) + `')`},
	{"separator", sqlguard.CodeArgument, `SELECT array_to_string(['a', 'b'], '` + strings.Repeat("b", 101) + `')`},
	{"separator of an aggregate", sqlguard.CodeArgument, `SELECT string_agg(a, repeat('x', 100000)) FROM t`},
	{"separator of a window", sqlguard.CodeArgument, `SELECT string_agg(a, repeat('x', 100000)) OVER () FROM t`},
	{"separator of a list aggregate", sqlguard.CodeArgument, `SELECT list_aggregate(range(1000000), 'string_agg', repeat('x', 100000))`},
	{"separator of a column", sqlguard.CodeArgument, `SELECT array_to_string(a, b) FROM t`},
	{"nested constant", sqlguard.CodeArgument, `SELECT json_structure('` + strings.Repeat("[", 16_001) + `')`},
	{"nested patch", sqlguard.CodeArgument, `SELECT json_merge_patch('{}', '{}', '` + strings.Repeat("[", 16_001) + `')`},
	{"nested structure", sqlguard.CodeArgument, `SELECT from_json('1', '` + strings.Repeat("[", 4097) + `')`},
	{"nested strict structure", sqlguard.CodeArgument, `SELECT json_transform_strict('1', '` + strings.Repeat("[", 4097) + `')`},
	{"indented nesting", sqlguard.CodeFunction, `SELECT json_pretty(a) FROM t`},
	{"wildcards", sqlguard.CodeArgument, `SELECT a LIKE '%a_%a%a%a%a%a%b' FROM t`},
	{"wildcards of glob", sqlguard.CodeArgument, `SELECT a GLOB '*a*a*a*a*a*a*b' FROM t`},
	{"wildcards for names of columns", sqlguard.CodeArgument, `SELECT COLUMNS(c -> c LIKE '%a_%a_%a_%b') FROM t`},
	{"computed pattern for names of columns", sqlguard.CodeArgument, `SELECT COLUMNS(c -> c LIKE '%' || c) FROM t`},
	{"wildcards with escape", sqlguard.CodeArgument, `SELECT a ILIKE '%a%a%a%a%a%a%b' ESCAPE '!' FROM t`},
	{"matches in a long constant", sqlguard.CodeArgument, `SELECT regexp_extract_all('` + strings.Repeat("x", 20_001) + `', 'x')`},
	{"sleep by a column", sqlguard.CodeFunction, `SELECT id.sleep_ms() FROM t`},
	{"sleep by a column of a table", sqlguard.CodeFunction, `SELECT t.id.pg_sleep() FROM t`},
	{"repeat by a column", sqlguard.CodeArgument, `SELECT id.lpad(100000000, 'x') FROM t`},
	{"many folds", sqlguard.CodeTooComplex, `SELECT ` + strings.Repeat(`list_reduce(l, (a, x) -> a + x), `, 16) + `list_reduce(l, (a, x) -> a + x) FROM t`},
	{"doubling fold", sqlguard.CodeArgument, `SELECT list_reduce(['ab' FOR i IN range(28)], lambda a, x: a || a)`},
	{"doubling fold of lists", sqlguard.CodeArgument, `SELECT reduce([[1]], (a, x) -> list_concat(a, x, a))`},
	{"doubling fold of arrays", sqlguard.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string([a, a], '')) FROM t`},
	{"doubling fold by code", sqlguard.CodeArgument, `SELECT array_reduce(l, (a, x) -> hex(a)) FROM t`},
	{"doubling fold by an inner lambda", sqlguard.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string(list_transform([1, 2], y -> concat(a, a)), '')) FROM t`},
	{"doubling fold by resize", sqlguard.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string(list_resize([''], 3, a), '')) FROM t`},
	{"doubling fold by an inner list", sqlguard.CodeArgument, `SELECT list_reduce(l, (a, x) -> array_to_string(list_transform([1, 2], y -> a), '')) FROM t`},
	{"wide concatenation", sqlguard.CodeArgument, `SELECT list_transform(l, x -> x || x || x || x) FROM t`},
	{"case bomb", sqlguard.CodeTooComplex, nested("CASE ", "a", " WHEN 1 THEN 2 WHEN 3 THEN 4 END", 30)},
	{"case bomb behind a decoy", sqlguard.CodeTooComplex, nested("CASE (CASE WHEN true THEN 1 END + ", "a", ") WHEN 1 THEN 2 WHEN 3 THEN 4 END", 30)},
	{"case bomb with labels", sqlguard.CodeTooComplex, nested("CASE (SELECT 1 AS END, ", "a", ") WHEN 1 THEN 2 WHEN 3 THEN 4 END", 30)},
	{"case bomb in comments", sqlguard.CodeTooComplex, nested("CASE /* END /* */ END */ ", "a", " -- END\n WHEN 'END' THEN $$END$$ WHEN \"END\" THEN e'\\'END' END", 30)},
	{"wide case bomb", sqlguard.CodeTooComplex, nested("CASE ", "a", strings.Repeat(" WHEN 1 THEN 2", 300)+" END", 3)},
	{"window bomb", sqlguard.CodeTooComplex, "SELECT " + strings.Repeat("sum(a) OVER w, ", 3000) + "1 FROM t WINDOW w AS (ORDER BY a" + strings.Repeat("+a", 900) + ")"},
	{"window bomb in parentheses", sqlguard.CodeTooComplex, "SELECT " + strings.Repeat("sum(a) OVER (w), ", 3000) + "1 FROM t WINDOW w AS (ORDER BY a" + strings.Repeat(", a", 900) + ")"},
	{"alias bomb", sqlguard.CodeTooComplex, aliases("c%d||c%d AS c%d", 30)},
	{"alias bomb of subqueries", sqlguard.CodeTooComplex, aliases("(SELECT c%d + c%d) AS c%d", 30)},
	{"alias bomb in where", sqlguard.CodeTooComplex, aliases("c%d||c%d AS c%d", 11) + " FROM t WHERE " + strings.Repeat("c11 = 'x' OR ", 50) + "true"},
	{"macro bomb", sqlguard.CodeTooComplex, nested("round_even(", "a", ", 1)", 20)},
	{"macro bomb of nullif", sqlguard.CodeTooComplex, nested("nullif(", "a", ", 1)", 30)},
	{"macro bomb of split_part", sqlguard.CodeTooComplex, nested("split_part(", "a", ", ',', 1)", 30)},
	{"wide pivot", sqlguard.CodeTooComplex, "PIVOT t ON a IN (" + numbers(400) + "), b IN (" + numbers(400) + ") USING sum(c)"},
	{"wide join", sqlguard.CodeTooComplex, "SELECT 1 FROM t" + strings.Repeat(", t", 32)},
	{"wide join of functions", sqlguard.CodeTooComplex, "SELECT 1 FROM range(2)" + strings.Repeat(" CROSS JOIN range(2)", 32)},
	{"wide join of parentheses", sqlguard.CodeTooComplex, "SELECT 1 FROM " + strings.Repeat("(t CROSS JOIN ", 32) + "t" + strings.Repeat(")", 32)},
	{"wide join of subqueries", sqlguard.CodeTooComplex, "SELECT 1 FROM (SELECT 1)" + strings.Repeat(" NATURAL JOIN (SELECT 1)", 32)},
	{"wide join of a cte", sqlguard.CodeTooComplex, "WITH c AS (SELECT 1) SELECT 1 FROM c" + strings.Repeat(", c", 32)},
	{"wide statement", sqlguard.CodeTooComplex, "SELECT 1" + strings.Repeat(" + (SELECT 1 FROM t)", 65)},
	{"joins in joins", sqlguard.CodeTooComplex, "SELECT 1 FROM (SELECT 1 FROM t" + strings.Repeat(", t", 31) + ") a, (SELECT 1 FROM t" + strings.Repeat(", t", 31) + ") b"},
	{"wide disjunction", sqlguard.CodeTooComplex, "SELECT 1 FROM t WHERE " + strings.Repeat("a = 1 AND b = 2 OR ", 501) + "true"},
	{"wide disjunction in halves", sqlguard.CodeTooComplex, "SELECT 1 FROM t WHERE (" + strings.Repeat("a = 1 AND b = 2 OR ", 251) + "true) OR (" + strings.Repeat("a = 1 AND b = 2 OR ", 251) + "true)"},
	{"wide disjunction of negations", sqlguard.CodeTooComplex, "SELECT 1 FROM t WHERE " + strings.Repeat("NOT (a = 1 OR b = 2) OR ", 501) + "true"},
	{"deep lambdas", sqlguard.CodeTooComplex, `SELECT list_transform([1], x -> list_transform([2], y -> list_transform([3], z -> x + y + z)))`},
	{"series in a lambda", sqlguard.CodeArgument, `SELECT list_transform([1], x -> list_sum(range(1000)))`},
	{"many distances", sqlguard.CodeTooComplex, "SELECT " + strings.Repeat("levenshtein(a, b), ", 17) + "1 FROM t"},
	{"long list", sqlguard.CodeTooComplex, `SELECT 1 IN (` + strings.Repeat("1,", 10_000) + `1)`},
	{"long values", sqlguard.CodeTooComplex, `VALUES (1)` + strings.Repeat(",(1)", 10_000)},
	{"long name", sqlguard.CodeTooComplex, `SELECT "` + strings.Repeat("x", 256) + `"`},
	{"long text", sqlguard.CodeTooLarge, `SELECT '` + strings.Repeat("x", 256<<10) + `'`},
	{"deep unions", sqlguard.CodeSyntax, `SELECT 1` + strings.Repeat(" UNION SELECT 1 EXCEPT SELECT 2", 2000)},
	{"many grouping sets", sqlguard.CodeTooComplex, `SELECT 1 FROM t GROUP BY CUBE (a, b, c, d, e, f, g, h, i, j, k, l, m)`},
	{"high parameter", sqlguard.CodeTooComplex, `SELECT $4000000`},
	{"deep parentheses", sqlguard.CodeSyntax, `SELECT ` + strings.Repeat("(", 50_000) + "1" + strings.Repeat(")", 50_000)},
	{"long sum", sqlguard.CodeSyntax, `SELECT 1` + strings.Repeat("+1", 50_000)},
	{"many nots", sqlguard.CodeSyntax, `SELECT ` + strings.Repeat("NOT ", 50_000) + `true`},
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
