package sqlstore

import (
	"context"
	"encoding/json"

	"github.com/lakewarden/lakewarden/catalog"
)

const configColumns = `c.id, c.org_id, c.name, c.slug, c.kind, c.workspace_id, c.owner_user_id, c.location, c.settings,
	c.auth_mode, c.credential_expires_at, c.discovered_at, c.version, c.created_at, c.updated_at`

const selectConfig = "SELECT " + configColumns + " FROM storage_configs c"

// configDest is where configColumns are scanned to.
func configDest(c *catalog.StorageConfig) []any {
	return []any{
		&c.ID, &c.Org, &c.Name, &c.Slug, &c.Kind, orEmpty(&c.Workspace), &c.Owner, &c.Location, jsonAt(&c.Settings),
		&c.AuthMode, timeAt(&c.CredentialExpiresAt), timeAt(&c.DiscoveredAt), &c.Version,
		timeAt(&c.CreatedAt), timeAt(&c.UpdatedAt),
	}
}

func scanConfig(r row) (c catalog.StorageConfig, err error) {
	err = r.Scan(configDest(&c)...)
	return c, err
}

func visibleConfig(ctx context.Context, s session, v catalog.Viewer, id catalog.ConfigID) (catalog.StorageConfig, error) {
	var w where
	w.visible(v)
	w.and("c.id = ?", id)
	return one(ctx, s, scanConfig, selectConfig+" WHERE "+w.text, w.args...)
}

// visibleConfigAt is visibleConfig of an expected version.
func visibleConfigAt(ctx context.Context, s session, v catalog.Viewer, id catalog.ConfigID, expected int64) (catalog.StorageConfig, error) {
	c, err := visibleConfig(ctx, s, v, id)
	if err == nil {
		err = compare(expected, c.Version)
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
	now := micros(s.db.clock())
	err = s.db.change(ctx, func(tx session) error {
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
		err := tx.insert(ctx, "id", `INSERT INTO storage_configs (id, org_id, name, slug, kind, workspace_id,
			owner_user_id, location, settings, auth_mode, credential_expires_at, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`,
			n.ID, n.Org, n.Name, catalog.Slug(n.Name), n.Kind, textOrNull(n.Workspace),
			n.Owner, n.Location, string(n.Settings), n.AuthMode, microsOrNull(n.CredentialExpiresAt), now, now)
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
// organisation or, for local storage, any other local one.
func freeLocation(ctx context.Context, tx session, n catalog.NewStorageConfig) error {
	var w where
	w.and("(substr(c.location, 1, length(?)) = ? OR substr(?, 1, length(c.location)) = c.location)",
		n.Location, n.Location, n.Location)
	w.and(liveOrg("c.org_id"))
	if n.Kind == catalog.KindLocal {
		w.and("(c.org_id <> ? OR c.kind = ?)", n.Org, catalog.KindLocal)
	} else {
		w.and("c.org_id <> ?", n.Org)
	}
	taken, err := one(ctx, tx, value[int], "SELECT count(*) FROM storage_configs c WHERE "+w.text, w.args...)
	if err == nil && taken > 0 {
		err = catalog.ErrLocationTaken
	}
	return err
}

// StorageConfig implements [catalog.StorageConfigs].
func (s *Store) StorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID) (catalog.StorageConfig, error) {
	return visibleConfig(ctx, s.db.read(), v, id)
}

// StorageConfigBySchema implements [catalog.StorageConfigs].
func (s *Store) StorageConfigBySchema(ctx context.Context, v catalog.Viewer, schema string) (none catalog.StorageConfig, err error) {
	if id, ok := catalog.ParseSchemaName(schema); ok {
		return visibleConfig(ctx, s.db.read(), v, id)
	}
	var w where
	w.visible(v)
	w.and("c.slug = ?", catalog.FoldName(schema))
	found, err := list(ctx, s.db.read(), scanConfig, selectConfig+" WHERE "+w.text+" LIMIT 2", w.args...)
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
	order := paging[catalog.StorageConfig]{
		list: "storage_configs", key: "c.created_at", id: "c.id", number: true,
		position: func(c catalog.StorageConfig) (string, string) { return timeKey(c.CreatedAt), string(c.ID) },
	}
	var w where
	w.visible(v)
	return order.fetch(ctx, s.db.read(), page, scanConfig, selectConfig, w)
}

// UpdateStorageConfig implements [catalog.StorageConfigs].
func (s *Store) UpdateStorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, expectedVersion int64,
	change catalog.StorageConfigChange) (updated catalog.StorageConfig, err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.change(ctx, func(tx session) error {
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
		n, err := tx.exec(ctx, `UPDATE storage_configs SET name = ?, slug = ?, settings = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ?`,
			c.Name, catalog.Slug(c.Name), string(c.Settings), micros(s.db.clock()), id, c.Version)
		if err != nil {
			return err
		}
		if err := replaced(n, c.Version); err != nil {
			return err
		}
		updated, err = visibleConfig(ctx, tx, v, id)
		return err
	})
	return updated, err
}

// DeleteStorageConfig implements [catalog.StorageConfigs].
func (s *Store) DeleteStorageConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, expectedVersion int64) error {
	return s.db.change(ctx, func(tx session) error {
		c, err := visibleConfigAt(ctx, tx, v, id, expectedVersion)
		if err != nil {
			return err
		}
		n, err := tx.exec(ctx, "DELETE FROM storage_configs WHERE id = ? AND version = ?", id, c.Version)
		if err != nil {
			return err
		}
		return replaced(n, c.Version)
	})
}
