package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
)

// followDeletions has this replica drop what it has cached of deleted files before it confirms
// the epoch of their deletion.
func followDeletions(
	background context.Context, store *authz.Store, epochs *revocation.Epochs, log *slog.Logger,
) (*deletion.Deletions, error) {
	deletions, err := deletion.New(background, store, time.Now)
	if err != nil {
		return nil, err
	}
	epochs.Before = func(ctx context.Context, epoch uint64) error {
		err := deletions.Follow(ctx, epoch)
		if err != nil && ctx.Err() == nil {
			log.Warn("cached files not dropped", "error", err)
		}
		return err
	}
	return deletions, nil
}

const (
	// dropResultsEvery is how often stored results of deleted files are removed.
	dropResultsEvery = time.Second
	// dropResultsFor is how long they are searched for: a result whose rows were read before
	// the deletion may still be being recorded.
	dropResultsFor = 10 * time.Second
)

// dropDeleted drops snapshots of tables without files, answers of analyses, and stored results.
// The removal of results does not delay the epoch, because they are stale at once.
func dropDeleted(
	background context.Context, store *authz.Store, deletions *deletion.Deletions, data *lake.Lake, stored query.Stored,
	answers *analysis.Cache, log *slog.Logger, parts *lifecycle.Group,
) {
	var mu sync.Mutex
	var until time.Time
	var since uint64 // records up to it are done; the first round has those of an earlier process
	deletions.Add(func(_ context.Context, dropped deletion.Dropped) error {
		answers.Empty()
		data.Forget(withoutFiles(dropped).Covers)
		mu.Lock()
		defer mu.Unlock()
		until = time.Now().Add(dropResultsFor)
		return nil
	})
	parts.Repeat(background, dropResultsEvery, func(ctx context.Context) {
		mu.Lock()
		last := time.Now().After(until)
		mu.Unlock()
		if last && since > 0 && since >= deletions.Dropped() {
			return
		}
		upTo := deletions.Dropped()
		files, err := store.FileDeletionsSince(authz.System(ctx, "deleted files"), since)
		if err == nil {
			err = stored.DropFiles(ctx, files)
		}
		switch {
		case err == nil && last:
			since = upTo
		case err != nil && ctx.Err() == nil:
			log.Warn("stored results of deleted files not removed", "error", err)
		}
	})
}

// withoutFiles returns the places all of whose files are gone.
func withoutFiles(dropped deletion.Dropped) deletion.Dropped {
	places := deletion.Dropped{All: dropped.All}
	for _, f := range dropped.Files {
		if f.Table == "" || f.Kept == catalog.NoVersion {
			places.Files = append(places.Files, f)
		}
	}
	return places
}
