package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
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
	err = s.db.transact(ctx, func(tx session) error {
		claimed, err = one(ctx, tx, func(r row) (k catalog.WriteKey, err error) {
			var reply string
			if err = r.Scan(&k.Fingerprint, &reply, timeAt(&k.ClaimedAt)); reply != "" {
				k.Reply = json.RawMessage(reply)
			}
			return k, err
		}, "SELECT fingerprint, reply, claimed_at FROM write_keys WHERE org_id = ? AND key_hash = ?", org, key)
		if !errors.Is(err, catalog.ErrNotFound) {
			return err
		}
		if err := requireOrg(ctx, tx, org); err != nil {
			return err
		}
		claimed = catalog.WriteKey{Fingerprint: fingerprint}
		return tx.insert(ctx, "key", "INSERT INTO write_keys (org_id, key_hash, fingerprint, reply, claimed_at) VALUES (?, ?, ?, '', ?)",
			org, key, fingerprint, micros(s.db.clock()))
	})
	return claimed, err
}

// SettleWriteKey implements [catalog.WriteKeys].
func (s *Store) SettleWriteKey(ctx context.Context, org catalog.OrgID, key string, reply json.RawMessage) error {
	if err := catalog.ValidateWriteReply(reply); err != nil {
		return err
	}
	return s.db.transact(ctx, func(tx session) error {
		changed, err := tx.exec(ctx, "UPDATE write_keys SET reply = ? WHERE org_id = ? AND key_hash = ?", string(reply), org, key)
		if err == nil && changed == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// ForgetWriteKeys implements [catalog.WriteKeys].
func (s *Store) ForgetWriteKeys(ctx context.Context, before time.Time) (forgotten int64, err error) {
	err = s.db.transact(ctx, func(tx session) error {
		forgotten, err = tx.exec(ctx, "DELETE FROM write_keys WHERE claimed_at < ?", micros(before))
		return err
	})
	return forgotten, err
}
