package write

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/catalog"
)

// BeginLocated is [Leases.Begin] for a table that exists in the catalog only.
func (l Leases) BeginLocated(ctx context.Context, table catalog.LocatedTable, kind catalog.WriteKind) (context.Context, *Lease, error) {
	return l.begin(ctx, table, access.SystemTable{}, kind)
}
