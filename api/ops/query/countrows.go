package query

import (
	"context"
	"io"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// CountRows counts the rows of a table that its subject sees, in the caller's session. It
// ends when the caller loses the right to the table.
func (o *Service) CountRows(ctx context.Context, t access.Table) (int64, error) {
	const sql = "SELECT count(*) FROM simulated"
	a := t.Caller()
	run := &Rows{ID: "simulation", audit: o.Audit, actor: a, sql: sql, started: time.Now(), basis: access.BasisOf(t)}
	ctx = o.watch(ctx, a, run)
	defer run.work.Done()
	run.work.SetCheck(o.Tables.CheckBasis(a, run.basis))
	n, err := o.count(ctx, a, t.RowsRelation(), run)
	if err != nil {
		return 0, revocation.EndedBy(ctx, err)
	}
	return n, nil
}

func (o *Service) count(ctx context.Context, a caller.Identity, r sqlguard.Relation, run *Rows) (int64, error) {
	statement, err := sqlguard.Parse(ctx, o.Plans.parser, run.sql, sqlguard.Options{})
	if err != nil {
		return 0, err
	}
	plan, err := statement.Bind(ctx, o.Plans.parser, []sqlguard.Relation{r})
	if err != nil {
		return 0, err
	}
	v, err := memo.NewEpochView(ctx, o.Store)
	if err != nil {
		return 0, err
	}
	roots, err := o.Tables.VisibleRoots(ctx, a, v)
	if err != nil {
		return 0, err
	}
	p := &prepared{statement: statement, plan: plan, parser: o.Plans.parser}
	if err := o.execute(ctx, roots.SessionKey(a), p, o.Limits.DefaultTimeout, run); err != nil {
		return 0, err
	}
	counts, err := engine.Collect(ctx, run, func(r engine.Row) (int64, error) { return r.Int64(0), nil })
	if err == nil && len(counts) != 1 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}
