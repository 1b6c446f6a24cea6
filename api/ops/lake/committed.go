package lake

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Committed stores a version that this server has committed, so that the next statement of
// anybody sees it, also in remote storage, and announces it to other replicas.
func (l *Lake) Committed(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) {
	defer l.announce(ctx, t)
	where := placeOf(t)
	cached := l.cache.at(where)
	select {
	case cached.turn <- struct{}{}:
		defer func() { <-cached.turn }()
	case <-ctx.Done():
		return // the next refresh finds it
	}
	if cached.snap == nil || cached.snap.TableID() == snap.TableID() && cached.snap.Version() < snap.Version() {
		l.compare(t.StorageConfig, t.Path, cached.snap, snap)
		cached.snap, cached.seen = snap, time.Now()
		l.cache.weigh(where, cached)
	}
}

// Changed refreshes a table that this server has changed, so that the next statement of
// anybody sees the change, and announces it to other replicas. If the refresh fails, the
// next statement reports it.
func (l *Lake) Changed(ctx context.Context, t catalog.LocatedTable) {
	_, _ = l.SnapshotWithin(ctx, t, 0)
	l.announce(ctx, t)
}

// announce tells other replicas of a commit, except to local tables, whose logs they refresh
// for every statement. Without it they see the commit with their next refresh. This server may
// have the table under a newer version of its configuration, too.
func (l *Lake) announce(ctx context.Context, t catalog.LocatedTable) {
	if _, local := LocalRoot(t.StorageConfig); local {
		return
	}
	l.cache.outdateOthers(placeOf(t))
	if l.Announce == nil {
		return
	}
	_ = l.Announce(authz.System(context.WithoutCancel(ctx), "commit"), catalog.CommittedTable{Config: t.StorageConfig.ID, Path: t.Path})
}

// Follow reads the announcements of other replicas until the channel is closed.
func (l *Lake) Follow(commits <-chan catalog.CommittedTable) {
	for c := range commits {
		l.cache.outdate(c.Config, c.Path)
	}
}
