package app

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// resumeChangesEvery is how often changes of values are taken over from replicas that have
// ended.
const resumeChangesEvery = 10 * time.Second

// newDomains returns the use cases of domains, and resumes in the background the changes
// of values of processes that have ended.
func newDomains(
	background context.Context, holder string, store *authz.Store, queries *query.Service, writes write.Service,
	operations longwork.Service, log *slog.Logger, parts *lifecycle.Group,
) domain.Service {
	domains := domain.Service{
		Store: store, Tables: queries.Tables, Queries: queries, Writes: writes, Operations: operations, Confirmed: queries.Confirmed,
	}
	domains.Changes = domain.NewChanges(domains, queries.Audit, log, cmp.Or(holder, replicaName()))
	parts.Repeat(background, resumeChangesEvery, func(ctx context.Context) {
		if err := domains.Changes.Resume(ctx); err != nil && ctx.Err() == nil {
			log.Warn("changes of values not finished", "error", err)
		}
	})
	return domains
}
