package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// tableScopes are the scopes for work on tables. Each of them requires that tables and
// their configurations can be found. Routes check the one scope that they need.
func tableScopes() []auth.Scope {
	return []auth.Scope{
		auth.ScopeTablesRead, auth.ScopeTablesQuery, auth.ScopeDomainsRead, auth.ScopeDomainsWrite,
		auth.ScopeRowsInsert, auth.ScopeRowsUpdate, auth.ScopeRowsDelete,
		auth.ScopeTablesCreate, auth.ScopeTablesModify,
		auth.ScopeStorageRead, auth.ScopeStorageWrite, auth.ScopeStorageConfigure,
		auth.ScopePoliciesRead, auth.ScopePoliciesWrite,
	}
}

// checkRead checks a read with a viewer.
func checkRead(ctx context.Context, v catalog.Viewer) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	return a.usesViewer(v, tableScopes()...)
}

// CreateStorageConfig needs storage:configure in the workspace of the new
// configuration. In a workspace, of which the actor must be a member, it also needs
// storage_configs:share. The owner is the actor. Local storage names a directory of the
// server, so it needs an administrator.
func (s *Store) CreateStorageConfig(ctx context.Context, config catalog.NewStorageConfig) (none catalog.StorageConfig, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(config.Org); err != nil {
		return none, err
	}
	if a.system {
		return s.inner.CreateStorageConfig(ctx, config)
	}
	if err := a.signs(config.Owner); err != nil {
		return none, err
	}
	if config.Kind == catalog.KindLocal && a.principal.Role != auth.RoleAdmin {
		return none, &catalog.DeniedError{Reason: "local_storage_needs_admin"}
	}
	if config.Workspace != "" {
		role, err := s.roleIn(ctx, a, config.Workspace)
		if err == nil && role == "" {
			err = catalog.ErrNotFound
		}
		if err != nil {
			return none, err
		}
	}
	scopes, _, err := s.scopesIn(ctx, a, config.Workspace)
	if err != nil {
		return none, err
	}
	if err := changesConfig(scopes, config.Workspace); err != nil {
		return none, err
	}
	return s.inner.CreateStorageConfig(ctx, config)
}

// changesConfig checks the scopes for a change of a configuration.
func changesConfig(scopes auth.ScopeSet, workspace catalog.WorkspaceID) error {
	if err := holds(scopes, []auth.Scope{auth.ScopeStorageConfigure}); err != nil || workspace == "" {
		return err
	}
	return holds(scopes, []auth.Scope{auth.ScopeStorageConfigsShare})
}

// StorageConfig needs a scope for tables or storage.
func (s *Store) StorageConfig(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID) (catalog.StorageConfig, error) {
	if err := checkRead(ctx, viewer); err != nil {
		return catalog.StorageConfig{}, err
	}
	return s.inner.StorageConfig(ctx, viewer, config)
}

// StorageConfigBySchema needs a scope for tables or storage.
func (s *Store) StorageConfigBySchema(ctx context.Context, viewer catalog.Viewer, schema string) (catalog.StorageConfig, error) {
	if err := checkRead(ctx, viewer); err != nil {
		return catalog.StorageConfig{}, err
	}
	return s.inner.StorageConfigBySchema(ctx, viewer, schema)
}

// ListStorageConfigs needs a scope for tables or storage.
func (s *Store) ListStorageConfigs(ctx context.Context, viewer catalog.Viewer, page catalog.Page) (catalog.List[catalog.StorageConfig],
	error) {
	if err := checkRead(ctx, viewer); err != nil {
		return catalog.List[catalog.StorageConfig]{}, err
	}
	return s.inner.ListStorageConfigs(ctx, viewer, page)
}

// UpdateStorageConfig needs storage:configure in the workspace of the configuration,
// and storage_configs:share if it is not personal.
func (s *Store) UpdateStorageConfig(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, expectedVersion int64,
	change catalog.StorageConfigChange) (catalog.StorageConfig, error) {
	if err := s.mayChange(ctx, viewer, config); err != nil {
		return catalog.StorageConfig{}, err
	}
	return s.inner.UpdateStorageConfig(ctx, viewer, config, expectedVersion, change)
}

// StorageSecret is for the system: callers cannot read a credential back.
func (s *Store) StorageSecret(ctx context.Context, org catalog.OrgID, config catalog.ConfigID) (catalog.StorageSecret, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.StorageSecret{}, err
	}
	return s.inner.StorageSecret(ctx, org, config)
}

// ReplaceStorageSecret needs the scopes of UpdateStorageConfig.
func (s *Store) ReplaceStorageSecret(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, expectedVersion int64,
	secret catalog.StorageSecret) (catalog.StorageConfig, error) {
	if err := s.mayChange(ctx, viewer, config); err != nil {
		return catalog.StorageConfig{}, err
	}
	return s.inner.ReplaceStorageSecret(ctx, viewer, config, expectedVersion, secret)
}

// DeleteStorageConfig needs the scopes of UpdateStorageConfig.
func (s *Store) DeleteStorageConfig(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, expectedVersion int64) error {
	if err := s.mayChange(ctx, viewer, config); err != nil {
		return err
	}
	return s.inner.DeleteStorageConfig(ctx, viewer, config, expectedVersion)
}

func (s *Store) mayChange(ctx context.Context, viewer catalog.Viewer, id catalog.ConfigID) error {
	config, err := s.onConfig(ctx, viewer, id, auth.ScopeStorageConfigure)
	if err != nil || config.Personal() {
		return err
	}
	_, err = s.onConfig(ctx, viewer, id, auth.ScopeStorageConfigsShare)
	return err
}
