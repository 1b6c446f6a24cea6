package query

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// Generated is a statement of the server over tables that were opened for a caller. It
// runs in the caller's session, and the guard checks it like a statement of the caller,
// but the caller needs no right to run statements.
type Generated struct {
	// Purpose names the statement in the audit log.
	Purpose string
	SQL     string
	Args    engine.Args
	// Tables are the tables that the statement reads, by the names that it has for them,
	// with the rows and columns that the caller sees.
	Tables map[string]access.Table
	// Rows are generated rows that the statement reads, by name.
	Rows map[string]*sqlguard.InlineRows
}

// RunGenerated runs a statement of the server for the caller and passes each row of the
// result to read. It ends when the caller loses the right to one of the tables. Errors:
// those of [Service.Run].
func (o *Service) RunGenerated(ctx context.Context, a caller.Identity, g Generated, read func(engine.Row) error) error {
	tables := make([]access.Table, 0, len(g.Tables))
	for _, t := range g.Tables {
		tables = append(tables, t)
	}
	return o.runGenerated(ctx, a, g, access.BasisOf(tables...), func(name string) (sqlguard.Relation, error) {
		if rows, ok := g.Rows[name]; ok {
			return sqlguard.Relation{Columns: rows.Columns(), Inline: rows}, nil
		}
		t, ok := g.Tables[name]
		if !ok {
			return sqlguard.Relation{}, fmt.Errorf("generated statement reads %q, which it does not have", name)
		}
		return t.Relation(o.Limits.CopyBytes)
	}, read)
}

// CountRows counts the rows of a table that its subject sees, in the caller's session. It
// ends when the caller loses the right to the table.
func (o *Service) CountRows(ctx context.Context, t access.Table) (int64, error) {
	var counts []int64
	g := Generated{Purpose: "simulation", SQL: "SELECT count(*) FROM simulated"}
	err := o.runGenerated(ctx, t.Caller(), g, access.BasisOf(t),
		func(string) (sqlguard.Relation, error) { return t.RowsRelation(), nil },
		func(r engine.Row) error { counts = append(counts, r.Int64(0)); return nil })
	if err == nil && len(counts) != 1 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

func (o *Service) runGenerated(
	ctx context.Context, a caller.Identity, g Generated, basis access.Basis,
	relation func(name string) (sqlguard.Relation, error), read func(engine.Row) error,
) error {
	run := &Rows{ID: g.Purpose, audit: o.Audit, actor: a, sql: g.SQL, started: time.Now(), basis: basis}
	ctx = o.watch(ctx, a, run)
	defer run.work.Done()
	run.work.SetCheck(o.Tables.CheckBasis(a, basis))
	for _, t := range basis.Tables() {
		run.reads(t)
	}
	err := o.executeGenerated(ctx, a, g, relation, run)
	if err == nil {
		_, err = engine.Collect(ctx, run, func(r engine.Row) (struct{}, error) { return struct{}{}, read(r) })
	}
	if err != nil {
		return revocation.EndedBy(ctx, err)
	}
	return nil
}

func (o *Service) executeGenerated(
	ctx context.Context, a caller.Identity, g Generated, relation func(name string) (sqlguard.Relation, error), run *Rows,
) error {
	v, err := memo.NewEpochView(ctx, o.Store)
	if err != nil {
		return err
	}
	roots, err := o.rootsFor(ctx, a, v, run.basis)
	if err != nil {
		return err
	}
	opts := o.guardOptions(a, "")
	statement, err := o.Plans.parse(ctx, g.SQL, opts)
	if err != nil {
		return err
	}
	refs := statement.Tables()
	relations := make([]sqlguard.Relation, len(refs))
	for i, ref := range refs {
		if relations[i], err = relation(ref.Name); err != nil {
			return err
		}
		relations[i].NoPushdown = relations[i].NoPushdown || roots.NoPushdown
	}
	plan, inPlace, err := o.Plans.bind(ctx, statement, Statement{SQL: g.SQL, Args: g.Args}, opts, relations, o.Limits.CopyBytes)
	if err != nil {
		return err
	}
	copies := func() (*sqlguard.Plan, error) { return o.Plans.copies(ctx, statement, relations, g.Args) }
	p := &prepared{statement: statement, plan: plan, inPlace: inPlace, copies: copies, args: g.Args, parser: o.Plans.parser}
	return o.execute(ctx, roots.SessionKey(a), p, o.Limits.DefaultTimeout, run)
}
