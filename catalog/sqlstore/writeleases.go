package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// BeginWrite implements [catalog.WriteLeases].
func (s *Store) BeginWrite(ctx context.Context, w catalog.NewWrite) (id catalog.WriteLeaseID, err error) {
	if err := w.Validate(); err != nil {
		return "", err
	}
	id = catalog.NewID[catalog.WriteLeaseID]()
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, w.Org); err != nil {
			return err
		}
		now := sqldb.Micros(s.db.Clock())
		begun := now
		if w.Kind == catalog.WriteRestore {
			begun = 0 // also read by replicas that do not know kinds
		}
		return tx.Insert(ctx, "id", "INSERT INTO write_leases (id, org_id, delta_id, kind, holder, begun_at, renewed_at) VALUES (?, ?, ?, ?, ?,"+
			" ?, ?)",
			id, w.Org, w.Table, w.Kind, w.Holder, begun, now)
	})
	return id, err
}

// RenewWrite implements [catalog.WriteLeases].
func (s *Store) RenewWrite(ctx context.Context, id catalog.WriteLeaseID) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		changed, err := tx.Exec(ctx, "UPDATE write_leases SET renewed_at = ? WHERE id = ?", sqldb.Micros(s.db.Clock()), id)
		if err == nil && changed == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// DeleteUnder implements [catalog.WriteLeases].
func (s *Store) DeleteUnder(ctx context.Context, id catalog.WriteLeaseID, d catalog.FileDeletion) error {
	if err := d.Validate(); err != nil {
		return err
	}
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		changed, err := tx.Exec(ctx, `UPDATE write_leases SET deleting_config_id = ?, deleting_path = ?, deleting_kept = ?, renewed_at = ?
			WHERE id = ?`, d.Config, d.Path, d.Kept, sqldb.Micros(s.db.Clock()), id)
		if err == nil && changed == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// EndWrite implements [catalog.WriteLeases].
func (s *Store) EndWrite(ctx context.Context, id catalog.WriteLeaseID) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "DELETE FROM write_leases WHERE id = ?", id)
		return err
	})
}

// EndWritesOf implements [catalog.WriteLeases].
func (s *Store) EndWritesOf(ctx context.Context, holder string) (ended int64, err error) {
	return s.loseWrites(ctx, "holder = ? AND holder <> ''", holder)
}

// loseWrites removes the leases that a condition selects, whose holders have ended, and returns
// their number. It first records the deletions of files that the holders had begun, each in its
// own transaction, because each record has its own epoch.
func (s *Store) loseWrites(ctx context.Context, condition string, args ...any) (lost int64, err error) {
	begun, err := sqldb.List(ctx, s.db.Read(), sqldb.Value[catalog.WriteLeaseID],
		"SELECT id FROM write_leases WHERE deleting_path IS NOT NULL AND "+condition, args...)
	if err != nil {
		return 0, err
	}
	for _, id := range begun {
		err := s.db.Change(ctx, func(tx sqldb.Session) error {
			d, err := sqldb.One(ctx, tx, func(r sqldb.Row) (d catalog.FileDeletion, err error) {
				err = r.Scan(&d.Org, &d.Table, &d.Config, &d.Path, &d.Kept)
				return d, err
			}, "DELETE FROM write_leases WHERE id = ? AND "+condition+` AND deleting_path IS NOT NULL
				RETURNING org_id, delta_id, deleting_config_id, deleting_path, deleting_kept`, append([]any{id}, args...)...)
			if errors.Is(err, catalog.ErrNotFound) { // another replica has recorded it, or its holder has renewed the lease
				return sqldb.ErrUnchanged
			}
			if err != nil {
				return err
			}
			lost++
			return s.insertFileDeletion(ctx, tx, d)
		})
		if err != nil {
			return lost, err
		}
	}
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		n, err := tx.Exec(ctx, "DELETE FROM write_leases WHERE deleting_path IS NULL AND "+condition, args...)
		lost += n
		return err
	})
	return lost, err
}

// OldestWrite implements [catalog.WriteLeases].
func (s *Store) OldestWrite(ctx context.Context, org catalog.OrgID, table catalog.DeltaID, since time.Time) (time.Time, error) {
	return sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (begun time.Time, err error) {
		err = r.Scan(sqldb.Time(&begun))
		return begun, err
	}, "SELECT MIN(begun_at) FROM write_leases WHERE org_id = ? AND delta_id = ? AND renewed_at >= ? AND kind <> ?",
		org, table, sqldb.Micros(since), catalog.WriteVacuum)
}

// VacuumUnderWay implements [catalog.WriteLeases].
func (s *Store) VacuumUnderWay(
	ctx context.Context, org catalog.OrgID, table catalog.DeltaID, except catalog.WriteLeaseID, since time.Time,
) (bool, error) {
	n, err := sqldb.One(ctx, s.db.Read(), sqldb.Value[int64],
		"SELECT COUNT(*) FROM write_leases WHERE org_id = ? AND delta_id = ? AND renewed_at >= ? AND kind = ? AND id <> ?",
		org, table, sqldb.Micros(since), catalog.WriteVacuum, except)
	return n > 0, err
}

// ForgetWrites implements [catalog.WriteLeases].
func (s *Store) ForgetWrites(ctx context.Context, since time.Time) (forgotten int64, err error) {
	return s.loseWrites(ctx, "renewed_at < ?", sqldb.Micros(since))
}
