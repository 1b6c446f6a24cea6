package write

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// noAudit is an audit log that stores nothing.
type noAudit struct{ catalog.Audit }

func (noAudit) AppendAudit(context.Context, ...catalog.AuditEntry) error { return nil }

// TestConcurrentRefusalsAreLimited checks that writes at the same time get no more answers than the
// limit, and that writes which tell nothing all begin.
func TestConcurrentRefusalsAreLimited(t *testing.T) {
	audit := caller.NewAuditor(t.Context(), noAudit{}, slog.New(slog.DiscardHandler))
	t.Cleanup(audit.Close)
	r := NewRefusals(audit, prometheus.NewRegistry())
	user := func() caller.Identity {
		id := uuid.NewString()
		return caller.Identity{Principal: auth.Principal{}, Org: "org", User: catalog.UserID(id)}
	}
	const atOnce = 20 * RefusalsPerMinute
	tried, other := user(), user()
	run := func(a caller.Identity, answers int64, many bool) (begun int64) {
		var all sync.WaitGroup
		var n atomic.Int64
		for range atOnce {
			all.Go(func() {
				end, err := r.begin(t.Context(), a, many)
				var refused *RefusalsError
				if err != nil {
					if !errors.As(err, &refused) {
						t.Error(err)
					}
					return
				}
				defer end()
				n.Add(1)
				if answers > 0 {
					r.note(&writing{actor: a}, answers)
				}
			})
		}
		all.Wait()
		return n.Load()
	}
	// Every three seconds one more write may begin.
	start := time.Now()
	begun := run(tried, 1, false)
	require.GreaterOrEqual(t, begun, int64(RefusalsPerMinute))
	require.LessOrEqual(t, begun, RefusalsPerMinute+1+int64(time.Since(start)/(time.Minute/RefusalsPerMinute)))
	var refused *RefusalsError
	require.EqualValues(t, atOnce, run(other, 0, false))
	require.EqualValues(t, atOnce, run(other, 0, true))
	require.NoError(t, r.check(other))

	start = time.Now()
	begun = run(user(), maxAnswers, true)
	require.GreaterOrEqual(t, begun, int64(1))
	require.LessOrEqual(t, begun, 1+int64(time.Since(start)/(maxAnswers*time.Minute/RefusalsPerMinute)),
		"a write that may get a hundred answers runs alone")

	debtor := user()
	r.note(&writing{actor: debtor}, 1_000_000)
	require.ErrorAs(t, r.check(debtor), &refused)
	require.Equal(t, "too_many_refusals", refused.ProblemCode())
	require.Greater(t, refused.RetryIn(), 2*time.Minute, "each of the hundred values that a reply names counts")
	require.LessOrEqual(t, refused.RetryIn(), 5*time.Minute)
}
