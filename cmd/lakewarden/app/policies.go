package app

import (
	"context"
	"log/slog"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// newPolicies returns the management of policies, and reports stored policies that cannot be
// decided in the background.
func newPolicies(background context.Context, store *authz.Store, data *lake.Lake, log *slog.Logger, parts *lifecycle.Group) admin.Policies {
	policies := admin.Policies{Store: store, Lake: data}
	parts.Background(background, func(ctx context.Context) {
		if err := policies.ReportUndecidable(ctx, log); err != nil && ctx.Err() == nil {
			log.Warn("stored policies not checked", "error", err)
		}
	})
	return policies
}
