package sqlguard

import (
	"context"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// Locate turns a byte offset in the SQL of a plan of q into the place in the text
// of q that it was printed from. It returns the zero Position for a place that
// nothing of the text stands behind, and where the SQL is of another statement.
func (q *Query) Locate(ctx context.Context, parser engine.Parser, sql string, off int) refusal.Position {
	return refusal.PositionIn(q.text, printer.Source(ctx, parser, q.statement(), sql, off))
}
