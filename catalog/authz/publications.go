package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// PublishWrite is for the system, which runs the write.
func (s *Store) PublishWrite(ctx context.Context, lease catalog.WriteLeaseID, domains int64) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.PublishWrite(ctx, lease, domains)
}

// WithdrawWrite is for the system, which runs the write.
func (s *Store) WithdrawWrite(ctx context.Context, lease catalog.WriteLeaseID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.WithdrawWrite(ctx, lease)
}

// PublishingBefore is for the system, which changes domains on behalf of callers.
func (s *Store) PublishingBefore(ctx context.Context, org catalog.OrgID, table catalog.DeltaID, domains int64,
	since time.Time) (bool, error) {
	if err := systemOnly(ctx); err != nil {
		return false, err
	}
	return s.inner.PublishingBefore(ctx, org, table, domains, since)
}
