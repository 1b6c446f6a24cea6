package ops

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// reach is how far the statements of one caller go, and how they are to be run.
type reach struct {
	// roots are the directories and remote configurations of everything that is
	// visible. A change leads to another session.
	roots []string
	// schema is the only visible one, or empty.
	schema string
	// keepWhole leaves conditions of the statement out of filtered copies: the
	// time that a copy takes then tells nothing.
	keepWhole bool
}

func (o *Queries) reach(ctx context.Context, a Actor, m *moment) (reach, error) {
	return answer(ctx, m, o.Memory.reach, viewerFields(a.Viewer), func() (reach, error) { return o.readReach(ctx, a) })
}

func (o *Queries) readReach(ctx context.Context, a Actor) (reach, error) {
	var r reach
	configs := 0
	err := eachItem(func(page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
		return o.Store.ListStorageConfigs(ctx, a.Viewer, page)
	}, func(config catalog.StorageConfig) error {
		r.roots = append(r.roots, sessionRoot(config))
		configs++
		r.schema = config.Schema()
		return nil
	})
	if err != nil {
		return reach{}, err
	}
	if configs != 1 {
		r.schema = ""
	}
	// A setting of the organisation holds whatever the caller may read.
	org, err := o.Store.Organisation(authz.System(ctx, "barrier setting"), a.Org)
	r.keepWhole = org.Config.Enabled(catalog.FeatureRowFilterBarrierAlways)
	return r, err
}
