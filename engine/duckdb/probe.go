package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/engine"
)

// ErrSandbox is returned by Probe when an attack on the engine's sandbox got
// through. The server must not serve. Not retried.
var ErrSandbox = errors.New("engine sandbox does not hold")

// breakouts are statements that the locked settings of a session must stop by
// themselves, whatever the first wall does. %[1]s is a file outside the roots.
var breakouts = []string{
	`SELECT * FROM read_text('%[1]s')`,
	`SELECT * FROM read_blob('%[1]s')`,
	`SELECT * FROM read_csv('%[1]s')`,
	`SELECT * FROM '%[1]s.parquet'`,
	`SELECT * FROM glob('%[1]s*')`,
	`COPY (SELECT 1) TO '%[1]s.out'`,
	`ATTACH '%[1]s.db' AS outside`,
	`SELECT * FROM read_parquet('https://127.0.0.1:1/x.parquet')`,
	`SET enable_external_access=true`,
	`SET allowed_directories=['/']`,
	`SET lock_configuration=false`,
	`SET temp_directory='/tmp'`,
	`RESET enable_external_access`,
	`SET allow_unsigned_extensions=true`,
	`SET allow_community_extensions=true`,
	`INSTALL httpfs`,
	`LOAD '%[1]s'`,
	`EXPORT DATABASE '%[1]s.export'`,
}

// Probe opens a session as a caller would get it and attacks it from within.
// It returns ErrSandbox when one of the attacks succeeds.
func (e *Engine) Probe(ctx context.Context) error {
	dir, err := os.MkdirTemp(e.temp, "probe-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	root, outside := filepath.Join(dir, "root"), filepath.Join(dir, "outside")
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(outside, []byte("x\n"), 0o600); err != nil {
		return err
	}
	in, err := openSandbox(e.extensions, []string{root}, filepath.Join(dir, "temp"))
	if err != nil {
		return err
	}
	defer in.close()
	for i, attack := range breakouts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if in.exec(fmt.Sprintf(attack, outside)) == nil {
			return fmt.Errorf("%w: attack %d", ErrSandbox, i)
		}
	}
	// A session in which nothing works would pass the above.
	if err := in.exec("SELECT 1; COPY (SELECT 1) TO " + engine.QuoteString(filepath.Join(root, "allowed.parquet"))); err != nil {
		return fmt.Errorf("%w: ordinary work is refused: %w", ErrSandbox, err)
	}
	return nil
}
