package stores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// resultsTrial bounds the test of the results bucket at start.
const resultsTrial = 10 * time.Second

// OpenResults opens the location of stored results, which Verify has checked. It
// removes partial files of ended processes from a folder. A missing bucket or one
// without the necessary permissions is reported now rather than when the first result
// is stored. A bucket that does not respond is accepted, because it may do so later.
func OpenResults(ctx context.Context, settings config.Settings, log *slog.Logger) (objstore.Bucket, io.Closer, error) {
	place, err := settings.Results()
	if err != nil {
		return nil, nil, err
	}
	if place.Folder != "" {
		bucket, err := openResultsFolder(ctx, place.Folder, log)
		return bucket, io.NopCloser(nil), err
	}
	client, err := s3.New(place.Bucket)
	if err != nil {
		return nil, nil, err
	}
	bucket := objstore.Prefix(client, place.Prefix)
	trial, cancel := context.WithTimeout(ctx, resultsTrial)
	defer cancel()
	// It does not matter whether the bucket creates objects atomically, because each
	// name has one writer.
	err = storage.Probe(trial, bucket).Err()
	if errors.Is(err, objstore.ErrDenied) || errors.Is(err, objstore.ErrNoBucket) {
		return nil, nil, errors.Join(fmt.Errorf("results_url: %w", err), client.Close())
	}
	if err != nil && !errors.Is(err, storage.ErrNotAtomic) {
		log.Warn("cannot use the store of results yet", "error", err)
	}
	return bucket, client, nil
}

// abandonedAfter is the age from which a partial file counts as abandoned. Writing a
// result never takes that long.
const abandonedAfter = 24 * time.Hour

func openResultsFolder(ctx context.Context, dir string, log *slog.Logger) (objstore.Bucket, error) {
	// Results contain rows of governed tables.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("results_url: %w", err)
	}
	bucket, err := file.New(dir)
	if err != nil {
		return nil, fmt.Errorf("results_url: %w", err)
	}
	if _, err := objstore.DiscardUploads(ctx, bucket, time.Now().Add(-abandonedAfter)); err != nil {
		log.Warn("some partial files of results not removed", "error", err)
	}
	return bucket, nil
}
