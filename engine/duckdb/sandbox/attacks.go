package sandbox

import (
	"slices"
	"strings"
)

// attack is a statement that must not get through to what lies outside a
// session's roots. Its SQL names files below OUTSIDE, and the server HOST.
type attack struct {
	sql string
	// harmless marks a statement that also fails on an open instance, because it needs a
	// network or a second extension.
	harmless bool
}

// settingsStop lists the attacks that a session's locked settings must stop by themselves.
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

// remoteStop lists the attacks on a session that reads s3://probe/root/ which
// its locked settings must stop, before a request leaves for anywhere.
var remoteStop = []attack{
	{sql: `SELECT * FROM read_text('s3://probe/outside/x')`},
	{sql: `SELECT * FROM read_blob('s3://probe/outside/x')`},
	{sql: `SELECT * FROM read_csv('s3://probe/outside/x')`},
	{sql: `SELECT * FROM 's3://probe/outside/x.csv'`},
	{sql: `SELECT * FROM read_parquet('s3://probe/outside/x.parquet')`, harmless: true},
	{sql: `SELECT * FROM read_text('s3://probe/root2/x')`},
	{sql: `SELECT * FROM read_text('s3://probe-2/root/x')`},
	{sql: `SELECT * FROM read_text('s3://elsewhere/x')`},
	{sql: `SELECT * FROM read_text('s3a://probe/root/x')`},
	{sql: `SELECT * FROM read_text('s3n://probe/root/x')`},
	{sql: `SELECT * FROM read_text('gs://probe/root/x')`, harmless: true},
	{sql: `SELECT * FROM read_text('r2://probe/root/x')`, harmless: true},
	{sql: `SELECT * FROM read_text('hf://datasets/a/b/x')`, harmless: true},
	{sql: `SELECT * FROM read_text('http://HOST/probe/root/x')`},
	{sql: `SELECT * FROM read_csv('http://HOST/probe/outside/x')`},
	{sql: `COPY (SELECT 1) TO 's3://probe/outside/x.csv'`},
	{sql: `COPY (SELECT 1) TO 'http://HOST/x.csv'`, harmless: true},
	{sql: `EXPORT DATABASE 's3://probe/outside'`},
	{sql: `ATTACH 's3://probe/outside/x.db' AS outside`, harmless: true},
	{sql: `SELECT * FROM duckdb_secrets(redact=false)`, harmless: true},
	{sql: `SET s3_url_compatibility_mode=false`},
	{sql: `SET s3_endpoint='HOST'`},
	{sql: `SET s3_access_key_id='x'`},
	{sql: `SET http_proxy='HOST'`},
	{sql: `SET httpfs_client_implementation='httplib'`},
	{sql: `SET validate_external_file_cache='VALIDATE_ALL'`},
}

// guardStops lists attacks that no setting stops, because the delta extension works past the
// sandbox. They must never reach a session.
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
	// The client takes .. out of names after they were checked, and the locked
	// settings allow what changes the session's own prefixes: the endpoint
	// refuses both.
	`SELECT * FROM read_text('s3://probe/root/../outside/x')`,
	`COPY (SELECT 1) TO 's3://probe/root/x.csv'`,
	`SELECT * FROM delta_scan('s3://probe/outside')`,
	`SELECT * FROM delta_list_files('s3://elsewhere/x')`,
	`SELECT * FROM delta_scan('s3a://elsewhere/x')`,
	`SELECT * FROM delta_scan('https://HOST/x')`,
	`ATTACH 's3://elsewhere/x' AS outside (TYPE delta)`,
	`SELECT * FROM which_secret('s3://probe/root/x', 's3')`,
	`CREATE SECRET (TYPE s3, ENDPOINT 'HOST', SCOPE 's3://probe/root/')`,
	`DROP SECRET session`,
}

// Attacks returns every statement of the self-test, those that Probe runs on a session and
// those that only the guard of user SQL can stop. That guard must refuse all of them. outside
// is a directory that no session may read.
func Attacks(outside string) []string {
	var out []string
	const nobody = "127.0.0.1:1"
	for _, a := range slices.Concat(settingsStop, remoteStop) {
		out = append(out, at(a.sql, outside, outside, nobody))
	}
	for _, sql := range guardStops {
		out = append(out, at(sql, outside, outside, nobody))
	}
	return out
}

func at(sql, root, outside, endpoint string) string {
	return strings.NewReplacer("ROOT", root, "OUTSIDE", outside, "HOST", endpoint).Replace(sql)
}
