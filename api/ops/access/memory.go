package access

import (
	"time"

	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
)

// memory caches what statements read from the catalog. Each answer is stored under its
// epoch and under who asked: every change of what anybody may see or do raises the
// epoch in the same transaction, so equal epochs mean equal answers. It is safe for
// concurrent use. The zero value caches nothing.
type memory struct {
	rules   *memo.Cache[rules]
	roots   *memo.Cache[VisibleRoots]
	tables  *memo.Cache[[]catalog.Resolved]
	visible *memo.Cache[map[catalog.TableID]catalog.DeltaID] // for checks of running work
	uses    *tableUses
}

// maxRemembered bounds each kind of answer.
const maxRemembered = 1024

// newMemory returns an empty memory.
func newMemory() memory {
	return memory{
		rules: memo.NewCache[rules](maxRemembered), roots: memo.NewCache[VisibleRoots](maxRemembered),
		tables:  memo.NewCache[[]catalog.Resolved](maxRemembered),
		visible: memo.NewCache[map[catalog.TableID]catalog.DeltaID](maxRemembered),
		uses:    &tableUses{at: map[catalog.TableID]time.Time{}},
	}
}
