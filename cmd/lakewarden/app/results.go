package app

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

// resultsTrial bounds the trial of the results' bucket at start.
const resultsTrial = 10 * time.Second

// openResults opens the place of kept results; Verify has checked it. What
// processes that died left half-written in a folder goes. A bucket that is not
// there, or denies what has to be done in it, is an error now and not when the
// first result is kept; one that does not answer may do so later.
func openResults(ctx context.Context, settings config.Settings, log *slog.Logger) (objstore.Bucket, io.Closer, error) {
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
	// Whether it creates objects atomically does not matter here: each name has
	// one writer.
	err = storage.Probe(trial, bucket).Err()
	if errors.Is(err, objstore.ErrDenied) || errors.Is(err, objstore.ErrNoBucket) {
		return nil, nil, errors.Join(fmt.Errorf("results_url: %w", err), client.Close())
	}
	if err != nil && !errors.Is(err, storage.ErrNotAtomic) {
		log.Warn("the store of results does not answer as it should", "error", err)
	}
	return bucket, client, nil
}

// abandonedAfter is longer than any result takes to be written.
const abandonedAfter = 24 * time.Hour

func openResultsFolder(ctx context.Context, dir string, log *slog.Logger) (objstore.Bucket, error) {
	// Rows of governed tables lie there.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("results_url: %w", err)
	}
	bucket, err := file.New(dir)
	if err != nil {
		return nil, fmt.Errorf("results_url: %w", err)
	}
	if _, err := objstore.DiscardUploads(ctx, bucket, time.Now().Add(-abandonedAfter)); err != nil {
		log.Warn("some of what was left half-written beside the results stays", "error", err)
	}
	return bucket, nil
}
