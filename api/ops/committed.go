package ops

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Committed tells the lake of a version that a commit of ours has made, so that
// the next statement of anybody sees it, also where the log is looked at only
// once a second.
func (l *Lake) Committed(ctx context.Context, t catalog.LocatedTable, snap *delta.Snapshot) {
	where := place{t.StorageConfig.ID, t.StorageConfig.Version, t.StorageConfig.Location, t.Path}
	kept := l.kept.at(where)
	select {
	case kept.turn <- struct{}{}:
		defer func() { <-kept.turn }()
	case <-ctx.Done():
		return // it is found by looking
	}
	if kept.snap == nil || kept.snap.TableID() == snap.TableID() && kept.snap.Version() < snap.Version() {
		kept.snap, kept.seen = snap, time.Now()
		l.kept.weigh(where, kept)
	}
}
