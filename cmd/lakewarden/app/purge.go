package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity/account"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// purgeInterval is the interval between searches for organisations to purge.
const purgeInterval = time.Hour

// purgeOrganisations removes the records of organisations that can no longer be restored,
// at the start and then periodically. Replicas may do so at the same time.
func purgeOrganisations(
	ctx context.Context, store *authz.Store, auditor *caller.Auditor, log *slog.Logger, parts *lifecycle.Group,
) {
	purge := account.Purge{Store: store, Audit: auditor, Logger: log}
	parts.Repeat(ctx, purgeInterval, purge.Run)
}
