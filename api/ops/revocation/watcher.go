package revocation

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

var (
	// ErrStale is returned if this replica could not confirm the catalog's epoch for so
	// long that it must not answer: 503, retry.
	ErrStale = fault.New("unavailable", "catalog not confirmed")
	// ErrQueryCancelled is returned if the caller lost the right to running work, or the
	// policies that apply to it changed. Nothing was written. The server does not retry
	// the work: 409.
	ErrQueryCancelled = fault.New("query_cancelled", "query cancelled")
)

// Defaults and limits of [Watcher].
const (
	// defaultTick is the interval at which new work is checked and expired keys are
	// found.
	defaultTick = 200 * time.Millisecond
	// defaultSilence is how long work continues that cannot be checked.
	defaultSilence = 10 * time.Second
	// roundTimeout bounds one round of checks. maxChecks is the number of concurrent checks.
	roundTimeout = 2 * time.Second
	maxChecks    = 4
)

// Options configures [Watcher]. The zero value uses the defaults.
type Options struct {
	// Tick is the interval at which new work is checked; default 200 ms.
	Tick time.Duration
	// Silence is how long work continues while the catalog cannot be read; default 10
	// s.
	Silence time.Duration
	// Sessions, if not nil, has the sessions of access tokens.
	Sessions Sessions
	Logger   *slog.Logger
}

// Sessions checks sessions. Implementations are safe for concurrent use.
type Sessions interface {
	// Live returns a session, or the zero value if it has ended.
	Live(ctx context.Context, session uuid.UUID) (auth.LiveSession, error)
}

// Watcher ends running work when its caller loses the right to it: when the key is
// revoked or expires, the session ends, the member is removed or gets another role or other attributes, a
// table is no longer visible, or other policies apply to it. It is safe for concurrent
// use. A nil *Watcher ends nothing.
//
// Invariants: work is checked against a state of the catalog that is newer than its
// registration and newer than its last call of Work.SetCheck, so changes during
// planning are not missed. Work is checked again after the epoch has risen. Work is not
// ended between Hold and Release.
type Watcher struct {
	store rightsStore
	opts  Options
	// credentials caches states by the epoch at which they were read.
	credentials *memo.Cache[credential]
	wake        chan struct{}

	mu          sync.Mutex
	running     map[*Work]struct{}
	epoch       uint64    // the highest that was confirmed
	confirmedAt time.Time // the time of the last confirmation
}

// rightsStore holds the rights of callers.
type rightsStore interface {
	catalog.Epochs
	Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
	APIKey(ctx context.Context, org catalog.OrgID, id catalog.KeyID) (catalog.APIKey, error)
}

// maxCredentials bounds the cached states of credentials.
const maxCredentials = 1024

// New returns a Watcher that checks nothing before [Watcher.Run].
func New(store rightsStore, opts Options) *Watcher {
	opts.Tick = cmp.Or(opts.Tick, defaultTick)
	opts.Silence = cmp.Or(opts.Silence, defaultSilence)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Watcher{
		store: store, opts: opts, credentials: memo.NewCache[credential](maxCredentials), wake: make(chan struct{}, 1),
		running: map[*Work]struct{}{},
	}
}

// Confirmed records that the catalog's epoch was read just now.
func (r *Watcher) Confirmed(epoch uint64) {
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

// Run checks work until ctx ends. ctx must permit reading the catalog.
func (r *Watcher) Run(ctx context.Context) {
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
				r.opts.Logger.Warn("running work not checked", "error", err)
			}
		}
	}
}

// candidate is a piece of work to be checked.
type candidate struct {
	*Work
	check      Check
	generation uint64
}

// due returns the work that has to be checked. It ends work whose credential has expired,
// and work that could not be checked for too long.
func (r *Watcher) due(now time.Time) []candidate {
	r.mu.Lock()
	defer r.mu.Unlock()
	var due []candidate
	for w := range r.running {
		current := w.checked != 0 && w.checked >= r.epoch
		if current && r.confirmedAt.After(w.valid) {
			w.valid = r.confirmedAt
		}
		switch {
		case !w.expires.IsZero() && !now.Before(w.expires):
			w.end(ErrQueryCancelled)
		case now.Sub(w.valid) > r.opts.Silence:
			w.end(ErrStale)
		case !current && !w.held:
			due = append(due, candidate{w, w.check, w.generation})
		}
	}
	return due
}

func (r *Watcher) round(ctx context.Context, due []candidate) error {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	begun := time.Now()
	first, err := memo.NewEpochView(ctx, r.store)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(maxChecks)
	for _, j := range due {
		group.Go(func() error {
			view := first.Clone()
			expires, err := r.checkWork(ctx, view, j)
			if err != nil && !errors.Is(err, ErrRevoked) {
				return err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			switch {
			case j.generation != j.Work.generation: // its check was replaced
			case err != nil:
				j.end(ErrQueryCancelled)
			default:
				// Not the epoch of the view: it is that of the last answer of the check, and earlier answers
				// may be older.
				j.checked, j.valid, j.expires = first.Epoch(), begun, expires
			}
			return nil
		})
	}
	return group.Wait()
}

// checkWork returns ErrRevoked for work that must not continue. For other work it returns
// when the credential expires, or zero. Other errors mean that the result is unknown.
func (r *Watcher) checkWork(ctx context.Context, view *memo.EpochView, j candidate) (expires time.Time, err error) {
	held, err := r.credential(ctx, view, j.actor)
	if err != nil {
		return time.Time{}, err
	}
	if !held.allows(j.actor, time.Now()) {
		return time.Time{}, ErrRevoked
	}
	if j.check == nil {
		return held.expires, nil
	}
	return held.expires, j.check(ctx, view)
}

// ErrRevoked is returned by a [Check] for work that must not continue.
var ErrRevoked = errors.New("revoked")

// Check returns nil if work may continue, ErrRevoked if it must not, and any other
// error if the answer is unknown.
type Check func(context.Context, *memo.EpochView) error

// And returns a check that fails when c or other fails.
func (c Check) And(other Check) Check {
	return func(ctx context.Context, view *memo.EpochView) error {
		if err := other(ctx, view); err != nil || c == nil {
			return err
		}
		return c(ctx, view)
	}
}

// Work is one piece of running work. The methods of a nil *Work do nothing.
type Work struct {
	of     *Watcher
	actor  caller.Identity
	cancel context.CancelCauseFunc

	// began is an epoch that was confirmed before the work began; 0 means none was.
	began uint64

	// of.mu guards the fields below.

	// check checks what the work needs in addition to the credential; nil means
	// nothing.
	check Check
	// generation is the number of the current check.
	generation uint64
	// checked is an epoch that the check that last found the work valid began at, or 0.
	checked uint64
	// valid is the last time at which the work was known to be valid.
	valid time.Time
	// expires is the end of the credential, or zero.
	expires time.Time
	// held reports whether the work is committing or has committed.
	held bool
}

// Begin registers work of a caller and returns the context under which it runs. The
// context ends with the cause [ErrQueryCancelled], or with [ErrStale] if the catalog
// could not be read for too long. The caller must call Done when the work has ended.
func (r *Watcher) Begin(ctx context.Context, a caller.Identity) (context.Context, *Work) {
	if r == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, r.Register(a, cancel)
}

// Register is like Begin for work that already has a context. cancel must not block.
func (r *Watcher) Register(a caller.Identity, cancel context.CancelCauseFunc) *Work {
	if r == nil {
		return nil
	}
	w := &Work{of: r, actor: a, cancel: cancel, valid: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	w.began = r.epoch
	r.running[w] = struct{}{}
	return w
}

// Oldest returns an epoch before which no running work has begun: that of the oldest work, or
// current, which the caller read before the call.
func (r *Watcher) Oldest(current uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.running {
		current = min(current, w.began)
	}
	return current
}

// SetCheck sets the check of the work, which replaces an earlier one.
func (w *Work) SetCheck(c Check) {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.check, w.checked = c, 0
	w.generation++
}

// Hold prevents the work from being ended. If the work was ended before, Hold returns
// the cause.
func (w *Work) Hold(ctx context.Context) error {
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

// Release undoes Hold. The work is checked again.
func (w *Work) Release() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.held, w.checked, w.valid = false, 0, time.Now()
	w.generation++
}

// end cancels the work unless it is held. The caller holds mu.
func (w *Work) end(cause error) {
	if _, ok := w.of.running[w]; ok && !w.held {
		delete(w.of.running, w)
		w.cancel(cause)
	}
}

// Done removes the registration and ends the context that Begin returned. It is
// idempotent.
func (w *Work) Done() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	delete(w.of.running, w)
	w.of.mu.Unlock()
	w.cancel(nil)
}

// EndedBy returns the cause of ctx if [Watcher] ended its work, and err otherwise.
func EndedBy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrQueryCancelled) || errors.Is(cause, ErrStale) {
		return cause
	}
	return err
}

// Settled reports whether all running work was checked at an epoch or later.
func (r *Watcher) Settled(epoch uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.running {
		if w.checked < epoch {
			return false
		}
	}
	return true
}

// OnEnd calls f in a goroutine when the caller loses the right to the work of ctx. stop
// is as for [context.AfterFunc].
func OnEnd(ctx context.Context, f func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if EndedBy(ctx, nil) != nil {
			f()
		}
	})
}
