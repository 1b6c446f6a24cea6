package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/sessions"
)

// prepared is a statement that may run.
type prepared struct {
	statement *sqlguard.Query
	plan      *sqlguard.Plan
	// inPlace, if not nil, plans the same without a copy.
	inPlace func() *sqlguard.Plan
	// copies plans the same over copies of the visible rows; nil if nothing may run again.
	copies func() (*sqlguard.Plan, error)
	// defect reports that the plan failed by a defect of the engine, and now is one over copies.
	defect bool
	args   engine.Args
	// The fields below serve the messages of failures.
	parser engine.Parser
	names  visibleNames
	pieces pieces
	// historical reports that a table is read at another version than its newest.
	historical bool
	// diagnose allows [engine.Lease.Diagnose].
	diagnose bool
}

// execute starts the plan in a session. It starts it again without the copy if memory
// does not suffice, or in another process if the first one was lost.
func (o *Service) execute(ctx context.Context, key sessions.Key, p *prepared, timeout time.Duration, run *Rows) error {
	p.diagnose = run.basis.Whole()
	held, result, err := o.launch(ctx, key, p, timeout)
	if p.inPlace != nil && errors.Is(err, engine.ErrOutOfMemory) {
		// The copy did not fit into memory. The caller must not learn that: whether a copy is
		// made depends on hidden rows.
		p.plan, p.inPlace = p.inPlace(), nil
		held, result, err = o.launch(ctx, key, p, timeout)
	}
	apart := func() (*sessions.Held, engine.Result, error) { return o.launchApart(ctx, key, p, timeout) }
	if p.again(err) {
		held, result, err = apart()
	} else {
		run.again = &restart{wanted: p.again, launch: apart, rebatched: func() bool { return p.plan.Rebatch }}
	}
	explain := func(err error) error {
		return p.translate(ctx, o.Tables.RefuseRun(ctx, run.basis, timedOut(ctx, err)))
	}
	if err != nil {
		return explain(err)
	}
	if p.plan.Rebatch {
		result = engine.Rebatch(result)
	}
	run.Result, run.held, run.ctx = result, held, ctx
	run.metrics = o.Metrics
	run.explain = explain
	run.Queued = held.Queued
	return nil
}

// again reports whether a statement without any answer yet is started again. It is if its
// process ended while others ran in it, or was killed from outside: most likely the
// statement was not the cause. A statement that was alone in a crashed process is started
// again only without its copy, because a failed copy must not be the answer, or if the
// engine reads the log of a remote table, where it can crash by itself. again removes the
// copy from p. After a defect of the engine the statement runs once more, over copies of the
// visible rows, so that hidden rows do not decide which error the caller gets.
func (p *prepared) again(err error) bool {
	if isDefect(err) && !p.defect && p.copies != nil {
		plan, planErr := p.copies()
		if planErr != nil {
			return false
		}
		p.plan, p.inPlace, p.defect = plan, nil, true
		return true
	}
	crashed := errors.Is(err, engine.ErrCrashed)
	if p.inPlace != nil && (crashed || errors.Is(err, engine.ErrLost)) {
		p.plan, p.inPlace = p.inPlace(), nil
		return true
	}
	if crashed {
		return p.readsRemoteLog()
	}
	return errors.Is(err, engine.ErrLost)
}

// isDefect reports whether the engine failed by a defect of its own, without losing its process.
func isDefect(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) &&
		(e.Kind == engine.KindFatal && e.Class == engine.ClassDefect || e.Kind == engine.KindInternal && e.Class == "engine")
}

func (p *prepared) readsRemoteLog() bool {
	return slices.ContainsFunc(p.plan.Sources, gateway.ReadsRemoteLog) ||
		slices.ContainsFunc(p.plan.Barriers, func(b engine.Barrier) bool { return gateway.ReadsRemoteLog(b.Source) })
}

// launch takes a session and starts the plan in it, once.
func (o *Service) launch(ctx context.Context, key sessions.Key, p *prepared, timeout time.Duration) (*sessions.Held, engine.Result, error) {
	return o.launchIn(ctx, p, timeout, func() (*sessions.Held, error) { return o.Pool.Acquire(ctx, key) })
}

// launchApart is launch in a process of its own, so that a statement that may have ended its
// process ends no other statement.
func (o *Service) launchApart(
	ctx context.Context, key sessions.Key, p *prepared, timeout time.Duration,
) (*sessions.Held, engine.Result, error) {
	return o.launchIn(ctx, p, timeout, func() (*sessions.Held, error) { return o.Pool.OpenApart(ctx, key) })
}

func (o *Service) launchIn(
	ctx context.Context, p *prepared, timeout time.Duration, acquire func() (*sessions.Held, error),
) (*sessions.Held, engine.Result, error) {
	lap := o.Metrics.start()
	held, err := acquire()
	if err != nil {
		return nil, nil, err
	}
	lap.done(phaseQueue)
	lease := held.Lease
	lease.Timeout, lease.Diagnose = timeout, p.diagnose
	result, err := held.Query(ctx, engine.Statement{
		SQL: p.plan.SQL, Args: p.args, Sources: p.plan.Sources, Barriers: p.plan.Barriers, Lease: lease,
		Analyze: p.statement.Analyzes(),
	})
	if err != nil {
		held.Release()
		return nil, nil, err
	}
	lap.done(phaseStart)
	return held, result, nil
}
