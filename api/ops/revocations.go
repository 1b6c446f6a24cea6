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

// Defaults and limits of [Revocations].
const (
	// revocationTick is the interval at which new work is checked and expired keys are
	// found.
	revocationTick = 200 * time.Millisecond
	// revocationSilence is how long work continues that cannot be checked.
	revocationSilence = 10 * time.Second
	// judgingTime bounds one round of checks. judges is the number of concurrent
	// checks.
	judgingTime = 2 * time.Second
	judges      = 4
)

// RevocationOptions configures [Revocations]. The zero value uses the defaults.
type RevocationOptions struct {
	// Tick is the interval at which new work is checked; default 200 ms.
	Tick time.Duration
	// Silence is how long work continues while the catalog cannot be read; default 10
	// s.
	Silence time.Duration
	Logger  *slog.Logger
}

// Revocations ends running work when its caller loses the right to it: when the
// key is revoked or expires, the member is removed or gets another role or other
// attributes, a table is no longer visible, or other policies apply to it. It is
// safe for concurrent use. A nil *Revocations ends nothing.
//
// Invariants: work is judged by a state of the catalog that is newer than its
// registration and newer than its last call of watched.judgeBy, so changes during
// planning are not missed. Work is judged again after the epoch has risen. Work is not
// ended between hold and release.
type Revocations struct {
	store  catalog.Store
	memory *Memory
	opts   RevocationOptions
	wake   chan struct{}

	mu          sync.Mutex
	running     map[*watched]struct{}
	epoch       uint64    // the highest confirmed one
	confirmedAt time.Time // the time of the last confirmation
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

// Confirmed records that the catalog's epoch was read just now.
func (r *Revocations) Confirmed(epoch uint64) {
	r.mu.Lock()
	risen := epoch > r.epoch
	r.epoch, r.confirmedAt = max(r.epoch, epoch), time.Now()
	r.mu.Unlock()
	if risen {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// Run judges work until ctx ends. ctx must permit reading the catalog.
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
		if current && r.confirmedAt.After(w.valid) {
			w.valid = r.confirmedAt
		}
		switch {
		case !w.expires.IsZero() && !now.Before(w.expires):
			w.end(ErrQueryCancelled)
		case now.Sub(w.valid) > r.opts.Silence:
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
				j.judged, j.valid, j.expires = m.epoch, begun, expires
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

// errRevoked is returned by a [check] for work that must not continue.
var errRevoked = errors.New("revoked")

// check returns nil if work may continue, errRevoked if it must not, and any other
// error if the answer is unknown.
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

	// of.mu guards the fields below.

	// check checks what the work needs in addition to the credential; nil means
	// nothing.
	check check
	// turn is the number of the current check.
	turn uint64
	// judged is the epoch at which the work was last found valid, or 0.
	judged uint64
	// valid is the last time at which the work is known to have been valid.
	valid time.Time
	// expires is the end of the credential, or zero.
	expires time.Time
	// held reports whether the work is committing or has committed.
	held bool
}

// begin registers work of a caller and returns the context under which it runs. The
// context ends with the cause [ErrQueryCancelled], or with [ErrStale] if the catalog
// could not be read for too long. The caller calls done when the work has ended.
func (r *Revocations) begin(ctx context.Context, a Actor) (context.Context, *watched) {
	if r == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, r.register(a, cancel)
}

// register is like begin for work that already has a context. cancel must not block.
func (r *Revocations) register(a Actor, cancel context.CancelCauseFunc) *watched {
	if r == nil {
		return nil
	}
	w := &watched{of: r, actor: a, cancel: cancel, valid: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[w] = struct{}{}
	return w
}

// judgeBy sets the check of the work, which replaces an earlier one.
func (w *watched) judgeBy(c check) {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.check, w.judged = c, 0
	w.turn++
}

// hold prevents the work from being ended. If the work was ended before, hold returns
// the cause.
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

// release undoes hold. The work is judged again.
func (w *watched) release() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.held, w.judged, w.valid = false, 0, time.Now()
	w.turn++
}

// end cancels the work unless it is held. The caller holds mu.
func (w *watched) end(cause error) {
	if _, there := w.of.running[w]; there && !w.held {
		delete(w.of.running, w)
		w.cancel(cause)
	}
}

// done removes the registration and ends the context that begin returned. It is
// idempotent.
func (w *watched) done() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	delete(w.of.running, w)
	w.of.mu.Unlock()
	w.cancel(nil)
}

// endedBy returns the cause of ctx if [Revocations] ended its work, and err otherwise.
func endedBy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrQueryCancelled) || errors.Is(cause, ErrStale) {
		return cause
	}
	return err
}
