package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// CreateOpenClient is for the system: whoever registers a client is unknown.
func (s *Store) CreateOpenClient(ctx context.Context, client catalog.NewOpenClient) (catalog.Client, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Client{}, err
	}
	return s.inner.CreateOpenClient(ctx, client)
}

// ExpireOpenClients is for the system.
func (s *Store) ExpireOpenClients(ctx context.Context, createdBefore time.Time) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ExpireOpenClients(ctx, createdBefore)
}
