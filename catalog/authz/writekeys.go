package authz

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// ClaimWriteKey is for the system: the code that writes decides who may write.
func (s *Store) ClaimWriteKey(ctx context.Context, org catalog.OrgID, key, fingerprint string) (catalog.WriteKey, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.WriteKey{}, err
	}
	return s.inner.ClaimWriteKey(ctx, org, key, fingerprint)
}

// SettleWriteKey is for the system, which runs the write.
func (s *Store) SettleWriteKey(ctx context.Context, org catalog.OrgID, key string, reply json.RawMessage) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.SettleWriteKey(ctx, org, key, reply)
}

// ForgetWriteKeys is for the system: it spans organisations.
func (s *Store) ForgetWriteKeys(ctx context.Context, before time.Time) (int64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.ForgetWriteKeys(ctx, before)
}
