package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// ownKeys checks that the actor may manage its own keys.
func (a actor) ownKeys() error {
	if a.system || a.principal.MayManageOwnKeys() {
		return nil
	}
	return &catalog.DeniedError{Scope: string(auth.ScopeAPIKeysCreate)}
}

// CreateAPIKey creates keys of the actor, and with users:write those of service accounts
// whose role does not exceed the actor's. A key has no more scopes, no longer life and no
// more workspaces than the actor. A workspace that the actor cannot reach is reported as
// not found.
func (s *Store) CreateAPIKey(ctx context.Context, key catalog.NewAPIKey) (none catalog.APIKey, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(key.Org); err != nil {
		return none, err
	}
	if !a.system {
		if err := s.mayHoldKeys(ctx, a, key); err != nil {
			return none, err
		}
		if err := a.principal.CheckGrant(auth.StoredScopes(key.Scopes)); err != nil {
			return none, err
		}
		key.Maker, key.CommandLine = a.maker(), false
		reached, err := s.reaches(ctx, a, key.Workspace, key.AllWorkspaces)
		switch {
		case err != nil:
			return none, err
		case !reached && key.AllWorkspaces:
			return none, auth.ErrWorkspaceEscalation
		case !reached:
			return none, catalog.ErrNotFound
		}
	}
	return s.inner.CreateAPIKey(ctx, key)
}

// mayHoldKeys checks that the actor may create keys of a user.
func (s *Store) mayHoldKeys(ctx context.Context, a actor, key catalog.NewAPIKey) error {
	if a.isUser(key.User) {
		return a.ownKeys()
	}
	if err := a.in(key.Org, auth.ScopeUsersWrite); err != nil {
		return a.signs(key.User) // as if there were no service accounts
	}
	m, err := s.inner.Membership(ctx, key.Org, key.User)
	if err != nil {
		return err
	}
	if m.Kind != catalog.UserService {
		return a.signs(key.User)
	}
	if !auth.Role(m.Role).Scopes().Contains(auth.StoredScopes(key.Scopes)) {
		return auth.ErrScopeEscalation
	}
	return a.grants(auth.Role(m.Role), a.principal.Role)
}

// reaches reports whether the actor's credential reaches at least as far as a key with
// the given workspace, or with all workspaces.
func (s *Store) reaches(ctx context.Context, a actor, workspace catalog.WorkspaceID, all bool) (bool, error) {
	switch {
	case !a.viewer.Limited:
		return true, nil
	case all:
		return false, nil
	case workspace == "" || workspace == a.viewer.Workspace:
		return true, nil
	}
	base, err := s.inner.DefaultWorkspace(ctx, a.viewer.Org)
	return base.ID == workspace, err
}

// APIKeyByPrefix is for the system, which authenticates callers.
func (s *Store) APIKeyByPrefix(ctx context.Context, prefix string) (catalog.APIKey, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.APIKey{}, err
	}
	return s.inner.APIKeyByPrefix(ctx, prefix)
}

// APIKey is open to the owner. Keys of others need users:write and are reported as not
// found without it.
func (s *Store) APIKey(ctx context.Context, org catalog.OrgID, key catalog.KeyID) (catalog.APIKey, error) {
	_, found, err := s.key(ctx, org, key)
	return found, err
}

func (s *Store) key(ctx context.Context, org catalog.OrgID, key catalog.KeyID) (a actor, found catalog.APIKey, err error) {
	if a, err = actorFrom(ctx); err != nil {
		return a, found, err
	}
	if err := a.in(org); err != nil {
		return a, found, err
	}
	administers := a.in(org, auth.ScopeUsersWrite) == nil
	if !administers {
		if err := a.ownKeys(); err != nil {
			return a, found, err
		}
	}
	if found, err = s.inner.APIKey(ctx, org, key); err != nil {
		return a, found, err
	}
	if !administers && !a.isUser(found.User) {
		return a, catalog.APIKey{}, catalog.ErrNotFound
	}
	return a, found, nil
}

// ListAPIKeys lists the actor's own keys. Those of others need users:write.
func (s *Store) ListAPIKeys(ctx context.Context, org catalog.OrgID, filter catalog.APIKeyFilter,
	page catalog.Page) (none catalog.List[catalog.APIKey], err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org); err != nil {
		return none, err
	}
	if a.isUser(filter.User) {
		err = a.ownKeys()
	} else {
		err = a.in(org, auth.ScopeUsersWrite)
	}
	if err != nil {
		return none, err
	}
	return s.inner.ListAPIKeys(ctx, org, filter, page)
}

// ListEndings is open to the owner. Keys of others need users:write.
func (s *Store) ListEndings(ctx context.Context, org catalog.OrgID, key catalog.KeyID) ([]catalog.Ending, error) {
	if _, _, err := s.key(ctx, org, key); err != nil {
		return nil, err
	}
	return s.inner.ListEndings(ctx, org, key)
}

// TakeUnboundCredentials is for the system, at its start.
func (s *Store) TakeUnboundCredentials(ctx context.Context) ([]catalog.UnboundCredentials, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.TakeUnboundCredentials(ctx)
}

// RevokeAPIKey is open to the owner. Keys of others need users:write.
func (s *Store) RevokeAPIKey(ctx context.Context, org catalog.OrgID, key catalog.KeyID) (catalog.APIKey, error) {
	if _, _, err := s.key(ctx, org, key); err != nil {
		return catalog.APIKey{}, err
	}
	return s.inner.RevokeAPIKey(ctx, org, key)
}

// RotateAPIKey is open to the owner only, because the new key acts as the owner. The
// successor has no more scopes, no longer life and no more workspaces than the key it
// replaces and than the actor's own credential, and ends with either. Otherwise a restricted key could rotate
// a stronger one and learn the successor.
func (s *Store) RotateAPIKey(ctx context.Context, org catalog.OrgID, key catalog.KeyID, successor catalog.NewAPIKey,
	grace time.Duration) (none catalog.APIKey, err error) {
	a, old, err := s.key(ctx, org, key)
	if err != nil {
		return none, err
	}
	if !a.system {
		if !a.isUser(old.User) {
			return none, &catalog.DeniedError{Reason: "not_owner"}
		}
		if err := a.ownKeys(); err != nil {
			return none, err
		}
		wanted := auth.StoredScopes(successor.Scopes)
		if !auth.StoredScopes(old.Scopes).Contains(wanted) || !a.principal.Granted.Contains(wanted) {
			return none, auth.ErrScopeEscalation
		}
		successor.Maker = a.maker()
		reached, err := s.reaches(ctx, a, old.Workspace, old.AllWorkspaces)
		switch {
		case err != nil:
			return none, err
		case !reached:
			return none, auth.ErrWorkspaceEscalation
		}
	}
	return s.inner.RotateAPIKey(ctx, org, key, successor, grace)
}

// TouchAPIKeys is for the system, which authenticates callers.
func (s *Store) TouchAPIKeys(ctx context.Context, at time.Time, keys ...catalog.KeyID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.TouchAPIKeys(ctx, at, keys...)
}
