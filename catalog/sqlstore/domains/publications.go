package domains

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// PublishWrite implements [catalog.Publications].
func (s *Store) PublishWrite(ctx context.Context, id catalog.WriteLeaseID, domains int64) error {
	type lease struct {
		org   catalog.OrgID
		table catalog.DeltaID
	}
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		of, err := sqldb.One(ctx, tx, func(r sqldb.Row) (l lease, err error) {
			err = r.Scan(&l.org, &l.table)
			return l, err
		}, "SELECT org_id, delta_id FROM write_leases WHERE id = ?", id)
		if err != nil {
			return err
		}
		current, err := lockedDomains(ctx, tx, of.org, of.table)
		if err != nil {
			return err
		}
		if current != domains {
			return catalog.ErrDomainsChanged
		}
		changed, err := tx.Exec(ctx, "UPDATE write_leases SET publishing = ?, renewed_at = ? WHERE id = ?",
			domains, sqldb.Micros(s.db.Clock()), id)
		if err == nil && changed == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// lockedDomains returns the version of a table's domains and keeps it from being raised
// before the transaction ends. A transaction that raises it has either committed before,
// or commits after this one. A table without a version gets its row, because a lock needs
// one.
func lockedDomains(ctx context.Context, tx sqldb.Session, org catalog.OrgID, table catalog.DeltaID) (int64, error) {
	read := func() (int64, error) {
		return sqldb.One(ctx, tx, sqldb.Value[int64],
			"SELECT version FROM table_domain_versions WHERE org_id = ? AND delta_id = ?"+tx.ShareClause(), org, table)
	}
	version, err := read()
	if !errors.Is(err, catalog.ErrNotFound) {
		return version, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO table_domain_versions (org_id, delta_id, version) VALUES (?, ?, 0)
		ON CONFLICT (org_id, delta_id) DO NOTHING`, org, table)
	if err != nil {
		return 0, err
	}
	return read()
}

// WithdrawWrite implements [catalog.Publications].
func (s *Store) WithdrawWrite(ctx context.Context, id catalog.WriteLeaseID) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "UPDATE write_leases SET publishing = NULL WHERE id = ?", id)
		return err
	})
}

// PublishingBefore implements [catalog.Publications].
func (s *Store) PublishingBefore(ctx context.Context, org catalog.OrgID, table catalog.DeltaID, domains int64,
	since time.Time) (bool, error) {
	n, err := sqldb.One(ctx, s.db.Read(), sqldb.Value[int64], `SELECT COUNT(*) FROM write_leases WHERE org_id = ? AND delta_id = ?
		AND publishing < ? AND renewed_at >= ?`, org, table, domains, sqldb.Micros(since))
	return n > 0, err
}
