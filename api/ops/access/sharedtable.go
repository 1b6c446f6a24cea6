package access

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// Registered returns the table with a Delta id, as the viewer sees it. If there are
// several, a live one precedes others, then one below config, then the one that was
// registered first: later ones are copies of it. Errors: catalog.ErrNotFound, those of the
// catalog.
func (o Tables) Registered(
	ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, id catalog.DeltaID,
) (found catalog.LocatedTable, err error) {
	best := -1
	source := catalog.DomainSource{Config: config}
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.store.ListTables(ctx, viewer, catalog.TableFilter{DeltaID: id}, page)
	}, func(t catalog.LocatedTable) error {
		if rank := sourceRank(t, source); rank > best || rank == best && t.RegisteredAt.Before(found.RegisteredAt) {
			found, best = t, rank
		}
		return nil
	})
	if err == nil && best < 0 {
		err = catalog.ErrNotFound
	}
	return found, err
}
