package app

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	storageops "github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// newMoves returns the use cases of moves, and resumes in the background the moves of
// processes that have ended.
func newMoves(
	background context.Context, settings config.Settings, holder string, store *authz.Store, queries *query.Service, data *lake.Lake,
	operations longwork.Service, leases write.Leases, deletions *deletion.Deletions, sharing storageops.Sharing,
	registry prometheus.Registerer, log *slog.Logger, parts *lifecycle.Group,
) *storageops.Moves {
	moves := storageops.NewMoves(storageops.MoveOptions{
		Store: store, Lake: data, Tables: queries.Tables, Operations: operations, Leases: leases, Deletions: deletions, Audit: queries.Audit,
		Logger: log, Registerer: registry, Refresh: sharing.Refresh, Oldest: queries.Revocations.Oldest, Describe: operationProblem,
		Holder: cmp.Or(holder, replicaName()), Longest: settings.MaxTimeout,
	})
	parts.OnClose(func(ctx context.Context) error { // others need not wait for statements that have ended
		return store.ForgetReads(authz.System(ctx, "reads of a replica"), moves.Holder, time.Now().Add(-time.Hour))
	})
	parts.Background(background, moves.Run)
	return moves
}
