package authz

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// AttachStorageConfig needs storage_configs:share in the new workspace, of which the actor
// must be a member, and in the present one. A personal configuration is visible to its
// owner only, who needs the scope in the new workspace. The attacher is the actor.
func (s *Store) AttachStorageConfig(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID,
	attach catalog.NewAttach) (none catalog.Attach, err error) {
	a, err := s.sharesConfig(ctx, viewer, config, attach.By)
	if err != nil {
		return none, err
	}
	if attach.Workspace != "" { // otherwise the store refuses it
		if err := s.sharesIn(ctx, a, attach.Workspace); err != nil {
			return none, err
		}
	}
	return s.inner.AttachStorageConfig(ctx, viewer, config, attach)
}

// AttachToUndo needs storage_configs:share in the workspace of the configuration. The
// attacher is the actor.
func (s *Store) AttachToUndo(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, by catalog.UserID) (none catalog.Attach,
	err error) {
	if _, err := s.sharesConfig(ctx, viewer, config, by); err != nil {
		return none, err
	}
	return s.inner.AttachToUndo(ctx, viewer, config, by)
}

// UndoAttach needs storage_configs:share in the workspace of the configuration and in the
// one to which it returns. The attacher is the actor.
func (s *Store) UndoAttach(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID,
	by catalog.UserID) (none catalog.StorageConfig, err error) {
	a, err := s.sharesConfig(ctx, viewer, config, by)
	if err != nil {
		return none, err
	}
	attach, err := s.inner.AttachToUndo(ctx, viewer, config, by)
	if err != nil {
		return none, err
	}
	if attach.PreviousWorkspace != "" {
		err := s.sharesIn(ctx, a, attach.PreviousWorkspace)
		if errors.Is(err, catalog.ErrWorkspaceNotFound) {
			// The actor has left the workspace, but knows of it.
			err = &catalog.DeniedError{Scope: string(auth.ScopeStorageConfigsShare)}
		}
		if err != nil {
			return none, err
		}
	}
	return s.inner.UndoAttach(ctx, viewer, config, by)
}

// TakeStorageConfig needs storage:configure and storage_configs:share in the workspace of the
// configuration. The new owner is the actor.
func (s *Store) TakeStorageConfig(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, expectedVersion int64,
	by catalog.UserID) (none catalog.StorageConfig, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := s.mayChange(ctx, viewer, config); err != nil {
		return none, err
	}
	if err := a.signs(by); err != nil {
		return none, err
	}
	return s.inner.TakeStorageConfig(ctx, viewer, config, expectedVersion, by)
}

// sharesConfig checks that the actor, who is by, sees a configuration and holds
// storage_configs:share in its workspace.
func (s *Store) sharesConfig(ctx context.Context, viewer catalog.Viewer, id catalog.ConfigID, by catalog.UserID) (a actor, err error) {
	if a, err = actorFrom(ctx); err != nil {
		return a, err
	}
	config, err := s.onConfig(ctx, viewer, id)
	if err != nil {
		return a, err
	}
	if err := a.signs(by); err != nil || config.Personal() {
		return a, err
	}
	return a, s.sharesIn(ctx, a, config.Workspace)
}

// sharesIn checks that the actor is a member of a workspace and holds
// storage_configs:share there, so that it is a builder or an administrator. For others the
// workspace is not found.
func (s *Store) sharesIn(ctx context.Context, a actor, workspace catalog.WorkspaceID) error {
	if a.system {
		return nil
	}
	role, err := s.roleIn(ctx, a, workspace)
	switch {
	case err != nil:
		return err
	case role == "":
		return catalog.ErrWorkspaceNotFound
	}
	return holds(a.principal.ScopesIn(role), []auth.Scope{auth.ScopeStorageConfigsShare})
}
