package sqlstore

import (
	"context"
	"encoding/json"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/moves"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const configColumns = `c.id, c.org_id, c.name, c.slug, c.kind, c.workspace_id, c.owner_user_id, c.location, c.settings,
	c.auth_mode, c.credential_expires_at, c.discovered_at, CASE WHEN c.sandbox = '' THEN 0 ELSE 1 END, c.version, c.created_at, c.updated_at`

const selectConfig = "SELECT " + configColumns + " FROM storage_configs c"

// configDest is where configColumns are scanned to.
func configDest(c *catalog.StorageConfig) []any {
	return []any{
		&c.ID, &c.Org, &c.Name, &c.Slug, &c.Kind, sqldb.OrEmpty(&c.Workspace), &c.Owner, &c.Location, sqldb.JSON(&c.Settings),
		&c.AuthMode, sqldb.Time(&c.CredentialExpiresAt), sqldb.Time(&c.DiscoveredAt), &c.Sandbox, &c.Version,
		sqldb.Time(&c.CreatedAt), sqldb.Time(&c.UpdatedAt),
	}
}

func scanConfig(r sqldb.Row) (c catalog.StorageConfig, err error) {
	err = r.Scan(configDest(&c)...)
	return c, err
}

func visibleConfig(ctx context.Context, s sqldb.Session, v catalog.Viewer, id catalog.ConfigID) (catalog.StorageConfig, error) {
	var w sqldb.Where
	w.Visible(v)
	w.And("c.id = ?", id)
	return sqldb.One(ctx, s, scanConfig, selectConfig+" WHERE "+w.Text, w.Args...)
}

// visibleConfigAt is visibleConfig of an expected version, for changes.
func visibleConfigAt(ctx context.Context, s sqldb.Session, v catalog.Viewer, id catalog.ConfigID,
	expected int64) (catalog.StorageConfig, error) {
	c, err := visibleConfig(ctx, s, v, id)
	if err == nil && c.Sandbox {
		err = catalog.ErrSandbox
	}
	if err == nil {
		err = sqldb.Compare(expected, c.Version)
	}
	return c, err
}

// CreateStorageConfig implements [catalog.StorageConfigs].
func (s *Store) CreateStorageConfig(ctx context.Context, n catalog.NewStorageConfig) (created catalog.StorageConfig, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.ConfigID]()
	}
	if len(n.Settings) == 0 {
		n.Settings = json.RawMessage("{}")
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := membership(ctx, tx, n.Org, n.Owner); err != nil {
			return err
		}
		if n.Workspace != "" {
			if _, err := workspace(ctx, tx, n.Org, n.Workspace); err != nil {
				return err
			}
		}
		if err := freeLocation(ctx, tx, n); err != nil {
			return err
		}
		err := tx.Insert(ctx, "id", `INSERT INTO storage_configs (id, org_id, name, slug, kind, workspace_id,
			owner_user_id, location, settings, auth_mode, credential_expires_at, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`,
			n.ID, n.Org, n.Name, catalog.Slug(n.Name), n.Kind, sqldb.TextOrNull(n.Workspace),
			n.Owner, n.Location, string(n.Settings), n.AuthMode, sqldb.MicrosOrNull(n.CredentialExpiresAt), now, now)
		if err != nil {
			return err
		}
		if len(n.SealedSecret) > 0 {
			if err := putSecret(ctx, tx, n.ID, n.SealedSecret); err != nil {
				return err
			}
		}
		created, err = visibleConfig(ctx, tx, catalog.SystemViewer(n.Org), n.ID)
		return err
	})
	return created, err
}

// freeLocation returns ErrLocationTaken if the location overlaps one of another
// organisation or, for local storage, any other local one. Locations of a deleted
// organisation count, because it can be restored, and so do those of purged sandboxes,
// because their files are about to be deleted.
func freeLocation(ctx context.Context, tx sqldb.Session, n catalog.NewStorageConfig) error {
	var w sqldb.Where
	w.And("(substr(c.location, 1, length(?)) = ? OR substr(?, 1, length(c.location)) = c.location)",
		n.Location, n.Location, n.Location)
	if n.Kind == catalog.KindLocal {
		w.And("(c.org_id <> ? OR c.kind = ?)", n.Org, catalog.KindLocal)
	} else {
		w.And("c.org_id <> ?", n.Org)
	}
	taken, err := sqldb.One(ctx, tx, sqldb.Value[int], `SELECT count(*) FROM (SELECT org_id, kind, location FROM storage_configs
		UNION ALL SELECT id, '`+string(catalog.KindLocal)+`', sandbox FROM purged_organisations WHERE sandbox <> '') c WHERE `+w.Text, w.Args...)
	if err == nil && taken > 0 {
		err = catalog.ErrLocationTaken
	}
	return err
}

// StorageConfig implements [catalog.StorageConfigs].
func (s *Store) StorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID) (catalog.StorageConfig, error) {
	return visibleConfig(ctx, s.db.Read(), v, id)
}

// StorageConfigBySchema implements [catalog.StorageConfigs].
func (s *Store) StorageConfigBySchema(ctx context.Context, v catalog.Viewer, schema string) (none catalog.StorageConfig, err error) {
	if id, ok := catalog.ParseSchemaName(schema); ok {
		return visibleConfig(ctx, s.db.Read(), v, id)
	}
	var w sqldb.Where
	w.Visible(v)
	w.And("c.slug = ?", catalog.FoldName(schema))
	found, err := sqldb.List(ctx, s.db.Read(), scanConfig, selectConfig+" WHERE "+w.Text+" LIMIT 2", w.Args...)
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, catalog.ErrNotFound
	case len(found) > 1:
		return none, catalog.ErrAmbiguous
	}
	return found[0], nil
}

// ListStorageConfigs implements [catalog.StorageConfigs].
func (s *Store) ListStorageConfigs(ctx context.Context, v catalog.Viewer, page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
	order := sqldb.Paging[catalog.StorageConfig]{
		List: "storage_configs", Key: "c.created_at", ID: "c.id", Number: true,
		Position: func(c catalog.StorageConfig) (string, string) { return sqldb.TimeKey(c.CreatedAt), string(c.ID) },
	}
	var w sqldb.Where
	w.Visible(v)
	return order.Fetch(ctx, s.db.Read(), page, scanConfig, selectConfig, w)
}

// UpdateStorageConfig implements [catalog.StorageConfigs].
func (s *Store) UpdateStorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, expectedVersion int64,
	change catalog.StorageConfigChange) (updated catalog.StorageConfig, err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		c, err := visibleConfigAt(ctx, tx, v, id, expectedVersion)
		if err != nil {
			return err
		}
		if change.Name != nil {
			c.Name = *change.Name
		}
		if change.Settings != nil {
			c.Settings = *change.Settings
			if len(c.Settings) == 0 {
				c.Settings = json.RawMessage("{}")
			}
		}
		n, err := tx.Exec(ctx, `UPDATE storage_configs SET name = ?, slug = ?, settings = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ?`,
			c.Name, catalog.Slug(c.Name), string(c.Settings), sqldb.Micros(s.db.Clock()), id, c.Version)
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

// DeleteStorageConfig implements [catalog.StorageConfigs].
func (s *Store) DeleteStorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, expectedVersion int64) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		c, err := visibleConfigAt(ctx, tx, v, id, expectedVersion)
		if err != nil {
			return err
		}
		if err := moves.Uses(ctx, tx, id); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM storage_configs WHERE id = ? AND version = ?", id, c.Version)
		if err != nil {
			return err
		}
		return sqldb.Replaced(n, c.Version)
	})
}
