package app

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

// probeSandbox attacks both walls before the server opens: the guard with
// statements, the engine's own sandbox with settings and files.
func probeSandbox(ctx context.Context, eng *duckdb.Engine, parser *duckdb.Parser) error {
	if err := query.SelfTest(ctx, parser); err != nil {
		return err
	}
	return eng.Probe(ctx)
}
