package ops

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/catalog"
)

// Bounds of [Revocations].
const (
	// revocationTick is how often new work is judged, and expired keys are found.
	revocationTick = 200 * time.Millisecond
	// revocationSilence is how long work goes on that could not be judged.
	revocationSilence = 10 * time.Second
	// judgingTime bounds one round of judging, judges how many run at once.
	judgingTime = 2 * time.Second
	judges      = 4
)

// RevocationOptions tunes [Revocations]; the zero value works.
type RevocationOptions struct {
	// Tick is how often new work is judged; default 200 ms.
	Tick time.Duration
	// Silence is how long work goes on while the catalog cannot be read; default
	// 10 s.
	Silence time.Duration
	Logger  *slog.Logger
}

// Revocations ends running work when its caller loses the right to it: when the
// key is revoked or expires, the member is removed or gets another role or other
// attributes, a table is no longer visible, or other policies apply to it. It is
// safe for concurrent use. A nil *Revocations ends nothing.
//
// Invariants: work is judged by a state of the catalog that is newer than its
// registration and newer than its last call of watched.judgeBy, so that a change
// during the planning is not missed; and it is judged again after the epoch has
// risen. Between hold and release it is not ended.
type Revocations struct {
	store  catalog.Store
	memory *Memory
	opts   RevocationOptions
	wake   chan struct{}

	mu      sync.Mutex
	running map[*watched]struct{}
	epoch   uint64    // the newest that was confirmed
	heard   time.Time // when it was confirmed last
}

// NewRevocations returns Revocations that judge nothing before [Revocations.Run].
func NewRevocations(store catalog.Store, memory *Memory, opts RevocationOptions) *Revocations {
	orDefault(&opts.Tick, revocationTick)
	orDefault(&opts.Silence, revocationSilence)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Revocations{store: store, memory: memory, opts: opts, wake: make(chan struct{}, 1), running: map[*watched]struct{}{}}
}

// Confirmed tells that the catalog's epoch was read a moment ago.
func (r *Revocations) Confirmed(epoch uint64) {
	r.mu.Lock()
	risen := epoch > r.epoch
	r.epoch, r.heard = max(r.epoch, epoch), time.Now()
	r.mu.Unlock()
	if risen {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// Run judges until ctx ends. It needs a context in which the catalog may be read.
func (r *Revocations) Run(ctx context.Context) {
	tick := time.NewTicker(r.opts.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.wake:
		}
		if due := r.due(time.Now()); len(due) > 0 {
			if err := r.round(ctx, due); err != nil && ctx.Err() == nil {
				r.opts.Logger.Warn("running work not judged", "error", err)
			}
		}
	}
}

// judgement is a piece of work to be judged.
type judgement struct {
	*watched
	check check
	turn  uint64
}

// due returns the work that has to be judged. It ends work whose credential has
// expired, and work that could not be judged for too long.
func (r *Revocations) due(now time.Time) []judgement {
	r.mu.Lock()
	defer r.mu.Unlock()
	var due []judgement
	for w := range r.running {
		current := w.judged != 0 && w.judged >= r.epoch
		if current && r.heard.After(w.sound) {
			w.sound = r.heard
		}
		switch {
		case !w.expires.IsZero() && !now.Before(w.expires):
			w.end(ErrQueryCancelled)
		case now.Sub(w.sound) > r.opts.Silence:
			w.end(ErrStale)
		case !current && !w.held:
			due = append(due, judgement{w, w.check, w.turn})
		}
	}
	return due
}

func (r *Revocations) round(ctx context.Context, due []judgement) error {
	ctx, cancel := context.WithTimeout(ctx, judgingTime)
	defer cancel()
	begun := time.Now()
	first, err := newMoment(ctx, r.store)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(judges)
	for _, j := range due {
		group.Go(func() error {
			m := *first
			expires, err := r.judge(ctx, &m, j)
			if err != nil && !errors.Is(err, errRevoked) {
				return err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			switch {
			case j.turn != j.watched.turn: // it has another check now
			case err != nil:
				j.end(ErrQueryCancelled)
			default:
				j.judged, j.sound, j.expires = m.epoch, begun, expires
			}
			return nil
		})
	}
	return group.Wait()
}

// judge returns errRevoked for work that may not go on. For other work it returns
// when the credential expires, or zero. After other errors the answer is unknown.
func (r *Revocations) judge(ctx context.Context, m *moment, j judgement) (expires time.Time, err error) {
	held, err := r.credential(ctx, m, j.actor)
	if err != nil {
		return time.Time{}, err
	}
	if !held.allows(j.actor, time.Now()) {
		return time.Time{}, errRevoked
	}
	if j.check == nil {
		return held.expires, nil
	}
	return held.expires, j.check(ctx, m)
}

// errRevoked is what a [check] returns for work that may not go on.
var errRevoked = errors.New("revoked")

// check returns nil while work may go on, errRevoked when it may not, and any
// other error when that could not be found out.
type check func(context.Context, *moment) error

// and returns a check that fails when c or other fails.
func (c check) and(other check) check {
	return func(ctx context.Context, m *moment) error {
		if err := other(ctx, m); err != nil || c == nil {
			return err
		}
		return c(ctx, m)
	}
}

// watched is one piece of running work. The methods of a nil *watched do nothing.
type watched struct {
	of     *Revocations
	actor  Actor
	cancel context.CancelCauseFunc

	// Of's mu guards what follows.

	// check judges what the work needs in addition to the credential; nil means nothing.
	check check
	// turn counts the checks.
	turn uint64
	// judged is the epoch at which the work was found to be in order, or 0.
	judged uint64
	// sound is the last time at which it is known to have been in order.
	sound time.Time
	// expires is the end of the credential, or zero.
	expires time.Time
	// held says that the work is at its commit, or behind it.
	held bool
}

// begin registers work of a caller. It runs under the context that is returned,
// which ends with the cause [ErrQueryCancelled], or [ErrStale] when the catalog
// could not be read for too long. The caller calls done at the end.
func (r *Revocations) begin(ctx context.Context, a Actor) (context.Context, *watched) {
	if r == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, r.register(a, cancel)
}

// register is begin for work that has a context already. cancel must not block.
func (r *Revocations) register(a Actor, cancel context.CancelCauseFunc) *watched {
	if r == nil {
		return nil
	}
	w := &watched{of: r, actor: a, cancel: cancel, sound: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[w] = struct{}{}
	return w
}

// judgeBy has the work judged by a check, which replaces an earlier one.
func (w *watched) judgeBy(c check) {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.check, w.judged = c, 0
	w.turn++
}

// hold keeps the work from being ended. It returns why the work was ended before.
func (w *watched) hold(ctx context.Context) error {
	if w == nil {
		return nil
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	w.held = true
	return nil
}

// release undoes hold: the work is judged anew.
func (w *watched) release() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.held, w.judged, w.sound = false, 0, time.Now()
	w.turn++
}

// end cancels the work unless it is held. The caller holds mu.
func (w *watched) end(cause error) {
	if _, there := w.of.running[w]; there && !w.held {
		delete(w.of.running, w)
		w.cancel(cause)
	}
}

// done ends the registration, and the context of begin. It is idempotent.
func (w *watched) done() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	delete(w.of.running, w)
	w.of.mu.Unlock()
	w.cancel(nil)
}

// endedBy returns why the work of ctx was ended, where it was by [Revocations],
// and err otherwise.
func endedBy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrQueryCancelled) || errors.Is(cause, ErrStale) {
		return cause
	}
	return err
}
