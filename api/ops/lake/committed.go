package lake

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Committed tells the lake of a version that a commit of ours has made, so that
// the next statement of anybody sees it, also where the log is looked at only
// once a second. Other replicas are told.
func (l *Lake) Committed(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) {
	defer l.announce(ctx, t)
	where := place{t.StorageConfig.ID, t.StorageConfig.Version, t.StorageConfig.Location, t.Path}
	kept := l.kept.at(where)
	select {
	case kept.turn <- struct{}{}:
		defer func() { <-kept.turn }()
	case <-ctx.Done():
		return // it is found by looking
	}
	if kept.snap == nil || kept.snap.TableID() == snap.TableID() && kept.snap.Version() < snap.Version() {
		l.compare(t.StorageConfig, t.Path, kept.snap, snap)
		kept.snap, kept.seen = snap, time.Now()
		l.kept.weigh(where, kept)
	}
}

// Changed has the lake look at a table that something of ours has changed, so
// that the next statement of anybody sees it. Where the log cannot be looked at
// now, that statement will say so. Other replicas are told.
func (l *Lake) Changed(ctx context.Context, t catalog.LocatedTable) {
	_, _ = l.SnapshotWithin(ctx, t, 0)
	l.announce(ctx, t)
}

// announce tells other replicas, which look at local logs anyway. Without it they
// see the commit when they look next.
func (l *Lake) announce(ctx context.Context, t catalog.LocatedTable) {
	if _, local := LocalRoot(t.StorageConfig); local || l.Announce == nil {
		return
	}
	_ = l.Announce(authz.System(context.WithoutCancel(ctx), "commit"), catalog.CommittedTable{Config: t.StorageConfig.ID, Path: t.Path})
}

// Follow hears of the commits of other replicas until the channel is closed.
func (l *Lake) Follow(commits <-chan catalog.CommittedTable) {
	for c := range commits {
		l.kept.outdate(c.Config, c.Path)
	}
}
