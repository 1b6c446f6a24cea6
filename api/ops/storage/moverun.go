package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/storage/move"
)

// Bounds of the leases of moves. A replica gives a move up when it could not renew its lease for
// moveGrace, and takes over those of others after moveLost.
const (
	moveBeat  = 5 * time.Second
	moveGrace = 30 * time.Second
	moveLost  = time.Minute
)

// errMoveLost is the cause of the end of a move that another replica may continue.
var errMoveLost = errors.New("lease of a move lost")

// SourceChangedError is returned if another engine wrote to the source: 409.
type SourceChangedError struct {
	// Tables are the paths of the tables, or of other folders.
	Tables []string
	// Switched reports that the tables are at the destination, and that the objects that were
	// written late remain at the source.
	Switched bool
}

// Error implements error.
func (e *SourceChangedError) Error() string {
	return fmt.Sprintf("source of a move has changed: %q", e.Tables)
}

// ProblemCode names the line in the table of errors.
func (e *SourceChangedError) ProblemCode() string { return "source_changed" }

// FieldProblems yields the tables.
func (e *SourceChangedError) FieldProblems() iter.Seq2[string, string] {
	where := "changed during the move and is still at the source"
	if e.Switched {
		where = "is at the destination; what was written late remains at the source"
	}
	return func(yield func(string, string) bool) {
		for i, table := range e.Tables {
			if !yield(fmt.Sprintf("tables[%d]", i), fmt.Sprintf("%q %s", table, where)) {
				return
			}
		}
	}
}

// changed returns the error for objects that another engine wrote, or err.
func changed(err error, m catalog.Move) error {
	var late *move.ChangedError
	if !errors.As(err, &late) {
		return err
	}
	out, seen := &SourceChangedError{Switched: m.Epoch != 0}, map[string]bool{}
	for _, name := range late.Names {
		table, ok := move.Table(name)
		if !ok {
			table = name
		}
		if m.Source.Path != "" {
			table = m.Source.Path + "/" + table
		}
		if !seen[table] {
			seen[table] = true
			out.Tables = append(out.Tables, table)
		}
	}
	return out
}

// moveRun says how a move is run.
type moveRun struct {
	// fresh is set for a move that has just begun in a request.
	fresh bool
	// permit judges the rights of the caller before the switch, or for a move that is taken over
	// those of its author.
	permit   func(context.Context) error
	progress func(move.Count)
	// switched, if not nil, is called after the switch, from which on the move goes on to its end.
	switched func()
}

// lost reports whether ctx has ended because the process ends. Otherwise the move was cancelled.
func (how moveRun) lost(ctx context.Context) bool {
	return ctx.Err() != nil && (!how.fresh || errors.Is(context.Cause(ctx), operation.ErrLost))
}

// run works on a move until it has ended, or until it is left to be taken over: because the
// process ends, or because a store does not answer after the switch. The end of ctx makes a
// move fail before its switch, and is ignored afterwards.
func (o *Moves) run(ctx context.Context, m catalog.Move, how moveRun) (_ catalog.Move, err error) {
	held, stop := o.hold(ctx, m, how)
	defer stop()
	defer func() {
		if m.State.Ended() {
			o.finished(held, m)
			return
		}
		releasing, done := caller.CleanupContext(held)
		defer done()
		_ = o.Store.ReleaseMove(releasing, m.ID, m.Holder) // otherwise its lease ends
	}()
	ends, err := o.ends(held, m)
	if err != nil {
		return m, err
	}
	job, err := o.job(held, m.Source, m.Target, ends)
	if err != nil {
		return m, err
	}
	job.Progress = how.progress
	var failed error
	for !m.State.Ended() {
		next, reason, err := o.step(ctx, held, job, m, how)
		if err != nil {
			return m, err
		}
		if reason != nil {
			failed = reason
		}
		m = next
	}
	if failed == nil {
		failed = failure(m)
	}
	return m, failed
}

// step brings a move to its next state. reason is why the move fails. After an err the step can
// be repeated.
func (o *Moves) step(
	ctx, held context.Context, job move.Job, m catalog.Move, how moveRun,
) (next catalog.Move, reason, err error) {
	switch m.State {
	case catalog.MoveCopying:
		copied, reason := o.copy(ctx, held, job, m, how)
		if reason == nil && how.permit != nil {
			reason = how.permit(ctx)
		}
		switch {
		case held.Err() != nil:
			return m, nil, context.Cause(held)
		case how.lost(ctx):
			return m, nil, operation.ErrLost
		case reason != nil && ctx.Err() != nil:
			reason = operation.ErrFailed // it was cancelled, whatever has failed for that reason
		}
		if reason == nil {
			next, reason = o.Store.SwitchMove(held, m.ID, m.Holder, catalog.MovedObjects{Objects: copied.Objects, Bytes: copied.Bytes})
			var exists *catalog.ExistsError
			switch {
			case errors.As(reason, &exists):
				reason = ErrNotEmpty
			case errors.Is(reason, catalog.ErrInvalid):
			case reason != nil:
				return next, nil, reason
			default:
				if how.switched != nil {
					how.switched()
				}
				return next, nil, nil
			}
		}
		reason = changed(reason, m)
		next, err = o.Store.DiscardMove(held, m.ID, m.Holder, o.Describe(reason))
		return next, reason, err
	case catalog.MoveSwitched:
		reason := changed(job.Changed(held), catalog.Move{Source: m.Source})
		var late *SourceChangedError
		switch {
		case errors.As(reason, &late):
			next, err = o.Store.DiscardMove(held, m.ID, m.Holder, o.Describe(reason))
			return next, reason, err
		case reason != nil:
			return m, nil, reason
		}
		next, err = o.Store.SettleMove(held, m.ID, m.Holder)
		return next, nil, err
	case catalog.MoveDeleting:
		return o.delete(held, job, m)
	case catalog.MoveDiscarding:
		if err := errors.Join(job.Discard(held), o.deleted(held, m, m.Target)); err != nil {
			return m, nil, err
		}
		next, err = o.Store.EndMove(held, m.ID, m.Holder, nil)
		return next, nil, err
	case catalog.MoveDone, catalog.MoveFailed:
	}
	return m, nil, nil
}

// copy copies the source, and what another engine writes meanwhile, when all writes have ended. It ends
// with ctx or held.
func (o *Moves) copy(ctx, held context.Context, job move.Job, m catalog.Move, how moveRun) (copied move.Count, err error) {
	copying, cancel := context.WithCancelCause(held)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	if err := o.Leases.AwaitMove(copying, m.ID); err != nil {
		return copied, err
	}
	copied, err = job.Copy(copying, !how.fresh)
	if errors.Is(err, move.ErrOccupied) {
		err = ErrNotEmpty
	}
	return copied, err
}

// delete deletes the source when no statement that was planned before the switch is running.
func (o *Moves) delete(held context.Context, job move.Job, m catalog.Move) (next catalog.Move, reason, err error) {
	if err := o.awaitReads(held, m.Epoch); err != nil {
		return m, nil, err
	}
	var problem *catalog.OperationProblem
	_, reason = job.Delete(held)
	if err := o.deleted(held, m, m.Source); err != nil {
		return m, nil, errors.Join(reason, err)
	}
	reason = changed(reason, m)
	var late *SourceChangedError
	switch {
	case errors.As(reason, &late):
		described := o.Describe(reason)
		problem = &described
	case reason != nil:
		return m, nil, reason
	}
	next, err = o.Store.EndMove(held, m.ID, m.Holder, problem)
	return next, reason, err
}

// deleted records that objects of a place were deleted. Their rows are at the other place.
func (o *Moves) deleted(held context.Context, m catalog.Move, place catalog.Place) error {
	return o.Deletions.Record(held, catalog.FileDeletion{Org: m.Org, Place: place})
}

// readsPause is the interval at which the oldest statements of replicas are read.
const readsPause = 100 * time.Millisecond

// awaitReads waits until every replica that is alive runs only statements that were planned at
// an epoch or later, at most as long as a statement may take.
func (o *Moves) awaitReads(ctx context.Context, epoch uint64) error {
	end := time.Now().Add(o.Longest)
	for time.Now().Before(end) {
		if err := o.ReportReads(ctx); err != nil {
			return err
		}
		oldest, err := o.Store.OldestReads(ctx, time.Now().Add(-moveLost))
		if err != nil || oldest >= epoch {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(readsPause):
		}
	}
	return nil
}

// ReportReads tells other replicas how old the statements are that this one runs.
func (o *Moves) ReportReads(ctx context.Context) error {
	ctx = authz.System(ctx, "reads of a replica")
	current, err := o.Store.Epoch(ctx)
	if err != nil {
		return err
	}
	return o.Store.ReportReads(ctx, o.Holder, o.Oldest(current))
}

// ends returns the configurations of a move, for the server itself: its caller's rights are judged
// when it begins and before its switch.
func (o *Moves) ends(system context.Context, m catalog.Move) (ends moveEnds, err error) {
	viewer := catalog.SystemViewer(m.Org)
	if ends.source, err = o.Store.StorageConfig(system, viewer, m.Source.Config); err != nil {
		return ends, err
	}
	ends.target, err = o.Store.StorageConfig(system, viewer, m.Target.Config)
	return ends, err
}

// hold renews the lease of a move. The context that it returns is that of the system, and ends
// when the lease is lost or the process ends.
func (o *Moves) hold(ctx context.Context, m catalog.Move, how moveRun) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(authz.System(context.WithoutCancel(ctx), "move"))
	forget := context.AfterFunc(ctx, func() {
		if how.lost(ctx) {
			cancel(operation.ErrLost)
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(moveBeat)
		defer tick.Stop()
		for alive := time.Now(); ; {
			select {
			case <-held.Done():
				return
			case <-tick.C:
			}
			now := time.Now()
			renewing, release := context.WithTimeout(held, moveBeat)
			err := o.Store.RenewMove(renewing, m.ID, m.Holder)
			release()
			switch {
			case err == nil:
				alive = now
			case errors.Is(err, catalog.ErrNotFound), time.Since(alive) > moveGrace:
				cancel(errMoveLost)
				return
			}
		}
	}()
	return held, func() {
		forget()
		cancel(nil)
		<-done
	}
}

// finished counts a move and has the tables of both configurations discovered.
func (o *Moves) finished(system context.Context, m catalog.Move) {
	o.ended.WithLabelValues(string(m.State)).Inc()
	if m.Epoch != 0 {
		o.bytes.Add(float64(m.Bytes))
	}
	if ends, err := o.ends(system, m); err == nil {
		o.Refresh(ends.target)
		o.Refresh(ends.source)
	}
	o.Logger.Info("move ended", "move", m.ID, "state", m.State, "objects", m.Objects, "bytes", m.Bytes, "tables", m.Tables)
}
