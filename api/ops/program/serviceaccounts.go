package program

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
)

// ServiceAccountStore is the part of the catalog that [ServiceAccounts] uses.
type ServiceAccountStore interface {
	catalog.ServiceAccounts
	ReplaceClientSecret(ctx context.Context, org catalog.OrgID, client catalog.ClientID, hash []byte, grace time.Duration,
		maker catalog.Maker) error
	RemoveMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) error
}

// ServiceAccounts manages the service accounts of an organisation.
type ServiceAccounts struct {
	Store ServiceAccountStore
	Keys  admin.APIKeys
}

// NewServiceAccount is the input of [ServiceAccounts.Create].
type NewServiceAccount struct {
	Name string
	Role catalog.Role
	// Scopes may hold presets. Empty means those of the role.
	Scopes []string
}

// Create creates an account with its client. The secret is returned only here. Neither the
// role nor the scopes exceed the caller's.
func (o ServiceAccounts) Create(ctx context.Context, org catalog.OrgID, in NewServiceAccount) (catalog.ServiceAccount, string, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.ServiceAccount{}, "", err
	}
	if !in.Role.Valid() {
		return catalog.ServiceAccount{}, "", fault.Invalid("role", "must be one of viewer, editor, builder, admin")
	}
	scopes := auth.Role(in.Role).Scopes()
	if len(in.Scopes) > 0 {
		if scopes, err = auth.ExpandScopes(in.Scopes); err != nil {
			return catalog.ServiceAccount{}, "", err
		}
	}
	secret, hash := newClientSecret()
	created, err := o.Store.CreateServiceAccount(ctx, catalog.NewServiceAccount{
		Org: org, Name: in.Name, Role: in.Role, SecretHash: hash, Scopes: scopes.Strings(), By: a.User,
	})
	if err != nil {
		return catalog.ServiceAccount{}, "", err
	}
	return created, secret, nil
}

// List lists the accounts of an organisation.
func (o ServiceAccounts) List(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.ServiceAccount], error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.List[catalog.ServiceAccount]{}, err
	}
	return o.Store.ListServiceAccounts(ctx, org, page)
}

// Get returns an account.
func (o ServiceAccounts) Get(ctx context.Context, org catalog.OrgID, id catalog.UserID) (catalog.ServiceAccount, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.ServiceAccount{}, err
	}
	return o.Store.ServiceAccount(ctx, org, id)
}

// Update changes the name and the scopes of an account. If it loses a scope, its sessions
// end.
func (o ServiceAccounts) Update(ctx context.Context, org catalog.OrgID, id catalog.UserID, expectedVersion int64, name *string,
	scopes *[]string) (catalog.ServiceAccount, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.ServiceAccount{}, err
	}
	granular, err := expand(scopes)
	if err != nil {
		return catalog.ServiceAccount{}, err
	}
	return o.Store.UpdateServiceAccount(ctx, org, id, expectedVersion, catalog.ServiceAccountChange{Name: name, Scopes: granular})
}

// RotateSecret replaces the secret of an account at once. Issued tokens end after grace. The secret
// is returned only here.
func (o ServiceAccounts) RotateSecret(ctx context.Context, org catalog.OrgID, id catalog.UserID,
	grace time.Duration) (catalog.ServiceAccount, string, error) {
	account, err := o.Get(ctx, org, id)
	if err != nil {
		return catalog.ServiceAccount{}, "", err
	}
	secret, hash := newClientSecret()
	if err := o.Store.ReplaceClientSecret(ctx, org, account.Client, hash, grace, catalog.Maker{}); err != nil {
		return catalog.ServiceAccount{}, "", err
	}
	account, err = o.Get(ctx, org, id)
	return account, secret, err
}

// Delete removes an account, revokes its keys and ends its sessions.
func (o ServiceAccounts) Delete(ctx context.Context, org catalog.OrgID, id catalog.UserID) error {
	if _, err := o.Get(ctx, org, id); err != nil {
		return err
	}
	return o.Store.RemoveMember(ctx, org, id)
}

// CreateKey creates an API key of an account, bounded by the caller and by the account's
// role. The key is returned in clear only here.
func (o ServiceAccounts) CreateKey(ctx context.Context, org catalog.OrgID, id catalog.UserID, in admin.NewKey) (apikey.Key, catalog.APIKey,
	error) {
	if _, err := o.Get(ctx, org, id); err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	return o.Keys.CreateFor(ctx, id, in)
}
