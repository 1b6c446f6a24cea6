package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// ClaimWriteKey implements [catalog.WriteKeys].
func (s *Store) ClaimWriteKey(ctx context.Context, org catalog.OrgID, key, fingerprint string) (claimed catalog.WriteKey, err error) {
	if err := catalog.ValidateWriteKey(key, fingerprint); err != nil {
		return claimed, err
	}
	claimed, err = s.claimWriteKey(ctx, org, key, fingerprint)
	if errors.Is(err, catalog.ErrExists) { // another request was faster; return its record
		claimed, err = s.claimWriteKey(ctx, org, key, fingerprint)
	}
	return claimed, err
}

func (s *Store) claimWriteKey(ctx context.Context, org catalog.OrgID, key, fingerprint string) (claimed catalog.WriteKey, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		claimed, err = sqldb.One(ctx, tx, func(r sqldb.Row) (k catalog.WriteKey, err error) {
			var reply string
			if err = r.Scan(&k.Fingerprint, &reply, sqldb.Time(&k.ClaimedAt)); reply != "" {
				k.Reply = json.RawMessage(reply)
			}
			return k, err
		}, "SELECT fingerprint, reply, claimed_at FROM write_keys WHERE org_id = ? AND key_hash = ?", org, key)
		if !errors.Is(err, catalog.ErrNotFound) {
			return err
		}
		if err := sqldb.RequireOrg(ctx, tx, org); err != nil {
			return err
		}
		claimed = catalog.WriteKey{Fingerprint: fingerprint}
		return tx.Insert(ctx, "key", "INSERT INTO write_keys (org_id, key_hash, fingerprint, reply, claimed_at) VALUES (?, ?, ?, '', ?)",
			org, key, fingerprint, sqldb.Micros(s.db.Clock()))
	})
	return claimed, err
}

// SettleWriteKey implements [catalog.WriteKeys].
func (s *Store) SettleWriteKey(ctx context.Context, org catalog.OrgID, key string, reply json.RawMessage) error {
	if err := catalog.ValidateWriteReply(reply); err != nil {
		return err
	}
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		changed, err := tx.Exec(ctx, "UPDATE write_keys SET reply = ? WHERE org_id = ? AND key_hash = ?", string(reply), org, key)
		if err == nil && changed == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// ForgetWriteKeys implements [catalog.WriteKeys].
func (s *Store) ForgetWriteKeys(ctx context.Context, before time.Time) (forgotten int64, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		forgotten, err = tx.Exec(ctx, "DELETE FROM write_keys WHERE claimed_at < ?", sqldb.Micros(before))
		return err
	})
	return forgotten, err
}
