package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// overClients checks that the actor may manage clients with the given scopes. Nobody gives
// a client more than their own credential has.
func overClients(ctx context.Context, org catalog.OrgID, by catalog.UserID, scopes []string) (actor, error) {
	a, err := actorFrom(ctx)
	if err != nil || a.system {
		return a, err
	}
	if err := a.in(org, auth.ScopeUsersWrite); err != nil {
		return a, err
	}
	if by != "" {
		if err := a.signs(by); err != nil {
			return a, err
		}
	}
	return a, a.principal.CheckGrant(auth.StoredScopes(scopes))
}

// CreateClient needs users:write, and scopes that do not exceed the actor's.
func (s *Store) CreateClient(ctx context.Context, client catalog.NewClient) (catalog.Client, error) {
	a, err := overClients(ctx, client.Org, client.By, client.Scopes)
	if err != nil {
		return catalog.Client{}, err
	}
	if !a.system {
		client.Maker = a.maker()
	}
	return s.inner.CreateClient(ctx, client)
}

// Client needs users:write.
func (s *Store) Client(ctx context.Context, org catalog.OrgID, client catalog.ClientID) (catalog.Client, error) {
	if _, err := overClients(ctx, org, "", nil); err != nil {
		return catalog.Client{}, err
	}
	return s.inner.Client(ctx, org, client)
}

// ClientByID is for the system, which authenticates clients.
func (s *Store) ClientByID(ctx context.Context, client catalog.ClientID) (catalog.Client, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.Client{}, err
	}
	return s.inner.ClientByID(ctx, client)
}

// ListClients needs users:write.
func (s *Store) ListClients(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Client], error) {
	if _, err := overClients(ctx, org, "", nil); err != nil {
		return catalog.List[catalog.Client]{}, err
	}
	return s.inner.ListClients(ctx, org, page)
}

// UpdateClient needs users:write. Neither the new nor the current scopes may exceed the
// actor's, because the redirect URIs decide who gets the client's codes.
func (s *Store) UpdateClient(ctx context.Context, org catalog.OrgID, client catalog.ClientID, expectedVersion int64,
	change catalog.ClientChange) (catalog.Client, error) {
	var scopes []string
	if change.Scopes != nil {
		scopes = *change.Scopes
	}
	a, err := overClients(ctx, org, "", scopes)
	if err != nil {
		return catalog.Client{}, err
	}
	if !a.system {
		change.Maker = a.maker()
		if _, err := s.overScopes(ctx, a, org, client); err != nil {
			return catalog.Client{}, err
		}
	}
	return s.inner.UpdateClient(ctx, org, client, expectedVersion, change)
}

// ReplaceClientSecret needs users:write. The actor learns the new secret, so neither the
// client's scopes nor the role of its service account may exceed the actor's.
func (s *Store) ReplaceClientSecret(ctx context.Context, org catalog.OrgID, client catalog.ClientID, hash []byte,
	grace time.Duration, maker catalog.Maker) error {
	a, err := overClients(ctx, org, "", nil)
	if err != nil {
		return err
	}
	if !a.system {
		maker = a.maker()
		c, err := s.overScopes(ctx, a, org, client)
		if err != nil {
			return err
		}
		if c.User != "" {
			if err := s.overAccount(ctx, a, org, c.User); err != nil {
				return err
			}
		}
	}
	return s.inner.ReplaceClientSecret(ctx, org, client, hash, grace, maker)
}

// overScopes returns a client of an organisation whose scopes do not exceed the actor's.
func (s *Store) overScopes(ctx context.Context, a actor, org catalog.OrgID, client catalog.ClientID) (catalog.Client, error) {
	c, err := s.inner.ClientByID(ctx, client)
	switch {
	case err != nil:
		return c, err
	case c.Org != org:
		return catalog.Client{}, catalog.ErrNotFound
	}
	return c, a.principal.CheckGrant(auth.StoredScopes(c.Scopes))
}

// DeleteClient needs users:write.
func (s *Store) DeleteClient(ctx context.Context, org catalog.OrgID, client catalog.ClientID) error {
	if _, err := overClients(ctx, org, "", nil); err != nil {
		return err
	}
	return s.inner.DeleteClient(ctx, org, client)
}

// CreateServiceAccount needs users:write, and a role and scopes that do not exceed the
// actor's.
func (s *Store) CreateServiceAccount(ctx context.Context, account catalog.NewServiceAccount) (none catalog.ServiceAccount, err error) {
	a, err := overClients(ctx, account.Org, account.By, account.Scopes)
	if err != nil {
		return none, err
	}
	if err := a.grants(auth.Role(account.Role), a.principal.Role); err != nil {
		return none, err
	}
	if !a.system {
		account.Maker = a.maker()
	}
	return s.inner.CreateServiceAccount(ctx, account)
}

// ServiceAccount needs users:write.
func (s *Store) ServiceAccount(ctx context.Context, org catalog.OrgID, account catalog.UserID) (catalog.ServiceAccount, error) {
	if _, err := overClients(ctx, org, "", nil); err != nil {
		return catalog.ServiceAccount{}, err
	}
	return s.inner.ServiceAccount(ctx, org, account)
}

// ListServiceAccounts needs users:write.
func (s *Store) ListServiceAccounts(ctx context.Context, org catalog.OrgID,
	page catalog.Page) (none catalog.List[catalog.ServiceAccount], err error) {
	if _, err := overClients(ctx, org, "", nil); err != nil {
		return none, err
	}
	return s.inner.ListServiceAccounts(ctx, org, page)
}

// UpdateServiceAccount needs users:write. Neither the new scopes nor the role of the account
// may exceed the actor's.
func (s *Store) UpdateServiceAccount(ctx context.Context, org catalog.OrgID, account catalog.UserID, expectedVersion int64,
	change catalog.ServiceAccountChange) (none catalog.ServiceAccount, err error) {
	var scopes []string
	if change.Scopes != nil {
		scopes = *change.Scopes
	}
	a, err := overClients(ctx, org, "", scopes)
	if err != nil {
		return none, err
	}
	if err := s.overAccount(ctx, a, org, account); err != nil {
		return none, err
	}
	if !a.system {
		change.Maker = a.maker()
	}
	return s.inner.UpdateServiceAccount(ctx, org, account, expectedVersion, change)
}

// overAccount checks that a user is a service account whose role does not exceed the
// actor's.
func (s *Store) overAccount(ctx context.Context, a actor, org catalog.OrgID, account catalog.UserID) error {
	if a.system {
		return nil
	}
	m, err := s.inner.Membership(ctx, org, account)
	switch {
	case err != nil:
		return err
	case m.Kind != catalog.UserService:
		return catalog.ErrNotFound
	}
	return a.grants(auth.Role(m.Role), a.principal.Role)
}
