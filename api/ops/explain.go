package ops

import (
	"context"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// explain answers EXPLAIN with a plan text of our own, one operator a row. The
// engine is not asked: its plans tell of files, estimates and row filters.
func (o *Queries) explain(ctx context.Context, statement *sqlguard.Query, relations []sqlguard.Relation, run *Rows) error {
	lines, err := statement.Explain(ctx, o.Plans.parser, relations)
	if err != nil {
		return err
	}
	plan := newTextTable("plan")
	for _, line := range lines {
		plan.add(line)
	}
	run.Result, run.ctx = plan.result(), ctx
	return nil
}
