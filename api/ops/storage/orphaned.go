package storage

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
)

// memberships are the members of organisations.
type memberships interface {
	Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
}

// orphaned reports whether a configuration is personal and its owner is not a member any more. Nobody
// sees it until the owner returns, and the server does not use it meanwhile.
func orphaned(ctx context.Context, members memberships, config catalog.StorageConfig) (bool, error) {
	if !config.Personal() {
		return false, nil
	}
	_, err := members.Membership(ctx, config.Org, config.Owner)
	if errors.Is(err, catalog.ErrNotFound) {
		return true, nil
	}
	return false, err
}
