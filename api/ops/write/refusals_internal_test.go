package write

import (
	"context"
	"log/slog"
	"sync"
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

// TestConcurrentRefusalsBecomeADebt checks that requests that were all let in before the first of
// them was refused do not get more answers than the limit: later writes wait for the excess.
func TestConcurrentRefusalsBecomeADebt(t *testing.T) {
	audit := caller.NewAuditor(t.Context(), noAudit{}, slog.New(slog.DiscardHandler))
	t.Cleanup(audit.Close)
	r := NewRefusals(audit, prometheus.NewRegistry())
	user := func() caller.Identity {
		id := uuid.NewString()
		return caller.Identity{Principal: auth.Principal{}, Org: "org", User: catalog.UserID(id)}
	}
	const atOnce = 20 * RefusalsPerMinute
	tried, other := user(), user()
	var let, end sync.WaitGroup
	let.Add(atOnce)
	for range atOnce {
		end.Go(func() {
			require.NoError(t, r.check(tried))
			let.Done()
			let.Wait()
			r.note(&writing{actor: tried}, 1)
		})
	}
	end.Wait()
	var refused *RefusalsError
	require.ErrorAs(t, r.check(tried), &refused)
	require.Equal(t, "too_many_refusals", refused.ProblemCode())
	require.Greater(t, refused.RetryIn(), 10*time.Minute, "19 minutes are owed")
	require.NoError(t, r.check(other))

	many := user()
	r.note(&writing{actor: many}, 1_000_000)
	require.ErrorAs(t, r.check(many), &refused)
	require.LessOrEqual(t, refused.RetryIn(), time.Minute, "the answers of one request cost no more than a minute")
}
