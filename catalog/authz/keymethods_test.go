package authz_test

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// keyMethods returns the cases of catalog.APIKeys.
var keyMethods = map[string]method{
	"CreateAPIKey": {
		call: func(f *fixture, ctx context.Context) error {
			n := newKey(f, "owner", prefix(1), auth.RoleBuilder.Scopes())
			n.User = f.actor(ctx)
			return drop(f.store.CreateAPIKey(ctx, n))
		},
		allowed: builders, denied: auth.ErrScopeEscalation,
	},
	"APIKeyByPrefix": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.APIKeyByPrefix(ctx, f.key.Prefix)) },
		denied: catalog.ErrDenied,
	},
	"APIKey": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.APIKey(ctx, f.org, f.key.ID)) },
		allowed: builders, denied: catalog.ErrNotFound,
	},
	"ListAPIKeys": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListAPIKeys(ctx, f.org, catalog.APIKeyFilter{User: f.users["builder"]}, catalog.Page{}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"ListEndings": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.ListEndings(ctx, f.org, f.key.ID)) },
		allowed: builders, denied: catalog.ErrNotFound,
	},
	"TakeUnboundCredentials": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.TakeUnboundCredentials(ctx)) },
		denied: catalog.ErrDenied,
	},
	"RevokeAPIKey": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.RevokeAPIKey(ctx, f.org, f.key.ID)) },
		allowed: builders, denied: catalog.ErrNotFound,
	},
	"RotateAPIKey": {
		call: func(f *fixture, ctx context.Context) error {
			err := drop(f.store.RotateAPIKey(ctx, f.org, f.key.ID, newKey(f, "builder", prefix(2), auth.RoleBuilder.Scopes()), 0))
			return hiddenAsDenied(ctx, f, err)
		},
		allowed: []string{"builder"}, denied: catalog.ErrDenied,
	},
	"TouchAPIKeys": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.TouchAPIKeys(ctx, time.Now(), f.key.ID) },
		denied: catalog.ErrDenied,
	},
}
