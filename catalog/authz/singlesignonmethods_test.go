package authz_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// singleSignOnMethods holds the cases of catalog.SingleSignOn.
var singleSignOnMethods = map[string]method{
	"PutSSOConfig": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PutSSOConfig(ctx, f.org, ssoConfig(catalog.RoleAdmin)))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"SSOConfig": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.SSOConfig(ctx, f.org)) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"SSOConfigsByClient": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.SSOConfigsByClient(ctx, "https://id.example", "c"))
		},
		denied: catalog.ErrDenied,
	},
	"SSOSecret": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.SSOSecret(ctx, f.org)) },
		denied: catalog.ErrDenied,
	},
	"DeleteSSOConfig": {
		call:    func(f *fixture, ctx context.Context) error { return f.store.DeleteSSOConfig(ctx, f.org) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"EmailDomains": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.EmailDomains(ctx, f.org)) },
		allowed: admins, denied: catalog.ErrDenied,
	},
	"VerifiedDomain": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.VerifiedDomain(ctx, ssoDomain)) },
		denied: catalog.ErrDenied,
	},
	"VerifyEmailDomain": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.VerifyEmailDomain(ctx, f.org, ssoDomain, catalog.DomainByDNS))
		},
		denied: catalog.ErrDenied,
	},
	"RecordDomainCheck": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.RecordDomainCheck(ctx, f.org, ssoDomain, false, time.Hour))
		},
		denied: catalog.ErrDenied,
	},
	"DomainsToCheck": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.DomainsToCheck(ctx, time.Now(), 10))
		},
		denied: catalog.ErrDenied,
	},
}

// ssoDomain is the e-mail domain of the fixture.
const ssoDomain = "ours.example"

func ssoConfig(most catalog.Role) catalog.NewSSOConfig {
	return catalog.NewSSOConfig{Issuer: "https://id.example", ClientID: "c", SealedSecret: []byte("sealed"),
		DefaultRole: catalog.RoleViewer, MaxRole: most, Domains: []string{ssoDomain}}
}

// fillSingleSignOn creates the identity provider of the fixture.
func (f *fixture) fillSingleSignOn(ctx context.Context) {
	_, err := f.inner.PutSSOConfig(ctx, f.org, ssoConfig(catalog.RoleViewer))
	require.NoError(f, err)
	_, err = f.inner.VerifyEmailDomain(ctx, f.org, ssoDomain, catalog.DomainByDNS)
	require.NoError(f, err)
	f.identity, err = f.inner.BindIdentity(ctx, catalog.NewIdentityBinding{Org: f.org, User: f.users["viewer"], Issuer: someIssuer,
		Subject: "s-viewer", Method: catalog.BoundByOperator})
	require.NoError(f, err)
}
