package duckdb

import "strings"

// attack is a statement that must not get through to what lies outside a
// session's roots. Its SQL names files below OUTSIDE.
type attack struct {
	sql string
	// harmless says that this statement fails on an open instance as well, for
	// want of a network or a second extension; it is tried all the same.
	harmless bool
}

// settingsStop lists the attacks that a session's locked settings must stop by
// themselves, whatever stands before them.
var settingsStop = []attack{
	{sql: `SELECT * FROM read_text('OUTSIDE/file.csv')`},
	{sql: `SELECT * FROM read_blob('OUTSIDE/file.csv')`},
	{sql: `SELECT * FROM read_csv('OUTSIDE/file.csv')`},
	{sql: `SELECT * FROM sniff_csv('OUTSIDE/file.csv')`},
	{sql: `SELECT * FROM read_json('OUTSIDE/file.json')`},
	{sql: `SELECT * FROM 'OUTSIDE/file.csv'`},
	{sql: `SELECT * FROM read_text('ROOT/../outside/file.csv')`},
	{sql: `SELECT * FROM read_text('ROOT/link/file.csv')`},
	{sql: `SELECT * FROM glob('OUTSIDE/*')`},
	{sql: `COPY (SELECT 1) TO 'OUTSIDE/copy.csv'`},
	{sql: `COPY (SELECT 1) TO 'ROOT/link/copy.csv'`},
	{sql: `EXPORT DATABASE 'OUTSIDE/export'`},
	{sql: `ATTACH 'OUTSIDE/file.db' AS outside`},
	{sql: `CREATE PERSISTENT SECRET kept (TYPE http, BEARER_TOKEN 'x')`, harmless: true},
	{sql: `SELECT * FROM read_parquet('https://127.0.0.1:1/x.parquet')`, harmless: true},
	{sql: `INSTALL httpfs`, harmless: true},
	{sql: `INSTALL 'OUTSIDE/file.csv'`, harmless: true},
	{sql: `LOAD 'OUTSIDE/file.csv'`, harmless: true},
	{sql: `SET enable_external_access=true`, harmless: true},
	{sql: `RESET enable_external_access`, harmless: true},
	{sql: `SET allowed_directories=['/']`},
	{sql: `RESET allowed_directories`},
	{sql: `SET allowed_paths=['/etc/passwd']`},
	{sql: `SET allowed_configs=['temp_directory']`},
	{sql: `SET lock_configuration=false`},
	{sql: `RESET lock_configuration`},
	{sql: `SET temp_directory='OUTSIDE'`},
	{sql: `SET GLOBAL temp_directory='OUTSIDE'`},
	{sql: `SET extension_directory='OUTSIDE'`},
	{sql: `SET secret_directory='OUTSIDE'`},
	{sql: `SET custom_extension_repository='http://127.0.0.1:1'`},
	{sql: `SET autoinstall_known_extensions=true`},
	{sql: `SET autoload_known_extensions=true`},
	{sql: `SET allow_unsigned_extensions=true`, harmless: true},
	{sql: `SET allow_community_extensions=true`, harmless: true},
	{sql: `SET errors_as_json=false`},
}

// guardStops lists attacks that no setting stops: the delta extension works past
// the sandbox. They must never reach a session.
var guardStops = []string{
	`SELECT write_blob('OUTSIDE/blob', 'x'::BLOB)`,
	`SELECT system.main.write_blob('OUTSIDE/blob', 'x'::BLOB)`,
	`SELECT copy_dir('OUTSIDE', 'OUTSIDE-2')`,
	`SELECT * FROM delta_list_files('OUTSIDE')`,
	`SELECT * FROM delta_scan('OUTSIDE')`,
	`SELECT * FROM delta_domain_metadata('OUTSIDE', 0)`,
	`SELECT get_delta_test_expression()`,
	`ATTACH 'OUTSIDE' AS outside (TYPE delta)`,
	`CHECKPOINT`,
	`CALL enable_logging(storage='file', storage_path='OUTSIDE')`,
	`PRAGMA enable_verification`,
	`SET VARIABLE tenant = 'other'`,
	`SET memory_limit='1TB'`,
	`SET threads=1000`,
	`CREATE SECRET (TYPE s3)`,
	`CREATE TEMP MACRO lower(x) AS 'a'`,
	`SELECT * FROM duckdb_secrets()`,
	`LOAD json`,
}

// Attacks returns every statement of the sandbox's self-test, those that Probe
// runs on a session and those that only the first wall can stop. They are for
// that wall: it must refuse all of them. outside is a directory that no session
// may see.
func Attacks(outside string) []string {
	var out []string
	for _, a := range settingsStop {
		out = append(out, at(a.sql, outside, outside))
	}
	for _, sql := range guardStops {
		out = append(out, at(sql, outside, outside))
	}
	return out
}

func at(sql, root, outside string) string {
	return strings.NewReplacer("ROOT", root, "OUTSIDE", outside).Replace(sql)
}
