package analysis

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Store implements [catalog.Analyses]. It is safe for concurrent use.
type Store struct{ db *sqldb.DB }

var _ catalog.Analyses = (*Store)(nil)

// New returns the records of analyses in a database.
func New(db *sqldb.DB) *Store { return &Store{db} }

const (
	providerColumns = "p.org_id, p.family, p.base_url, p.created_at, p.updated_at"
	oneProvider     = " FROM analysis_providers p WHERE p.org_id = ? AND p.family = ? AND "
)

func providerDest(p *catalog.AnalysisProvider) []any {
	return []any{&p.Org, &p.Family, &p.BaseURL, sqldb.Time(&p.CreatedAt), sqldb.Time(&p.UpdatedAt)}
}

func scanProvider(r sqldb.Row) (p catalog.AnalysisProvider, err error) {
	err = r.Scan(providerDest(&p)...)
	return p, err
}

func provider(ctx context.Context, s sqldb.Session, org catalog.OrgID, family catalog.ModelFamily) (catalog.AnalysisProvider, error) {
	return sqldb.One(ctx, s, scanProvider, "SELECT "+providerColumns+oneProvider+sqldb.LiveOrg("p.org_id"), org, family)
}

// PutAnalysisProvider implements [catalog.AnalysisProviders].
func (s *Store) PutAnalysisProvider(ctx context.Context, n catalog.NewAnalysisProvider) (stored catalog.AnalysisProvider, err error) {
	if err := n.Validate(); err != nil {
		return stored, err
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, n.Org); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO analysis_providers (org_id, family, base_url, sealed_key, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (org_id, family) DO UPDATE SET base_url = excluded.base_url,
			sealed_key = excluded.sealed_key, updated_at = excluded.updated_at`,
			n.Org, n.Family, n.BaseURL, n.SealedKey, now, now)
		if err != nil {
			return err
		}
		stored, err = provider(ctx, tx, n.Org, n.Family)
		return err
	})
	return stored, err
}

// AnalysisProvider implements [catalog.AnalysisProviders].
func (s *Store) AnalysisProvider(ctx context.Context, org catalog.OrgID, family catalog.ModelFamily) (catalog.AnalysisProvider, error) {
	return provider(ctx, s.db.Read(), org, family)
}

// AnalysisProviders implements [catalog.AnalysisProviders].
func (s *Store) AnalysisProviders(ctx context.Context, org catalog.OrgID) ([]catalog.AnalysisProvider, error) {
	return sqldb.List(ctx, s.db.Read(), scanProvider, "SELECT "+providerColumns+" FROM analysis_providers p WHERE p.org_id = ? AND "+
		sqldb.LiveOrg("p.org_id")+" ORDER BY p.family", org)
}

// DeleteAnalysisProvider implements [catalog.AnalysisProviders].
func (s *Store) DeleteAnalysisProvider(ctx context.Context, org catalog.OrgID, family catalog.ModelFamily) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := provider(ctx, tx, org, family); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM analysis_providers WHERE org_id = ? AND family = ?", org, family)
		return err
	})
}

// AnalysisProviderKey implements [catalog.AnalysisProviders].
func (s *Store) AnalysisProviderKey(
	ctx context.Context, org catalog.OrgID, family catalog.ModelFamily,
) (catalog.AnalysisProvider, []byte, error) {
	type sealedProvider struct {
		provider catalog.AnalysisProvider
		sealed   []byte
	}
	found, err := sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (f sealedProvider, err error) {
		err = r.Scan(append(providerDest(&f.provider), &f.sealed)...)
		return f, err
	}, "SELECT "+providerColumns+", p.sealed_key"+oneProvider+sqldb.LiveOrg("p.org_id"), org, family)
	return found.provider, found.sealed, err
}
