package maintenance

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// listRemoved yields the existing files that the log has removed and no version
// needs.
func (v *vacuum) listRemoved(ctx context.Context) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if err := v.refresh(ctx); err != nil {
			yield(objstore.Object{}, err)
			return
		}
		names := map[string]struct{}{}
		err := v.snap.EachRemoved(ctx, func(name string) {
			if _, needed := v.needed[name]; !needed {
				names[name] = struct{}{}
			}
		})
		if err != nil {
			yield(objstore.Object{}, err)
			return
		}
		for some := range slices.Chunk(slices.Sorted(maps.Keys(names)), batchFiles) {
			objects, err := v.existing(ctx, some)
			if err != nil {
				yield(objstore.Object{}, err)
				return
			}
			for _, object := range objects {
				if !yield(object, nil) {
					return
				}
			}
		}
	}
}

// existing returns those of the named files that exist and that a vacuum may
// delete.
func (v *vacuum) existing(ctx context.Context, names []string) ([]objstore.Object, error) {
	found := make([]objstore.Object, len(names))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelRequests)
	for i, name := range names {
		if !v.folder.owns(name) {
			continue
		}
		g.Go(func() (err error) {
			found[i], err = v.bucket.Stat(gctx, name)
			if errors.Is(err, objstore.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(o objstore.Object) bool { return o.Name == "" }), nil
}
