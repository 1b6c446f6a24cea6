package maintenance

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Purge deletes what lies in a table's folder, uploads under way too, but for tables
// that lie below it. The log goes before the data, so that no version names what is not there, and
// of the log the newest commit first: what is left of it is a version of the
// table, or none. A run that ended early is simply run again. Errors are those of
// the bucket.
func Purge(ctx context.Context, bucket objstore.Bucket) error {
	var log, data []string
	below := nested{tables: map[string]bool{}}
	for object, err := range bucket.List(ctx, "", objstore.ListOptions{}) {
		if err != nil {
			return err
		}
		if at := strings.Index(object.Name, "/"+logFolder+"/"); at >= 0 {
			below.tables[object.Name[:at]] = true
		}
		if strings.HasPrefix(object.Name, logFolder+"/") {
			log = append(log, object.Name)
		} else {
			data = append(data, object.Name)
		}
	}
	slices.Reverse(log)
	for _, name := range log {
		if below.covers(name) {
			continue
		}
		if err := bucket.Delete(ctx, name); err != nil {
			return err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, name := range data {
		if !below.covers(name) {
			g.Go(func() error { return bucket.Delete(gctx, name) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for upload, err := range objstore.Uploads(ctx, bucket, "") {
		if err != nil {
			return err
		}
		if below.covers(upload.Name) {
			continue
		}
		if err := upload.Discard(ctx); err != nil && !objstore.Withheld(err) {
			return err
		}
	}
	return nil
}
