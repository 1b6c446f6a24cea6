package write

import (
	"context"
	"errors"
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
	of map[member]*rate.Limiter
}

// member is a user in one organisation.
type member struct {
	org  catalog.OrgID
	user catalog.UserID
}

// NewRefusals registers lakewarden_hidden_row_refusals_total.
func NewRefusals(audit *caller.Auditor, registerer prometheus.Registerer) *Refusals {
	r := &Refusals{audit: audit, of: map[member]*rate.Limiter{}, total: prometheus.NewCounter(prometheus.CounterOpts{
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

// maxRefused bounds the users whose refusals are counted.
const maxRefused = 10_000

func (r *Refusals) limiter(a caller.Identity) *rate.Limiter {
	m := member{a.Org, a.User}
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.of[m]
	if !ok {
		if len(r.of) >= maxRefused {
			for other, l := range r.of {
				if l.Tokens() >= RefusalsPerMinute {
					delete(r.of, other)
				}
			}
		}
		l = rate.NewLimiter(rate.Every(time.Minute/RefusalsPerMinute), RefusalsPerMinute)
		r.of[m] = l
	}
	return l
}

// check returns a [RefusalsError] for a user who has had too many refusals.
func (r *Refusals) check(a caller.Identity) error {
	if r == nil {
		return nil
	}
	l := r.limiter(a)
	if tokens := l.Tokens(); tokens < 1 {
		return &RefusalsError{time.Duration((1 - tokens) * float64(time.Minute/RefusalsPerMinute))}
	}
	return nil
}

// note counts and records a write with answers about rows that its caller does not see. Answers
// that exceed the limit are owed: later writes wait until they are paid for.
func (r *Refusals) note(w *writing, answers int64) {
	if r == nil {
		return
	}
	r.limiter(w.actor).ReserveN(time.Now(), int(min(max(answers, 1), RefusalsPerMinute)))
	r.total.Inc()
	entry := caller.NewEntry(w.actor, "rows.probed", "table/"+string(w.located.DeltaID), catalog.OutcomeDeny)
	r.audit.Record(entry)
}

// hiddenAnswers returns how many facts about hidden rows the outcome of a write reveals, by a key of
// the table or by the values of a table that a domain refers to. A refusal by the caller's row filter
// counts, too, if it reveals that such a check has passed. A dry run does not compare keys with rows of
// the table.
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
	case rows.Kind == dml.KeyTaken && !w.table.Whole():
		return 1
	case rows.Kind == dml.BrokenRule && w.readsHiddenSource(ctx):
		return rows.Total
	case rows.Kind == dml.BrokenFilter && (w.action == "rows.merge" && !w.options.DryRun || w.readsHiddenSource(ctx)):
		return 1
	}
	return 0
}

// readsHiddenSource reports whether a domain of the table takes its values from a table of which
// the caller does not see everything.
func (w *writing) readsHiddenSource(ctx context.Context) bool {
	for _, c := range w.rules.Columns {
		if c.Of.Domain.Source == nil {
			continue
		}
		located, err := w.Tables.DomainSource(ctx, w.actor.Org, *c.Of.Domain.Source)
		if err != nil {
			continue // the rule then refuses every value
		}
		source, err := w.Tables.Open(ctx, w.actor, access.Ref{Table: &located})
		if err != nil || !source.Whole() {
			return true
		}
	}
	return false
}
