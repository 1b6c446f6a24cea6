package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/sessions"
)

var (
	// ErrFailed is returned for the result of an operation that did not succeed: 409.
	ErrFailed = fault.New("operation_failed", "operation did not succeed")
	// ErrLost is the error of an operation whose replica ended before it. It can be
	// started again.
	ErrLost = fault.New("operation_lost", "operation lost")
	// errOperationCancelled is the cause of a context whose operation was cancelled.
	errOperationCancelled = errors.New("operation cancelled")
)

// Options configures a [Runner].
type Options struct {
	// Name distinguishes this replica from others and from its own earlier processes.
	Name string
	// Running limits the operations that run at the same time on this replica, Live those
	// of one organisation that have not ended, on all replicas. Defaults 16 and 100.
	Running, Live int
	// Keep is how long the record of an ended operation is stored. Default 24 h.
	Keep time.Duration
	// Poll is the interval at which cancellations by other replicas are read. Beat is the
	// interval of heartbeats. Lost is the time without heartbeat after which a replica
	// loses its operations. Defaults 200 ms, 5 s, 30 s.
	Poll, Beat, Lost time.Duration
	// Revocations ends queries, including waiting ones, whose owners lose the right to
	// them. Other work that has started continues.
	Revocations *revocation.Watcher
	// Sessions, if not nil, has the sessions of access tokens.
	Sessions revocation.Sessions
	// Describe returns an error as its owner may see it.
	Describe func(error) catalog.OperationProblem
	// Discard removes what an operation stores outside the catalog. It is idempotent.
	Discard func(context.Context, catalog.Operation) error
	Audit   *caller.Auditor
	Logger  *slog.Logger
}

// Runner runs operations, with turns distributed fairly among organisations. It is safe
// for concurrent use.
//
// Invariants: a task is in tasks from the creation of its record until the record has
// ended or was lost to another replica; waiting holds the tasks that wait for a turn, in
// the order of their arrival; turns holds each organisation of waiting once, the next one
// first.
type Runner struct {
	store    catalog.Store
	system   context.Context
	opts     Options
	stop     context.CancelFunc
	periodic sync.WaitGroup // the goroutine of runPeriodic
	work     sync.WaitGroup // the tasks

	mu sync.Mutex
	// closed reports that new tasks are refused, abandoned that all tasks were ended.
	closed, abandoned bool
	running           int
	tasks             map[catalog.OperationID]*Task
	waiting           map[catalog.OrgID][]*Task
	turns             []catalog.OrgID
}

// Task is an operation under way.
type Task struct {
	// Operation is the record as it was created.
	Operation catalog.Operation

	actor  caller.Identity
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   Func
	// after, if set, is called with the error of the work once the end is recorded.
	after   func(error)
	running *revocation.Work

	mu       sync.Mutex
	progress catalog.Progress
	reported bool // progress is in the catalog
	// final reports that a cancellation is too late; see [Task.TooLateToCancel].
	final bool
}

// Func is the work of an operation. It runs as the principal of ctx, which ends when the
// operation is cancelled.
type Func func(ctx context.Context, task *Task) (Done, error)

// Done is the outcome of successful work.
type Done struct {
	// Result is for the owner, Private for the server. Both are JSON objects, or empty.
	Result, Private json.RawMessage
	// StoredBytes is the size of what [Options.Discard] removes.
	StoredBytes int64
}

// Progress sets the progress of the work. It does not access the catalog.
func (t *Task) Progress(p catalog.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress != p {
		t.progress, t.reported = p, false
	}
}

// TooLateToCancel records that the work has passed the point after which it goes on to its end: a
// cancellation still ends the context of the work, but the operation is recorded as what the work
// returns, not as cancelled.
func (t *Task) TooLateToCancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.final = true
}

// NewRunner starts a runner. Records are written under the context system, which must
// outlive Close.
func NewRunner(system context.Context, store catalog.Store, opts Options) *Runner {
	opts.Running = cmp.Or(opts.Running, 16)
	opts.Live = cmp.Or(opts.Live, 100)
	opts.Keep = cmp.Or(opts.Keep, 24*time.Hour)
	opts.Poll = cmp.Or(opts.Poll, 200*time.Millisecond)
	opts.Beat = cmp.Or(opts.Beat, 5*time.Second)
	opts.Lost = cmp.Or(opts.Lost, 30*time.Second)
	periodic, stop := context.WithCancel(system)
	r := &Runner{
		store: store, system: system, opts: opts, stop: stop,
		tasks: map[catalog.OperationID]*Task{}, waiting: map[catalog.OrgID][]*Task{},
	}
	r.periodic.Go(func() { r.runPeriodic(periodic) })
	return r
}

// Start queues work as an operation of the caller.
func (r *Runner) Start(ctx context.Context, a caller.Identity, kind catalog.OperationKind, work Func) (catalog.Operation, error) {
	return r.start(ctx, a, kind, work, nil)
}

func (r *Runner) start(
	ctx context.Context, a caller.Identity, kind catalog.OperationKind, work Func, after func(error),
) (catalog.Operation, error) {
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &Task{actor: a, ctx: detached, cancel: cancel, work: work, after: after}
	if err := r.admit(ctx, t, kind, false); err != nil {
		cancel(err)
		return catalog.Operation{}, err
	}
	if kind == catalog.OperationQuery {
		t.running = r.opts.Revocations.Register(a, cancel)
		context.AfterFunc(detached, func() { r.endWaiting(t) })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting[a.Org]) == 0 {
		r.turns = append(r.turns, a.Org)
	}
	r.waiting[a.Org] = append(r.waiting[a.Org], t)
	r.dispatch()
	return t.Operation, nil
}

// Reserve reserves room for the result of a running operation, within the limit of its
// organisation. It returns false if there is not enough room.
func (r *Runner) Reserve(ctx context.Context, id catalog.OperationID, bytes, orgBytes int64) (bool, error) {
	return r.store.ReserveOperation(authz.System(ctx, "operations"), r.opts.Name, id, bytes, orgBytes)
}

// endWaiting ends a task whose context has ended while it waits for its turn.
func (r *Runner) endWaiting(t *Task) {
	if r.unqueue(t) {
		r.end(t, Done{}, context.Cause(t.ctx))
	}
}

// admit creates the record of a task and adds the task.
func (r *Runner) admit(ctx context.Context, t *Task, kind catalog.OperationKind, running bool) error {
	system := authz.System(ctx, "operations")
	usage, err := r.store.OperationUsage(system, t.actor.Org)
	if err != nil {
		return err
	}
	if usage.Live >= int64(r.opts.Live) {
		return &sessions.BusyError{Scope: "organisation", RetryAfter: 5 * time.Second}
	}
	// Close waits for tasks, so none may be added after it.
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.work.Add(1)
	}
	r.mu.Unlock()
	if closed {
		return sessions.ErrClosed
	}
	n := catalog.NewOperation{Org: t.actor.Org, User: t.actor.User, Kind: kind, Runner: r.opts.Name, Running: running}
	if t.actor.KeyID != nil {
		n.Key = catalog.KeyID(t.actor.KeyID.String())
	}
	if t.Operation, err = r.store.CreateOperation(system, n); err != nil {
		r.work.Done()
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[t.Operation.ID] = t
	if r.abandoned {
		t.cancel(ErrLost)
	}
	return nil
}

// dispatch starts waiting tasks while there are free turns. The caller holds mu.
func (r *Runner) dispatch() {
	for r.running < r.opts.Running && len(r.turns) > 0 {
		org := r.turns[0]
		t := r.waiting[org][0]
		r.turns, r.waiting[org] = r.turns[1:], r.waiting[org][1:]
		if len(r.waiting[org]) > 0 {
			r.turns = append(r.turns, org)
		} else {
			delete(r.waiting, org)
		}
		r.running++
		go func() {
			done, err := r.begin(t)
			r.end(t, done, err)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.running--
			r.dispatch()
		}()
	}
}

// begin runs a task whose turn has come.
func (r *Runner) begin(t *Task) (Done, error) {
	if t.ctx.Err() != nil { // ended while the task waited
		return Done{}, context.Cause(t.ctx)
	}
	a, err := r.renewed(t.ctx, t.actor)
	if err != nil {
		return Done{}, err
	}
	if err := r.store.StartOperation(r.system, r.opts.Name, t.Operation.ID); err != nil {
		return Done{}, err
	}
	var done Done
	err = recovered(func() (err error) {
		done, err = t.work(auth.WithPrincipal(t.ctx, a.Principal), t)
		return err
	})
	return done, err
}

// recovered calls do and returns a panic as an error, which ends the task but not the
// server.
func recovered(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}

// renewed returns the caller with its current rights. A task may have waited long, and
// must not use rights that were revoked meanwhile.
func (r *Runner) renewed(ctx context.Context, a caller.Identity) (caller.Identity, error) {
	system := authz.System(ctx, "credential of an operation")
	member, err := r.store.Membership(system, a.Org, a.User)
	if errors.Is(err, catalog.ErrNotFound) {
		return a, auth.ErrNoMember
	}
	if err != nil {
		return a, err
	}
	if a.KeyID != nil {
		key, err := r.store.APIKey(system, a.Org, catalog.KeyID(a.KeyID.String()))
		switch {
		case err != nil:
			return a, err
		case key.Revoked():
			return a, auth.ErrRevoked
		case !key.Usable(time.Now()):
			return a, auth.ErrExpired
		}
	}
	if a.SessionID != uuid.Nil && r.opts.Sessions != nil {
		live, err := r.opts.Sessions.Live(ctx, a.SessionID)
		switch {
		case err != nil:
			return a, err
		case !time.Now().Before(live.Until):
			return a, auth.ErrRevoked
		}
	}
	a.Role = auth.Role(member.Role)
	a.Scopes = a.Granted.Intersect(a.Role.Scopes())
	return a, nil
}

// Cancel stops a task of this replica at once. Other replicas read cancellations from the
// catalog.
func (r *Runner) Cancel(id catalog.OperationID) {
	r.mu.Lock()
	t := r.tasks[id]
	r.mu.Unlock()
	if t != nil {
		r.cancelTask(t)
	}
}

// cancelTask ends a task's context, and removes a waiting task from the queue.
func (r *Runner) cancelTask(t *Task) {
	t.cancel(errOperationCancelled)
	if r.unqueue(t) {
		go r.end(t, Done{}, errOperationCancelled)
	}
}

func (r *Runner) unqueue(t *Task) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	org := t.actor.Org
	i := slices.Index(r.waiting[org], t)
	if i < 0 {
		return false
	}
	r.waiting[org] = slices.Delete(r.waiting[org], i, i+1)
	if len(r.waiting[org]) == 0 {
		delete(r.waiting, org)
		r.turns = slices.DeleteFunc(r.turns, func(o catalog.OrgID) bool { return o == org })
	}
	return true
}

// Close refuses new tasks, waits for running tasks until ctx ends, then stops them and
// records them as lost. It must be called once.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() { r.work.Wait(); close(ended) }()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		r.abandon()
		<-ended
	}
	r.stop()
	r.periodic.Wait()
	return err
}

func (r *Runner) all() []*Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.tasks))
}

// abandon ends every task.
func (r *Runner) abandon() {
	r.mu.Lock()
	r.abandoned = true
	r.mu.Unlock()
	for _, t := range r.all() {
		t.cancel(ErrLost)
		if r.unqueue(t) {
			go r.end(t, Done{}, ErrLost)
		}
	}
}
