package authz_test

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// linkOf returns the key of a user's link to the fixture's application.
func (f *fixture) linkOf(user string) catalog.ProviderLinkKey {
	return catalog.ProviderLinkKey{Org: f.org, Provider: catalog.ProviderOne, User: f.users[user]}
}

// fillProviders creates an application and the link of "viewer" to it, and an access to a
// family of models.
func (f *fixture) fillProviders(ctx context.Context) error {
	app, err := f.inner.PutProviderApp(ctx, catalog.NewProviderApp{Org: f.org, Provider: catalog.ProviderOne, ClientID: "c",
		SealedSecret: []byte("s")})
	if err != nil {
		return err
	}
	if _, err := f.inner.PutAnalysisProvider(ctx, f.newAnalysisProvider(catalog.FamilyA)); err != nil {
		return err
	}
	_, err = f.inner.PutProviderLink(ctx, catalog.NewProviderLink{ProviderLinkKey: f.linkOf("viewer"), AppVersion: app.Version,
		SealedToken: []byte("s")})
	return err
}

// providerMethods holds the cases of catalog.ProviderApps, catalog.ProviderLinks and
// catalog.SealedSecrets.
var providerMethods = map[string]method{
	"PutProviderApp": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PutProviderApp(ctx, catalog.NewProviderApp{Org: f.org, Provider: catalog.ProviderTwo, ClientID: "c",
				SealedSecret: []byte("s")}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ProviderApp": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ProviderApp(ctx, f.org, catalog.ProviderOne))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ProviderApps": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.ProviderApps(ctx, f.org)) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"DeleteProviderApp": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DeleteProviderApp(ctx, f.org, catalog.ProviderOne)
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ProviderAppSecret": {
		call: func(f *fixture, ctx context.Context) error {
			_, _, err := f.store.ProviderAppSecret(ctx, f.org, catalog.ProviderOne)
			return err
		},
		denied: catalog.ErrDenied,
	},
	"PutProviderLink": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PutProviderLink(ctx, catalog.NewProviderLink{
				ProviderLinkKey: catalog.ProviderLinkKey{Org: f.org, Provider: catalog.ProviderOne, User: f.actor(ctx)},
				AppVersion:      1, SealedToken: []byte("s"),
			}))
		},
		denied: catalog.ErrDenied,
	},
	"ProviderLinks": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ProviderLinks(ctx, f.org, f.users["viewer"]))
		},
		allowed: []string{"viewer"}, denied: catalog.ErrNotFound,
	},
	"DeleteProviderLink": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DeleteProviderLink(ctx, f.linkOf("viewer"))
		},
		allowed: []string{"viewer"}, denied: catalog.ErrNotFound,
	},
	"ProviderLinkToken": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ProviderLinkToken(ctx, f.linkOf("viewer")))
		},
		denied: catalog.ErrDenied,
	},
	"ClaimProviderLink": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ClaimProviderLink(ctx, f.linkOf("viewer"), 1, time.Now().Add(time.Minute)))
		},
		denied: catalog.ErrDenied,
	},
	"RenewProviderLink": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.RenewProviderLink(ctx, f.linkOf("viewer"), 1, []byte("s"), false)
		},
		denied: catalog.ErrDenied,
	},
	"HasSealedSecrets": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.HasSealedSecrets(ctx)) },
		denied: catalog.ErrDenied,
	},
	"ListSealedSecrets": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListSealedSecrets(ctx, catalog.SealedSecret{Kind: catalog.SealedSigningKey}, 1))
		},
		denied: catalog.ErrDenied,
	},
	"ReplaceSealedSecret": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ReplaceSealedSecret(ctx, catalog.SealedSecret{Kind: catalog.SealedSigningKey}, nil))
		},
		denied: catalog.ErrDenied,
	},
}
