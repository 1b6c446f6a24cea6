package write

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/dml"
)

// RefusalsPerMinute is how many writes of a user may be refused within a minute because of rows
// that the user does not see.
const RefusalsPerMinute = 20

// Refusals limits what users learn of rows that they do not see from the keys and references
// that a write checks against all rows. It counts on one replica, and is safe for concurrent use.
type Refusals struct {
	audit *caller.Auditor
	total prometheus.Counter

	mu sync.Mutex
	of map[member]*prober
}

// prober is a user whose writes may be refused because of hidden rows.
type prober struct {
	limiter *rate.Limiter
	// running is the number of answers that the writes which have begun may get. It is at most the
	// number of further answers that the user may get, so that writes at the same time get no more
	// than one after another. A write that may get more answers than one runs alone.
	running int
	// changed is closed when a write ends.
	changed chan struct{}
}

// member is a user in one organisation.
type member struct {
	org  catalog.OrgID
	user catalog.UserID
}

// NewRefusals registers lakewarden_hidden_row_refusals_total.
func NewRefusals(audit *caller.Auditor, registerer prometheus.Registerer) *Refusals {
	r := &Refusals{audit: audit, of: map[member]*prober{}, total: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lakewarden_hidden_row_refusals_total",
		Help: "Writes that were refused because of keys or references, for callers who do not see all rows that these were checked against.",
	})}
	registerer.MustRegister(r.total)
	return r
}

// RefusalsError is returned while a user has had too many such refusals: 429.
type RefusalsError struct{ wait time.Duration }

// Error implements error.
func (e *RefusalsError) Error() string { return "too many writes of the user were refused" }

// ProblemCode names the line in the table of errors.
func (e *RefusalsError) ProblemCode() string { return "too_many_refusals" }

// RetryIn is the time after which the user's next write is executed.
func (e *RefusalsError) RetryIn() time.Duration { return e.wait }

// maxAnswers bounds what one write is charged for. A reply names no more values.
const maxAnswers = 100

// maxRefused bounds the users whose refusals are counted.
const maxRefused = 10_000

// prober returns the state of a user. The caller holds mu.
func (r *Refusals) prober(a caller.Identity) *prober {
	m := member{a.Org, a.User}
	p, ok := r.of[m]
	if !ok {
		if len(r.of) >= maxRefused {
			for other, p := range r.of {
				if p.running == 0 && p.limiter.Tokens() >= RefusalsPerMinute {
					delete(r.of, other)
				}
			}
		}
		p = &prober{limiter: rate.NewLimiter(rate.Every(time.Minute/RefusalsPerMinute), RefusalsPerMinute), changed: make(chan struct{})}
		r.of[m] = p
	}
	return p
}

// check returns a [RefusalsError] for a user who has had too many refusals.
func (r *Refusals) check(a caller.Identity) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prober(a).check()
}

func (p *prober) check() error {
	if tokens := p.limiter.Tokens(); tokens < 1 {
		return &RefusalsError{time.Duration((1 - tokens) * float64(time.Minute/RefusalsPerMinute))}
	}
	return nil
}

// begin waits until a write may begin that could be refused because of hidden rows, and returns a
// function that the caller calls after the write and [Refusals.note]. many reports that the write may
// get more answers than one. Errors: [RefusalsError], and that of ctx.
func (r *Refusals) begin(ctx context.Context, a caller.Identity, many bool) (end func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	for {
		r.mu.Lock()
		p := r.prober(a)
		if err := p.check(); err != nil {
			r.mu.Unlock()
			return nil, err
		}
		left, answers := int(p.limiter.Tokens()), 1
		if many {
			answers = left
		}
		if p.running+answers <= left {
			p.running += answers
			r.mu.Unlock()
			return sync.OnceFunc(func() { r.end(p, answers) }), nil
		}
		changed := p.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// probe waits until the plans of a write may begin, if their outcome can depend on hidden rows. The
// body was read before, so that a slow client does not keep the user's other writes waiting.
func (w *writing) probe(ctx context.Context) (err error) {
	if w.whole != nil {
		return nil
	}
	if many := w.readsHiddenSource(ctx); many || !w.table.Whole() {
		w.probing, err = w.Refusals.begin(ctx, w.actor, many)
	}
	return err
}

func (r *Refusals) end(p *prober, answers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.running -= answers
	close(p.changed)
	p.changed = make(chan struct{})
}

// note counts and records a write with answers about rows that its caller does not see. Answers
// that exceed the limit are owed: later writes wait until they are paid for.
func (r *Refusals) note(w *writing, answers int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	l := r.prober(w.actor).limiter
	r.mu.Unlock()
	for n := min(max(answers, 1), maxAnswers); n > 0; n -= RefusalsPerMinute {
		l.ReserveN(time.Now(), int(min(n, RefusalsPerMinute)))
	}
	r.total.Inc()
	entry := caller.NewEntry(w.actor, "rows.probed", "table/"+string(w.located.DeltaID), catalog.OutcomeDeny)
	r.audit.Record(entry)
}

// hiddenAnswers returns how many facts about hidden rows the outcome of a write reveals, by a key of
// the table or by the values of a table that a domain refers to, or about values that the caller does
// not see. Any other failure counts, too, if it reveals that such a check has passed. A dry run does not
// compare keys with rows of the table.
func (w *writing) hiddenAnswers(ctx context.Context, err error) int64 {
	if w.whole != nil || w.rules.Columns == nil && err == nil {
		return 0
	}
	var rows *dml.RowsError
	switch {
	case err == nil:
		if w.options.DryRun && w.readsHiddenSource(ctx) {
			return 1
		}
	case errors.Is(err, dml.ErrHiddenMatch):
		return 1
	case !errors.As(err, &rows):
		if w.checked && (len(w.target.Rules.AllKeys()) > 0 && !w.table.Whole() || w.readsHiddenSource(ctx)) {
			return 1
		}
	case rows.Kind == dml.KeyTaken && !w.table.Whole():
		return 1
	case rows.Kind == dml.BrokenRule && w.readsHiddenSource(ctx):
		return rows.Total
	case rows.Kind == dml.BrokenRule && rows.Quiet:
		return 1
	case rows.Kind == dml.BrokenFilter && (w.action == "rows.merge" && !w.options.DryRun || w.readsHiddenSource(ctx)):
		return 1
	}
	return 0
}

// withholdTotal leaves the number of breaches out of a refusal that has more of them than it shows: a
// caller who repeats each value another number of times would learn from it about all of them.
func withholdTotal(err error) {
	var rows *dml.RowsError
	if errors.As(err, &rows) {
		rows.Total = min(rows.Total, int64(len(rows.Breaches)))
	}
}

// readsHiddenSource reports whether a domain of the table takes its values from a table of which
// the caller does not see everything.
func (w *writing) readsHiddenSource(ctx context.Context) bool {
	return slices.ContainsFunc(w.rules.Columns, func(c ColumnRule) bool { return w.Domains.HidesSource(ctx, w.actor, c) })
}

// HidesSource reports whether a domain takes its values from a table of which a caller does not see
// everything.
func (o *Domains) HidesSource(ctx context.Context, a caller.Identity, c ColumnRule) bool {
	source, found, err := o.sourceOf(ctx, a, c)
	return found && (err != nil || !source.Whole())
}

// PermitSource returns [access.ErrPartlyVisible] unless a caller may change the whole table from which
// a domain takes its values. It is for changes whose outcome depends on all of these values and that
// are not counted by [Refusals].
func (o *Domains) PermitSource(ctx context.Context, a caller.Identity, c ColumnRule) error {
	source, found, err := o.sourceOf(ctx, a, c)
	switch {
	case !found:
		return nil
	case err == nil:
		var whole bool
		if whole, err = source.MayChangeWhole(ctx); whole {
			return nil
		}
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, catalog.ErrDenied):
		err = nil
	}
	if err == nil {
		err = access.ErrPartlyVisible
	}
	return err
}

// sourceOf opens the table from which a domain takes its values, as a caller sees it. It returns false
// if there is none, or none that can be found: the rule then refuses every value.
func (o *Domains) sourceOf(ctx context.Context, a caller.Identity, c ColumnRule) (t access.Table, found bool, err error) {
	if c.Of.Domain.Source == nil {
		return t, false, nil
	}
	located, err := o.tables.DomainSource(ctx, a.Org, *c.Of.Domain.Source)
	if err != nil {
		return t, false, nil
	}
	t, err = o.tables.Open(ctx, a, access.Ref{Table: &located})
	return t, true, err
}
