package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// sealedColumn is a column of encrypted secrets. org and subject are expressions over its
// table that give the fields of [catalog.SealedSecret].
type sealedColumn struct {
	kind                        catalog.SealedKind
	table, column, org, subject string
}

// sealedColumns lists all columns of encrypted secrets. A test compares it with the
// schema.
var sealedColumns = []sealedColumn{
	{catalog.SealedStorageCredential, "storage_secrets", "sealed",
		"(SELECT c.org_id FROM storage_configs c WHERE c.id = config_id)", "config_id"},
	{catalog.SealedSSOSecret, "sso_configs", "sealed_secret", "org_id", "issuer"},
	{catalog.SealedProviderAppSecret, "provider_apps", "sealed_secret", "org_id", "provider"},
	{catalog.SealedProviderLinkTokens, "provider_links", "sealed_token", "org_id", "provider || '/' || user_id"},
	{catalog.SealedSigningKey, "signing_keys", "sealed_key", "''", "id"},
	{catalog.SealedAnalysisKey, "analysis_providers", "sealed_key", "org_id", "family"},
}

func sealedColumnOf(kind catalog.SealedKind) (sealedColumn, error) {
	i := slices.IndexFunc(sealedColumns, func(c sealedColumn) bool { return c.kind == kind })
	if i < 0 {
		return sealedColumn{}, fmt.Errorf("%w: kind %q of sealed secrets", catalog.ErrInvalid, kind)
	}
	return sealedColumns[i], nil
}

// HasSealedSecrets implements [catalog.SealedSecrets].
func (s *Store) HasSealedSecrets(ctx context.Context) (bool, error) {
	exists := make([]string, len(sealedColumns))
	for i, c := range sealedColumns {
		exists[i] = "EXISTS (SELECT 1 FROM " + c.table + ")"
	}
	found, err := sqldb.One(ctx, s.db.Read(), sqldb.Value[int],
		"SELECT CASE WHEN "+strings.Join(exists, " OR ")+" THEN 1 ELSE 0 END")
	return found == 1, err
}

// ListSealedSecrets implements [catalog.SealedSecrets].
func (s *Store) ListSealedSecrets(ctx context.Context, after catalog.SealedSecret, limit int) ([]catalog.SealedSecret, error) {
	c, err := sealedColumnOf(after.Kind)
	if err != nil {
		return nil, err
	}
	return sqldb.List(ctx, s.db.Read(), func(r sqldb.Row) (catalog.SealedSecret, error) {
		found := catalog.SealedSecret{Kind: after.Kind}
		err := r.Scan(&found.Org, &found.Subject, &found.Sealed)
		return found, err
	}, "SELECT org, subject, sealed FROM (SELECT "+c.org+" AS org, "+c.subject+" AS subject, "+c.column+" AS sealed FROM "+c.table+`) s
		WHERE org > ? OR org = ? AND subject > ? ORDER BY org, subject LIMIT ?`, after.Org, after.Org, after.Subject, limit)
}

// ReplaceSealedSecret implements [catalog.SealedSecrets].
func (s *Store) ReplaceSealedSecret(ctx context.Context, read catalog.SealedSecret, sealed []byte) (replaced bool, err error) {
	c, err := sealedColumnOf(read.Kind)
	if err != nil {
		return false, err
	}
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		n, err := tx.Exec(ctx, "UPDATE "+c.table+" SET "+c.column+" = ? WHERE "+c.org+" = ? AND "+c.subject+" = ? AND "+c.column+" = ?",
			sealed, read.Org, read.Subject, read.Sealed)
		replaced = n > 0
		return err
	})
	return replaced, err
}
