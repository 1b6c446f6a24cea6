package query

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/sessions"
)

// Service runs statements of callers. Callers' SQL reaches the engine only
// through it.
type Service struct {
	Store   catalog.Store
	Tables  access.Tables
	Plans   *Plans
	Pool    *sessions.Pool
	Audit   *caller.Auditor
	Metrics *Metrics
	Limits  Limits
	// EngineVersion is the build of the engine that runs the statements: see
	// sqlguard.Options.
	EngineVersion string
	// Confirmed returns nil if this replica knows the state of the catalog as of the last
	// seconds.
	Confirmed func() error
	// Revocations ends statements whose callers lose the right to them.
	Revocations *revocation.Watcher
}

// Limits bounds statements.
type Limits struct {
	DefaultTimeout, MaxTimeout time.Duration
	// CopyBytes bounds the size of a table's relevant files: those that the row filter
	// needs and that may hold hidden rows. Up to this size a copy of the visible rows
	// fits the memory of a statement. In a larger table, conditions of statements exclude
	// files by bounds of hidden rows, unless the organisation always wants copies. They
	// never exclude row groups by them.
	CopyBytes int64
	Guard     grammar.Limits
}

// Statement is one statement of a caller.
type Statement struct {
	SQL  string
	Args engine.Args
	// Schema resolves table names without a schema; empty means the only
	// visible one.
	Schema string
	// Timeout is capped; zero means the default.
	Timeout time.Duration
	// MaxStaleness bounds the age of the snapshots of remote tables; nil means one second,
	// and so does more if policies apply. Local tables are always refreshed.
	MaxStaleness *time.Duration

	// pieces are the texts of the caller in SQL; without any, the caller wrote all of it.
	pieces pieces
}

// Run starts a statement. The caller closes the result. Errors:
// *[fault.StatementError], *refusal.Error, *refusal.Placed, the sentinels of this package, and those
// of sessions, delta and the catalog.
func (o *Service) Run(ctx context.Context, q Statement) (*Rows, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.Require(auth.ScopeTablesQuery); err != nil {
		return nil, err
	}
	run := &Rows{ID: uuid.NewString(), audit: o.Audit, actor: a, sql: q.SQL, started: time.Now()}
	if err := o.start(ctx, a, q, run); err != nil {
		err = q.pieces.blame(err)
		run.failed(err)
		return nil, err
	}
	return run, nil
}

func (o *Service) start(ctx context.Context, a caller.Identity, q Statement, run *Rows) error {
	if err := o.Confirmed(); err != nil {
		return err
	}
	// A statement that would be refused for lack of room must cause no work.
	if err := o.Pool.Room(string(a.Org), string(a.User)); err != nil {
		return err
	}
	timeout, err := o.timeout(q.Timeout)
	if err != nil {
		return err
	}
	// The deadline counts from the arrival of the statement. It does not end the delivery of
	// rows that were read in time.
	ctx, run.stop = context.WithCancelCause(o.watch(ctx, a, run))
	run.alive = ctx
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, engine.ErrTimeout)
	run.cancel = cancel
	running := false
	defer func() { // also after a panic: the work would be checked for ever
		if !running {
			cancel()
			run.stop(nil)
			run.work.Done()
		}
	}()
	if err := o.prepare(ctx, a, q, timeout, run); err != nil {
		return timedOut(ctx, err)
	}
	running = true
	return nil
}

// prepare parses, resolves and plans a statement, and starts it.
func (o *Service) prepare(ctx context.Context, a caller.Identity, q Statement, timeout time.Duration, run *Rows) error {
	m, err := memo.NewEpochView(ctx, o.Store)
	if err != nil {
		return err
	}
	roots, err := o.Tables.VisibleRoots(ctx, a, m)
	if err != nil {
		return err
	}
	// The session of a caller without one opens while the statement is planned.
	o.Pool.Prepare(roots.SessionKey(a))
	planned := m.Epoch()
	lap := o.Metrics.start()
	opts := o.guardOptions(a, q.Schema)
	statement, err := o.Plans.parse(ctx, q.SQL, opts)
	if err != nil {
		return err
	}
	lap.done(phaseGuard)
	switch statement.Kind() {
	case sqlguard.KindShowTables, sqlguard.KindShowAllTables:
		return o.showTables(ctx, a, m, statement, q.Schema, run)
	}
	defaultSchema := q.Schema
	if defaultSchema == "" {
		defaultSchema = roots.Schema
	}
	relations, err := o.read(ctx, a, m, statement.Tables(), defaultSchema, q.MaxStaleness, run)
	if err != nil {
		return err
	}
	run.work.SetCheck(o.Tables.CheckBasis(a, run.basis).And(o.Tables.CheckFiles(run.basis)))
	if m.Epoch() != planned { // the roots may have changed as well
		if roots, err = o.rootsFor(ctx, a, m, run.basis); err != nil {
			return err
		}
	}
	for i := range relations {
		relations[i].NoPushdown = relations[i].NoPushdown || roots.NoPushdown
	}
	lap.done(phaseResolve)
	if statement.Analyzes() {
		if err := run.checkAnalyzed(); err != nil {
			return err
		}
	} else if statement.Kind() == sqlguard.KindExplain {
		return o.explain(ctx, statement, relations, run)
	}
	plan, inPlace, err := o.Plans.bind(ctx, statement, q, opts, relations, o.Limits.CopyBytes)
	if err != nil {
		return err
	}
	lap.done(phasePlan)
	copies := func() (*sqlguard.Plan, error) { return o.Plans.copies(ctx, statement, relations, q.Args) }
	p := &prepared{statement: statement, plan: plan, inPlace: inPlace, copies: copies, args: q.Args, parser: o.Plans.parser,
		names: namesOf(statement, relations), pieces: q.pieces, historical: run.basis.Historical()}
	if err := o.execute(ctx, roots.SessionKey(a), p, timeout, run); err != nil || !statement.Analyzes() {
		return err
	}
	// The engine's own text of a measurement must not reach the caller, so the statement is
	// not started again behind newMeasured.
	run.Result, run.again = newMeasured(run.Result), nil
	return nil
}

// rootsFor returns what the caller's statements can read at v, after tables were opened. It
// returns [revocation.ErrQueryCancelled] if the caller has lost one of them meanwhile: the
// session could not read it.
func (o *Service) rootsFor(ctx context.Context, a caller.Identity, v *memo.EpochView, opened access.Basis) (access.VisibleRoots, error) {
	roots, err := o.Tables.VisibleRoots(ctx, a, v)
	if err == nil && !roots.Cover(opened) {
		err = revocation.ErrQueryCancelled
	}
	return roots, err
}

// ShieldBytes returns the size of files with hidden rows up to which no value of the caller excludes
// one of them, outside of statements: [Limits.CopyBytes], or any size if the organisation always wants
// copies.
func (o *Service) ShieldBytes(ctx context.Context, a caller.Identity) (int64, error) {
	v, err := memo.NewEpochView(ctx, o.Store)
	if err != nil {
		return 0, err
	}
	roots, err := o.Tables.VisibleRoots(ctx, a, v)
	if roots.NoPushdown {
		return math.MaxInt64, err
	}
	return o.Limits.CopyBytes, err
}

// guardOptions returns how names resolve in a statement of a caller.
func (o *Service) guardOptions(a caller.Identity, schema string) sqlguard.Options {
	return sqlguard.Options{Limits: o.Limits.Guard, Catalog: catalog.CatalogName, Schema: schema, User: a.Email,
		EngineVersion: o.EngineVersion}
}

// read turns every reference of a statement into what the caller sees of it, and adds the
// tables to the basis of run.
func (o *Service) read(
	ctx context.Context, a caller.Identity, m *memo.EpochView, refs []sqlguard.TableRef, schema string, age *time.Duration, run *Rows,
) ([]sqlguard.Relation, error) {
	out := make([]sqlguard.Relation, len(refs))
	var inLake []sqlguard.TableRef
	var places []int
	for i, ref := range refs {
		if !inInformationSchema(ref) {
			inLake, places = append(inLake, ref), append(places, i)
			continue
		}
		var err error
		if out[i], err = o.information(ctx, a, m, ref); err != nil {
			return nil, err
		}
	}
	if len(inLake) < len(refs) {
		listed, err := o.Tables.ListBasis(ctx, a, m)
		if err != nil {
			return nil, err
		}
		run.basis = run.basis.With(listed)
	}
	tables, err := o.tables(ctx, a, m, inLake, schema, age)
	if err != nil {
		return nil, err
	}
	for i, t := range tables {
		if out[places[i]], err = t.Relation(o.Limits.CopyBytes); err != nil {
			return nil, err
		}
		run.reads(t)
	}
	run.basis = run.basis.With(access.BasisOf(tables...))
	return out, nil
}

func (o *Service) timeout(wanted time.Duration) (time.Duration, error) {
	switch {
	case wanted == 0:
		return o.Limits.DefaultTimeout, nil
	case wanted < time.Millisecond || wanted > o.Limits.MaxTimeout:
		return 0, fault.Invalid("timeout_ms", "must be between 1 and %d", o.Limits.MaxTimeout.Milliseconds())
	}
	return wanted, nil
}

// timedOut distinguishes the statement's own deadline, the end for others who wait, and
// cancellation by [revocation.Watcher] from a client that went away.
func timedOut(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), engine.ErrTimeout) {
		return engine.ErrTimeout
	}
	var busy *sessions.BusyError
	if errors.As(context.Cause(ctx), &busy) { // see Rows.Slow
		return busy
	}
	return revocation.EndedBy(ctx, err)
}

// watch registers the statement, which ends when its caller loses the right to it.
func (o *Service) watch(ctx context.Context, a caller.Identity, run *Rows) context.Context {
	ctx, run.work = o.Revocations.Begin(ctx, a)
	return ctx
}
