package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// RecordFileDeletion is for the system, which has deleted the files.
func (s *Store) RecordFileDeletion(ctx context.Context, deletion catalog.FileDeletion) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.RecordFileDeletion(ctx, deletion)
}

// FileDeletionsSince is for the system: it spans organisations.
func (s *Store) FileDeletionsSince(ctx context.Context, epoch uint64) ([]catalog.FileDeletion, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.FileDeletionsSince(ctx, epoch)
}
