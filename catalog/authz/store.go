package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Store checks every call and passes it to the wrapped store. It is safe for concurrent
// use.
type Store struct{ inner catalog.Store }

var _ catalog.Store = (*Store)(nil)

// New wraps a store.
func New(inner catalog.Store) *Store { return &Store{inner: inner} }

// scopesIn returns the actor's scopes in a workspace: those of its role there. The
// organisation role applies to a personal configuration and to a workspace that the
// actor is not a member of.
func (s *Store) scopesIn(ctx context.Context, a actor, workspace catalog.WorkspaceID) (auth.ScopeSet, auth.Role, error) {
	p := a.principal
	if workspace == "" {
		return p.Scopes, p.Role, nil
	}
	role, err := s.roleIn(ctx, a, workspace)
	return p.ScopesIn(role), auth.Higher(p.Role, role), err
}

// roleIn returns the actor's role in a workspace, or "" if it is not a member or its
// key does not reach the workspace.
func (s *Store) roleIn(ctx context.Context, a actor, workspace catalog.WorkspaceID) (auth.Role, error) {
	role, err := s.inner.WorkspaceRole(ctx, a.viewer.Org, workspace, a.viewer.User)
	switch {
	case isNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	reached, err := s.reaches(ctx, a, workspace, false)
	if err != nil || !reached {
		return "", err
	}
	return auth.Role(role), nil
}

// onConfig checks a change of a configuration or of its tables and returns the
// configuration. A configuration that the actor does not see is not found, whatever its
// scopes.
func (s *Store) onConfig(ctx context.Context, v catalog.Viewer, id catalog.ConfigID, anyOf ...auth.Scope) (catalog.StorageConfig, error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	if err := a.usesViewer(v); err != nil {
		return catalog.StorageConfig{}, err
	}
	config, err := s.inner.StorageConfig(ctx, v, id)
	if err != nil || a.system {
		return config, err
	}
	scopes, _, err := s.scopesIn(ctx, a, config.Workspace)
	if err != nil {
		return config, err
	}
	return config, holds(scopes, anyOf)
}

// onTable is onConfig for the configuration of a table.
func (s *Store) onTable(ctx context.Context, v catalog.Viewer, id catalog.TableID, anyOf ...auth.Scope) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	if err := a.usesViewer(v); err != nil {
		return err
	}
	t, err := s.inner.Table(ctx, v, id)
	if err != nil {
		return err
	}
	_, err = s.onConfig(ctx, v, t.Config, anyOf...)
	return err
}
