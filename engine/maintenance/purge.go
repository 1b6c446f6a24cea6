package maintenance

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Purge deletes everything in a table's folder, including unfinished uploads,
// except tables below it. It deletes the log before the data, so that no version
// names missing files, and the newest commit first, so that the log is that of an
// older version of the table at any time. A run that was interrupted can be run
// again. Errors are those of the bucket.
func Purge(ctx context.Context, bucket objstore.Bucket) error {
	var log, data []string
	below := nestedTables{tables: map[string]bool{}}
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
		if below.contains(name) {
			continue
		}
		if err := bucket.Delete(ctx, name); err != nil {
			return err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelRequests)
	for _, name := range data {
		if !below.contains(name) {
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
		if below.contains(upload.Name) {
			continue
		}
		if err := upload.Discard(ctx); err != nil && !objstore.Withheld(err) {
			return err
		}
	}
	return nil
}
