package identity

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectApp = `SELECT p.org_id, p.provider, p.client_id, p.tenant, p.version, p.created_at, p.updated_at
	FROM provider_apps p`

func appDest(a *catalog.ProviderApp) []any {
	return []any{&a.Org, &a.Provider, &a.ClientID, &a.Tenant, &a.Version, sqldb.Time(&a.CreatedAt), sqldb.Time(&a.UpdatedAt)}
}

func scanApp(r sqldb.Row) (a catalog.ProviderApp, err error) {
	err = r.Scan(appDest(&a)...)
	return a, err
}

func app(ctx context.Context, s sqldb.Session, org catalog.OrgID, provider catalog.Provider) (catalog.ProviderApp, error) {
	return sqldb.One(ctx, s, scanApp, selectApp+" WHERE p.org_id = ? AND p.provider = ? AND "+sqldb.LiveOrg("p.org_id"), org, provider)
}

// PutProviderApp implements [catalog.ProviderApps].
func (s *Store) PutProviderApp(ctx context.Context, n catalog.NewProviderApp) (stored catalog.ProviderApp, err error) {
	if err := n.Validate(); err != nil {
		return stored, err
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, n.Org); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM provider_links WHERE org_id = ? AND provider = ? AND NOT EXISTS (SELECT 1 FROM provider_apps a
			WHERE a.org_id = ? AND a.provider = ? AND a.client_id = ? AND a.tenant = ?)`,
			n.Org, n.Provider, n.Org, n.Provider, n.ClientID, n.Tenant)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO provider_apps (org_id, provider, client_id, sealed_secret, tenant, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT (org_id, provider) DO UPDATE SET client_id = excluded.client_id,
			sealed_secret = excluded.sealed_secret, tenant = excluded.tenant, version = provider_apps.version + 1,
			updated_at = excluded.updated_at`,
			n.Org, n.Provider, n.ClientID, n.SealedSecret, n.Tenant, now, now)
		if err != nil {
			return err
		}
		stored, err = app(ctx, tx, n.Org, n.Provider)
		return err
	})
	return stored, err
}

// ProviderApp implements [catalog.ProviderApps].
func (s *Store) ProviderApp(ctx context.Context, org catalog.OrgID, provider catalog.Provider) (catalog.ProviderApp, error) {
	return app(ctx, s.db.Read(), org, provider)
}

// ProviderApps implements [catalog.ProviderApps].
func (s *Store) ProviderApps(ctx context.Context, org catalog.OrgID) ([]catalog.ProviderApp, error) {
	return sqldb.List(ctx, s.db.Read(), scanApp, selectApp+" WHERE p.org_id = ? AND "+sqldb.LiveOrg("p.org_id")+
		" ORDER BY p.provider", org)
}

// DeleteProviderApp implements [catalog.ProviderApps].
func (s *Store) DeleteProviderApp(ctx context.Context, org catalog.OrgID, provider catalog.Provider) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := app(ctx, tx, org, provider); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM provider_apps WHERE org_id = ? AND provider = ?", org, provider)
		return err
	})
}

// ProviderAppSecret implements [catalog.ProviderApps].
func (s *Store) ProviderAppSecret(ctx context.Context, org catalog.OrgID, provider catalog.Provider) (catalog.ProviderApp, []byte, error) {
	type sealedApp struct {
		app    catalog.ProviderApp
		sealed []byte
	}
	found, err := sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (f sealedApp, err error) {
		err = r.Scan(append(appDest(&f.app), &f.sealed)...)
		return f, err
	}, `SELECT p.org_id, p.provider, p.client_id, p.tenant, p.version, p.created_at, p.updated_at, p.sealed_secret FROM provider_apps p
		WHERE p.org_id = ? AND p.provider = ? AND `+sqldb.LiveOrg("p.org_id"), org, provider)
	return found.app, found.sealed, err
}
