package sqlstore

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Only this file and package people refer to the table storage_secrets, because secrets are not
// part of the record.

// putSecret stores the sealed credential of a configuration and replaces an existing
// one.
func putSecret(ctx context.Context, tx sqldb.Session, id catalog.ConfigID, sealed []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO storage_secrets (config_id, sealed) VALUES (?, ?)
		ON CONFLICT (config_id) DO UPDATE SET sealed = excluded.sealed`, id, sealed)
	return err
}

// StorageSecret implements [catalog.StorageConfigs].
func (s *Store) StorageSecret(ctx context.Context, org catalog.OrgID, id catalog.ConfigID) (catalog.StorageSecret, error) {
	var w sqldb.Where
	w.Visible(catalog.SystemViewer(org))
	w.And("c.id = ?", id)
	return sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (secret catalog.StorageSecret, err error) {
		err = r.Scan(&secret.Sealed, &secret.AuthMode, sqldb.Time(&secret.ExpiresAt))
		return secret, err
	}, `SELECT s.sealed, c.auth_mode, c.credential_expires_at
		FROM storage_configs c JOIN storage_secrets s ON s.config_id = c.id WHERE `+w.Text, w.Args...)
}

// ReplaceStorageSecret implements [catalog.StorageConfigs].
func (s *Store) ReplaceStorageSecret(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, expectedVersion int64,
	secret catalog.StorageSecret) (updated catalog.StorageConfig, err error) {
	if err := secret.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		c, err := visibleConfigAt(ctx, tx, v, id, expectedVersion)
		if err != nil {
			return err
		}
		if err := putSecret(ctx, tx, id, secret.Sealed); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE storage_configs SET auth_mode = ?, credential_expires_at = ?,
			version = version + 1, updated_at = ? WHERE id = ? AND version = ?`,
			secret.AuthMode, sqldb.MicrosOrNull(secret.ExpiresAt), sqldb.Micros(s.db.Clock()), id, c.Version)
		if err != nil {
			return err
		}
		if err := sqldb.Replaced(n, c.Version); err != nil {
			return err
		}
		updated, err = visibleConfig(ctx, tx, v, id)
		return err
	})
	return updated, err
}
