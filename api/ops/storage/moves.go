package storage

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/storage/move"
)

// ErrNotEmpty is returned for a destination with objects or tables: 409.
var ErrNotEmpty = fault.New("destination_not_empty", "destination of a move is not empty")

// MoveOptions is what [NewMoves] needs.
type MoveOptions struct {
	Store      catalog.Store
	Lake       *lake.Lake
	Tables     access.Tables
	Operations operation.Service
	Leases     write.Leases
	Deletions  *deletion.Deletions
	Audit      recorder
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Refresh starts a discovery of a configuration's tables. It does not block.
	Refresh func(catalog.StorageConfig)
	// Oldest returns an epoch before which no statement of this replica that is running has
	// begun; see [revocation.Watcher.Oldest].
	Oldest func(current uint64) uint64
	// Describe returns an error as the caller may see it.
	Describe func(error) catalog.OperationProblem
	// Holder is a name that no other running process has.
	Holder string
	// Longest is the longest time that a statement may take.
	Longest time.Duration
}

// Moves moves objects between storage configurations. A record in the catalog holds the state of
// each move, so that any replica can finish a move whose replica has ended. It is safe for
// concurrent use.
//
// Invariants: an object of the source is deleted after the destination has it, all tables are
// registered there, and no statement that was planned before is running. A move that fails
// before that leaves the source as it was.
type Moves struct {
	MoveOptions
	ended *prometheus.CounterVec
	bytes prometheus.Counter

	work sync.WaitGroup // the moves that Run has taken over
	mu   sync.Mutex
	// running holds the moves on which this process works.
	running map[catalog.MoveID]bool
}

// NewMoves returns moves, with the metrics lakewarden_storage_moves_total{outcome} and
// lakewarden_storage_moved_bytes_total.
func NewMoves(options MoveOptions) *Moves {
	m := &Moves{
		MoveOptions: options, running: map[catalog.MoveID]bool{},
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_storage_moves_total", Help: "Moves of objects between storage configurations that have ended.",
		}, []string{"outcome"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lakewarden_storage_moved_bytes_total", Help: "Bytes of the objects that moves have moved.",
		}),
	}
	for _, outcome := range []string{string(catalog.MoveDone), string(catalog.MoveFailed)} {
		m.ended.WithLabelValues(outcome)
	}
	options.Registerer.MustRegister(m.ended, m.bytes)
	return m
}

// MoveRequest is the input of [Moves.Move].
type MoveRequest struct {
	Source, Target catalog.Place
	// Key is the idempotency key; empty means none.
	Key string
	// DryRun checks everything and moves nothing.
	DryRun bool
}

// Moved is the result of a move.
type Moved struct {
	DryRun         bool
	Objects, Bytes int64
	// Tables is the number of tables that left the source.
	Tables int64
}

// Move moves all objects below a place to another place, and the registrations of the tables there
// with them. It continues when the caller goes away; if it takes longer than patience, the
// operation is returned. A repeated request with the same key gets the result of the first one.
//
// The caller needs storage:write in both configurations and, if the destination is personal or in
// another workspace, storage_configs:share; it must have the right to change every table at the
// source as a whole. Errors: [access.ErrPartlyVisible], [ErrNotEmpty], [catalog.ErrMoveUnderWay], [write.ErrTableBusy],
// [write.ErrKeyReused], [*TablesError], [*SourceChangedError], catalog.FieldErrors.
func (o *Moves) Move(
	ctx context.Context, in MoveRequest, patience time.Duration, result func(Moved) any,
) (none Moved, _ *catalog.Operation, err error) {
	a, err := caller.From(ctx)
	if err != nil {
		return none, nil, err
	}
	n := in.record(a, o.Holder)
	ends, err := o.permitted(ctx, a, n)
	if err != nil {
		return none, nil, err
	}
	earlier, err := o.earlier(ctx, n)
	if err != nil {
		return none, nil, err
	}
	var planned movePlan
	if earlier == nil {
		if planned, err = o.plan(ctx, a, n, ends); err != nil {
			return none, nil, err
		}
	}
	if in.DryRun {
		return Moved{DryRun: true, Objects: planned.all.Objects, Bytes: planned.all.Bytes, Tables: planned.tables}, nil, nil
	}
	return operation.StartAndWait(ctx, o.Operations, a, catalog.OperationMove, patience,
		func(ctx context.Context, t *operation.Task) (Moved, error) {
			done, err := o.begun(ctx, n, moveRun{
				fresh:  true,
				permit: func(ctx context.Context) error { return o.stillPermitted(ctx, a, n) },
				progress: func(c move.Count) {
					t.Progress(catalog.Progress{Done: c.Objects, Total: planned.all.Objects, Unit: "objects"})
				},
				switched: t.TooLateToCancel,
			})
			o.record(a, n, done, err)
			return Moved{Objects: done.Objects, Bytes: done.Bytes, Tables: done.Tables}, err
		}, result)
}

// record returns the record of a move that is to begin.
func (in MoveRequest) record(a caller.Identity, holder string) catalog.NewMove {
	digest := memo.NewDigest()
	digest.Text("move", string(in.Source.Config), in.Source.Path, string(in.Target.Config), in.Target.Path)
	n := catalog.NewMove{
		ID: catalog.NewID[catalog.MoveID](), Org: a.Org, User: a.User, Source: in.Source, Target: in.Target, Holder: holder,
		Fingerprint: hex.EncodeToString(digest.Sum(nil)),
	}
	if in.Key != "" && !in.DryRun {
		key := memo.NewDigest()
		key.Text("move", string(a.Org), string(a.User), in.Key)
		n.Key = hex.EncodeToString(key.Sum(nil))
	}
	return n
}

// earlier returns the move of an earlier request with the same key, or nil if there is none or
// if it has failed before its switch.
func (o *Moves) earlier(ctx context.Context, n catalog.NewMove) (*catalog.Move, error) {
	if n.Key == "" {
		return nil, nil
	}
	found, err := o.Store.MoveByKey(authz.System(ctx, "repeated move"), n.Org, n.Key)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case found.Fingerprint != n.Fingerprint:
		return nil, write.ErrKeyReused
	case found.State == catalog.MoveFailed && found.Epoch == 0:
		return nil, nil
	}
	return &found, nil
}

// begun begins a move and runs it, or waits for the end of an earlier one with its key.
func (o *Moves) begun(ctx context.Context, n catalog.NewMove, how moveRun) (catalog.Move, error) {
	if !o.claim(n.ID) {
		return catalog.Move{}, catalog.ErrMoveUnderWay
	}
	defer o.release(n.ID)
	m, err := o.Store.BeginMove(authz.System(ctx, "move"), n)
	var exists *catalog.ExistsError
	switch {
	case errors.As(err, &exists):
		return m, ErrNotEmpty
	case err != nil:
		return m, err
	case m.Fingerprint != n.Fingerprint:
		return m, write.ErrKeyReused
	case m.ID != n.ID:
		return o.await(ctx, m)
	}
	return o.run(ctx, m, how)
}

// awaitPause is the interval at which the state of a move of another request is read.
const awaitPause = 200 * time.Millisecond

// await waits for the end of a move on which another request or replica works.
func (o *Moves) await(ctx context.Context, m catalog.Move) (catalog.Move, error) {
	for !m.State.Ended() {
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(awaitPause):
		}
		var err error
		if m, err = o.Store.Move(authz.System(ctx, "move"), m.Org, m.ID); err != nil {
			return m, err
		}
	}
	return m, failure(m)
}

// failure returns the error of a move that has failed.
func failure(m catalog.Move) error {
	if m.State != catalog.MoveFailed || m.Problem == nil {
		return nil
	}
	return &recordedError{*m.Problem}
}

// recordedError is the error of a move as it was recorded.
type recordedError struct{ problem catalog.OperationProblem }

// Error implements error.
func (e *recordedError) Error() string { return "move failed: " + e.problem.Code }

// ProblemCode names the line in the table of errors.
func (e *recordedError) ProblemCode() string { return e.problem.Code }

// FieldProblems yields the recorded details.
func (e *recordedError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, d := range e.problem.Details {
			if !yield(d.Field, d.Message) {
				return
			}
		}
	}
}

// claim marks a move as running in this process. It reports false if it already is.
func (o *Moves) claim(id catalog.MoveID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running[id] {
		return false
	}
	o.running[id] = true
	return true
}

func (o *Moves) release(id catalog.MoveID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, id)
}

// record writes an audit entry.
func (o *Moves) record(a caller.Identity, n catalog.NewMove, done catalog.Move, err error) {
	outcome := catalog.OutcomeAllow
	if err != nil {
		outcome = catalog.OutcomeError
	}
	entry := caller.NewEntry(a, "storage.moved", "storage-config/"+string(n.Source.Config), outcome)
	entry.Details, _ = json.Marshal(map[string]string{ // texts: cannot fail
		"source_path": n.Source.Path, "destination_config_id": string(n.Target.Config), "destination_path": n.Target.Path,
		"objects": strconv.FormatInt(done.Objects, 10), "bytes": strconv.FormatInt(done.Bytes, 10),
		"tables": strconv.FormatInt(done.Tables, 10),
	})
	o.Audit.Record(entry)
}
