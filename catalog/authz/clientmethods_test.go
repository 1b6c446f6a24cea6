package authz_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

func secretHash() []byte {
	hash := sha256.Sum256([]byte("secret"))
	return hash[:]
}

// client creates an application with the scopes of viewers.
func (f *fixture) client() catalog.Client {
	c, err := f.inner.CreateClient(context.Background(), f.newClient(f.users["owner"]))
	require.NoError(f, err)
	return c
}

func (f *fixture) newClient(by catalog.UserID) catalog.NewClient {
	return catalog.NewClient{Org: f.org, Name: "App", SecretHash: secretHash(), RedirectURIs: []string{"https://app.example/"},
		Scopes: auth.RoleViewer.Scopes().Strings(), By: by}
}

// account creates a service account with a role and its scopes.
func (f *fixture) account(role auth.Role) catalog.ServiceAccount {
	a, err := f.inner.CreateServiceAccount(context.Background(), f.newAccount(f.users["owner"], role))
	require.NoError(f, err)
	return a
}

func (f *fixture) newAccount(by catalog.UserID, role auth.Role) catalog.NewServiceAccount {
	return catalog.NewServiceAccount{Org: f.org, Name: "Robot", Role: catalog.Role(role), SecretHash: secretHash(),
		Scopes: role.Scopes().Strings(), By: by}
}

// clientMethods holds the cases of catalog.Clients and catalog.ServiceAccounts.
var clientMethods = map[string]method{
	"CreateClient": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateClient(ctx, f.newClient(f.actor(ctx))))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"Client": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Client(ctx, f.org, f.client().ID)) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ClientByID": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.ClientByID(ctx, f.client().ID)) },
		denied: catalog.ErrDenied,
	},
	"ListClients": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListClients(ctx, f.org, catalog.Page{}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"UpdateClient": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.UpdateClient(ctx, f.org, f.client().ID, catalog.AnyVersion, catalog.ClientChange{}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ReplaceClientSecret": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.ReplaceClientSecret(ctx, f.org, f.client().ID, secretHash(), 0, catalog.Maker{})
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"CreateOpenClient": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateOpenClient(ctx, catalog.NewOpenClient{Name: "Open", RedirectURIs: []string{"http://127.0.0.1/"},
				Scopes: []string{"org:read"}}))
		},
		denied: catalog.ErrDenied,
	},
	"ExpireOpenClients": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.ExpireOpenClients(ctx, time.Now()) },
		denied: catalog.ErrDenied,
	},
	"DeleteClient": {
		call:    func(f *fixture, ctx context.Context) error { return f.store.DeleteClient(ctx, f.org, f.client().ID) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"CreateServiceAccount": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateServiceAccount(ctx, f.newAccount(f.actor(ctx), auth.RoleViewer)))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ServiceAccount": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ServiceAccount(ctx, f.org, f.robot))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ListServiceAccounts": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListServiceAccounts(ctx, f.org, catalog.Page{}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"UpdateServiceAccount": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.UpdateServiceAccount(ctx, f.org, f.robot, catalog.AnyVersion, catalog.ServiceAccountChange{}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
}

// TestNobodyGivesAClientMoreThanTheyHave checks the bounds of administrators whose
// credential or role is narrower than what they create.
func TestNobodyGivesAClientMoreThanTheyHave(t *testing.T) {
	f := newFixture(t)
	admin := f.people["admin"]
	key := f.stored(asKey(narrow(admin, auth.ScopeUsersWrite, auth.ScopeTablesRead), ""), day)
	scopes := []string{"tables:read", "rows:insert"}
	app, weak, strong := f.client(), f.account(auth.RoleViewer), f.account(auth.RoleAdmin)
	builder := admin // an administrator of members whose role is a builder's
	builder.Role, builder.Scopes = auth.RoleBuilder, auth.NewScopeSet(auth.ScopeUsersWrite).Union(auth.RoleBuilder.Scopes())

	n := f.newClient(f.users["admin"])
	n.Scopes = scopes
	require.ErrorIs(t, drop(f.store.CreateClient(as(key), n)), auth.ErrScopeEscalation)
	n.Scopes = []string{"tables:read"}
	require.NoError(t, drop(f.store.CreateClient(as(key), n)))
	n.By = f.users["owner"]
	require.ErrorIs(t, drop(f.store.CreateClient(as(key), n)), catalog.ErrDenied, "in the name of another")
	change := catalog.ClientChange{Scopes: &scopes}
	require.ErrorIs(t, drop(f.store.UpdateClient(as(key), f.org, app.ID, 0, change)), auth.ErrScopeEscalation)
	elsewhere := catalog.ClientChange{RedirectURIs: &[]string{"https://evil.example/"}}
	require.ErrorIs(t, drop(f.store.UpdateClient(as(key), f.org, app.ID, 0, elsewhere)), auth.ErrScopeEscalation, "it would get the codes")
	replace := func(who auth.Principal, client catalog.ClientID) error {
		return f.store.ReplaceClientSecret(as(who), f.org, client, secretHash(), 0, catalog.Maker{})
	}
	require.ErrorIs(t, replace(key, app.ID), auth.ErrScopeEscalation, "it would learn the secret")
	require.ErrorIs(t, replace(key, weak.Client), auth.ErrScopeEscalation)
	require.ErrorIs(t, replace(f.people["outsider"], app.ID), catalog.ErrNotFound)

	account := f.newAccount(f.users["admin"], auth.RoleAdmin)
	account.Scopes = []string{"tables:read"}
	require.ErrorIs(t, drop(f.store.CreateServiceAccount(as(builder), account)), catalog.ErrDenied, "a role above the actor's")
	require.NoError(t, drop(f.store.CreateServiceAccount(as(admin), account)))
	rename := catalog.ServiceAccountChange{}
	require.ErrorIs(t, drop(f.store.UpdateServiceAccount(as(builder), f.org, strong.ID, 0, rename)), catalog.ErrDenied)
	change2 := catalog.ServiceAccountChange{Scopes: &scopes}
	require.ErrorIs(t, drop(f.store.UpdateServiceAccount(as(key), f.org, weak.ID, 0, change2)), auth.ErrScopeEscalation)
	require.ErrorIs(t, drop(f.store.UpdateServiceAccount(as(admin), f.org, f.users["viewer"], 0, rename)), catalog.ErrNotFound, "a person")
}

// TestKeysOfServiceAccounts checks who may create a key that acts as another user.
func TestKeysOfServiceAccounts(t *testing.T) {
	f := newFixture(t)
	admin := f.people["admin"]
	viewer := f.account(auth.RoleViewer)
	key := func(user catalog.UserID, scopes auth.ScopeSet) catalog.NewAPIKey {
		n := newKey(f, "admin", prefix(f.next()), scopes)
		n.User = user
		return n
	}
	read := auth.NewScopeSet(auth.ScopeTablesRead)
	require.NoError(t, drop(f.store.CreateAPIKey(as(admin), key(viewer.ID, read))))
	require.ErrorIs(t, drop(f.store.CreateAPIKey(as(admin), key(viewer.ID, auth.RoleEditor.Scopes()))), auth.ErrScopeEscalation,
		"beyond the account's role")
	narrowed := f.stored(asKey(narrow(admin, auth.ScopeUsersWrite, auth.ScopeTablesRead), ""), day)
	require.NoError(t, drop(f.store.CreateAPIKey(as(narrowed), key(viewer.ID, read))))
	query := auth.NewScopeSet(auth.ScopeTablesQuery)
	require.ErrorIs(t, drop(f.store.CreateAPIKey(as(narrowed), key(viewer.ID, query))), auth.ErrScopeEscalation)
	long := key(viewer.ID, read)
	long.ExpiresAt = time.Now().Add(day + time.Hour)
	require.ErrorIs(t, drop(f.store.CreateAPIKey(as(narrowed), long)), catalog.ErrOutlivesMaker)
	for _, name := range []string{"builder", "viewer", "nobody"} {
		require.ErrorIs(t, drop(f.store.CreateAPIKey(as(f.people[name]), key(viewer.ID, read))), catalog.ErrDenied, name)
	}
	require.ErrorIs(t, drop(f.store.CreateAPIKey(as(f.people["outsider"]), key(viewer.ID, read))), catalog.ErrNotFound)
	require.ErrorIs(t, drop(f.store.CreateAPIKey(as(admin), key(f.users["viewer"], read))), catalog.ErrDenied, "a person's keys are their own")
	strong := f.account(auth.RoleAdmin)
	weaker := admin
	weaker.Role, weaker.Scopes = auth.RoleBuilder, auth.NewScopeSet(auth.ScopeUsersWrite).Union(auth.RoleBuilder.Scopes())
	require.ErrorIs(t, drop(f.store.CreateAPIKey(as(weaker), key(strong.ID, read))), catalog.ErrDenied, "an account above the actor")
}
