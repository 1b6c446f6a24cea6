package sqlstore

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// keepFileDeletions is how long records of deletions are kept.
const keepFileDeletions = 7 * 24 * time.Hour

// RecordFileDeletion implements [catalog.FileDeletions].
func (s *Store) RecordFileDeletion(ctx context.Context, d catalog.FileDeletion) error {
	if err := d.Validate(); err != nil {
		return err
	}
	return s.db.Change(ctx, func(tx sqldb.Session) error { return s.insertFileDeletion(ctx, tx, d) })
}

// insertFileDeletion records a deletion in a transaction that has raised the epoch. A transaction
// records no more than one.
func (s *Store) insertFileDeletion(ctx context.Context, tx sqldb.Session, d catalog.FileDeletion) error {
	now := s.db.Clock()
	_, err := tx.Exec(ctx, "DELETE FROM file_deletions WHERE deleted_at < ?", sqldb.Micros(now.Add(-keepFileDeletions)))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO file_deletions (epoch, org_id, config_id, path, delta_id, kept, deleted_at)
		SELECT value, ?, ?, ?, ?, ?, ? FROM catalog_epoch WHERE id = 1`, d.Org, d.Config, d.Path, d.Table, d.Kept, sqldb.Micros(now))
	return err
}

// FileDeletionsSince implements [catalog.FileDeletions].
func (s *Store) FileDeletionsSince(ctx context.Context, epoch uint64) ([]catalog.FileDeletion, error) {
	return sqldb.List(ctx, s.db.Read(), func(r sqldb.Row) (d catalog.FileDeletion, err error) {
		err = r.Scan(&d.Epoch, &d.Org, &d.Config, &d.Path, &d.Table, &d.Kept)
		return d, err
	}, "SELECT epoch, org_id, config_id, path, delta_id, kept FROM file_deletions WHERE epoch > ? ORDER BY epoch", epoch)
}
