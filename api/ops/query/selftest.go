package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// ErrSelfTest: the server's attack on itself succeeded, so it must not serve. Not retried.
var ErrSelfTest = fault.New("internal_error", "sandbox self-test failed")

// attacks are statements that the guard must refuse. Each does harm if it reaches an engine
// with the delta extension.
var attacks = []string{
	`SELECT write_blob('/tmp/lakewarden-self-test', 'x'::BLOB)`,
	`SELECT system.main.write_blob('/tmp/lakewarden-self-test', 'x'::BLOB)`,
	`SELECT copy_dir('/tmp', '/tmp/lakewarden-self-test')`,
	`SELECT * FROM delta_list_files('/')`,
	`SELECT * FROM delta_scan('/')`,
	`SELECT * FROM read_text('/etc/passwd')`,
	`SELECT * FROM '/etc/passwd'`,
	`SELECT * FROM glob('/*')`,
	`SELECT * FROM read_parquet('https://127.0.0.1:1/x')`,
	`SELECT * FROM query('SELECT 1')`,
	`SELECT * FROM json_execute_serialized_sql('{}')`,
	`SELECT json_serialize_plan('SELECT 1')`,
	`SELECT * FROM duckdb_secrets()`,
	`SELECT * FROM duckdb_settings()`,
	`SELECT current_setting('temp_directory')`,
	`ATTACH '/tmp/x' AS x (TYPE delta)`,
	`CHECKPOINT`,
	`COPY (SELECT 1) TO '/tmp/lakewarden-self-test'`,
	`SET memory_limit='1TB'`,
	`LOAD httpfs`,
	`INSTALL httpfs`,
	`CREATE SECRET (TYPE s3)`,
	`PRAGMA enable_verification`,
	`CALL enable_logging()`,
	`SELECT 1; SELECT 2`,
}

// SelfTest passes every attack to the guard. An attack is stopped if the guard refuses it, or
// if it only names tables, which resolve through the catalog or not at all.
func SelfTest(ctx context.Context, parser engine.Parser) error {
	for i, sql := range attacks {
		statement, err := sqlguard.Parse(ctx, parser, sql, sqlguard.Options{})
		var refusal *refusal.Error
		switch {
		case errors.As(err, &refusal):
		case err != nil:
			return fmt.Errorf("self-test %d: %w", i, err)
		case len(statement.Tables()) == 0:
			return fmt.Errorf("%w: attack %d was let through", ErrSelfTest, i)
		}
	}
	// A parser that refuses everything would pass the above.
	if _, err := sqlguard.Parse(ctx, parser, "SELECT 1 AS one", sqlguard.Options{}); err != nil {
		return fmt.Errorf("%w: a plain statement was refused: %w", ErrSelfTest, err)
	}
	return nil
}
