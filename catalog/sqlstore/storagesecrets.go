package sqlstore

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// The column sealed_secret is named in this file and in the insert of a new
// configuration only: it is no part of the record.

// StorageSecret implements [catalog.StorageConfigs].
func (s *Store) StorageSecret(ctx context.Context, org catalog.OrgID, id catalog.ConfigID) (catalog.StorageSecret, error) {
	var w where
	w.visible(catalog.SystemViewer(org))
	w.and("c.id = ?", id)
	w.and("c.sealed_secret IS NOT NULL")
	return one(ctx, s.read(), func(r row) (secret catalog.StorageSecret, err error) {
		err = r.Scan(&secret.Sealed, &secret.AuthMode, timeAt{&secret.ExpiresAt})
		return secret, err
	}, "SELECT c.sealed_secret, c.auth_mode, c.credential_expires_at FROM storage_configs c WHERE "+w.text, w.args...)
}

// ReplaceStorageSecret implements [catalog.StorageConfigs].
func (s *Store) ReplaceStorageSecret(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, expectedVersion int64, secret catalog.StorageSecret) (updated catalog.StorageConfig, err error) {
	if err := secret.Validate(); err != nil {
		return updated, err
	}
	err = s.change(ctx, func(tx session) error {
		c, err := visibleConfig(ctx, tx, v, id)
		if err != nil {
			return err
		}
		if err := compare(expectedVersion, c.Version); err != nil {
			return err
		}
		n, err := tx.exec(ctx, `UPDATE storage_configs SET sealed_secret = ?, auth_mode = ?, credential_expires_at = ?,
			version = version + 1, updated_at = ? WHERE id = ? AND version = ?`,
			secret.Sealed, secret.AuthMode, microsOrNull(secret.ExpiresAt), micros(s.clock()), id, c.Version)
		if err != nil {
			return err
		}
		if err := replaced(n, c.Version); err != nil {
			return err
		}
		updated, err = visibleConfig(ctx, tx, v, id)
		return err
	})
	return updated, err
}
