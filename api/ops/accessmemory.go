package ops

import "github.com/lakewarden/lakewarden/catalog"

// Memory caches what statements read from the catalog. Each answer is stored under its
// epoch and under who asked: every change of what anybody may see or do raises the
// epoch in the same transaction, so equal epochs mean equal answers. It is safe for
// concurrent use. The zero value caches nothing.
type Memory struct {
	rules   *Cache[rules]
	roots   *Cache[VisibleRoots]
	tables  *Cache[[]catalog.Resolved]
	visible *Cache[map[catalog.TableID]catalog.DeltaID] // for checks of running work
}

// maxRemembered bounds each kind of answer.
const maxRemembered = 1024

// NewMemory returns an empty memory.
func NewMemory() Memory {
	return Memory{
		rules: NewCache[rules](maxRemembered), roots: NewCache[VisibleRoots](maxRemembered),
		tables:  NewCache[[]catalog.Resolved](maxRemembered),
		visible: NewCache[map[catalog.TableID]catalog.DeltaID](maxRemembered),
	}
}
