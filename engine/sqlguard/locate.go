package sqlguard

import (
	"context"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// Locate returns the place in the text of q from which a byte offset in the SQL of a plan
// of q was printed. It returns the zero Position for generated parts, and if the SQL is
// another statement.
func (q *Query) Locate(ctx context.Context, parser engine.Parser, sql string, off int) refusal.Position {
	return refusal.PositionIn(q.text, printer.Source(ctx, parser, q.statement(), sql, off))
}
