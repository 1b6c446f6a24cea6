package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// resumeChangesEvery is how often changes of values are taken over from replicas that have
// ended.
const resumeChangesEvery = 10 * time.Second

// newDomains starts to finish the changes of values that ended processes have left.
func newDomains(
	background context.Context, holder string, store *authz.Store, queries *query.Service, writes write.Service,
	operations longwork.Service, log *slog.Logger, s *Service,
) domain.Service {
	if holder == "" {
		holder = replicaName()
	}
	domains := domain.Service{
		Store: store, Tables: queries.Tables, Queries: queries, Writes: writes, Operations: operations, Confirmed: queries.Confirmed,
	}
	domains.Changes = domain.NewChanges(domains, queries.Audit, log, holder)
	resume := func(ctx context.Context) {
		if err := domains.Changes.Resume(ctx); err != nil && ctx.Err() == nil {
			log.Warn("changes of values not finished", "error", err)
		}
	}
	s.background(background, func(ctx context.Context) {
		resume(ctx)
		tick := time.NewTicker(resumeChangesEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				resume(ctx)
			}
		}
	})
	return domains
}
