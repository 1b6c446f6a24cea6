package identity

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// providerStore holds the records of provider applications and links.
type providerStore interface {
	feature.Organisations
	catalog.ProviderApps
	catalog.ProviderLinks
}

// ProviderApps manages an organisation's OAuth applications at providers of storage.
type ProviderApps struct {
	Store     providerStore
	Providers provider.Providers
	Keys      Keyring
}

// ProviderApp is an application with what its provider says about it.
type ProviderApp struct {
	catalog.ProviderApp
	// AdminConsentURL is where an administrator of the provider approves the application;
	// empty if the provider has no such page.
	AdminConsentURL string
	// Permissions are the scopes of delegated storage that the application needs.
	Permissions []string
}

// NewProviderApp is the input of [ProviderApps.Put].
type NewProviderApp struct {
	Provider, ClientID, ClientSecret string
	// Tenant is required for a provider with tenants and must be empty for others.
	Tenant string
}

// maxClientSecret bounds a client secret, in bytes.
const maxClientSecret = 4096

// Put registers an application or replaces the one of the same provider. It needs
// provider_apps:write.
func (o ProviderApps) Put(ctx context.Context, org catalog.OrgID, in NewProviderApp) (ProviderApp, error) {
	name, at, err := o.provider(ctx, org, in.Provider)
	if err != nil {
		return ProviderApp{}, err
	}
	if in.ClientSecret == "" || len(in.ClientSecret) > maxClientSecret || !utf8.ValidString(in.ClientSecret) ||
		strings.ContainsFunc(in.ClientSecret, unicode.IsControl) {
		return ProviderApp{}, fault.Invalid("client_secret", "must have 1 to %d bytes and no control characters", maxClientSecret)
	}
	n := catalog.NewProviderApp{Org: org, Provider: name, ClientID: in.ClientID, Tenant: in.Tenant}
	if n.SealedSecret, err = o.Keys.Seal(appBinding(org, name), []byte(in.ClientSecret)); err != nil {
		return ProviderApp{}, err
	}
	stored, err := o.Store.PutProviderApp(ctx, n)
	if err != nil {
		return ProviderApp{}, err
	}
	return describeApp(stored, at), nil
}

// Get returns an application. It needs provider_apps:write.
func (o ProviderApps) Get(ctx context.Context, org catalog.OrgID, providerName string) (ProviderApp, error) {
	name, at, err := o.provider(ctx, org, providerName)
	if err != nil {
		return ProviderApp{}, err
	}
	found, err := o.Store.ProviderApp(ctx, org, name)
	if err != nil {
		return ProviderApp{}, err
	}
	return describeApp(found, at), nil
}

// List returns the applications of an organisation. It needs provider_apps:write.
func (o ProviderApps) List(ctx context.Context, org catalog.OrgID) ([]ProviderApp, error) {
	if err := o.require(ctx, org); err != nil {
		return nil, err
	}
	stored, err := o.Store.ProviderApps(ctx, org)
	if err != nil {
		return nil, err
	}
	out := make([]ProviderApp, len(stored))
	for i, app := range stored {
		// An application remains when the operator removes its provider.
		at, _ := o.Providers.Provider(string(app.Provider))
		out[i] = describeApp(app, at)
	}
	return out, nil
}

// Delete removes an application and the links of all members to it. It needs
// provider_apps:write. The tokens stay valid at the provider until they expire or the
// client is removed there.
func (o ProviderApps) Delete(ctx context.Context, org catalog.OrgID, providerName string) error {
	if err := o.require(ctx, org); err != nil {
		return err
	}
	return o.Store.DeleteProviderApp(ctx, org, catalog.Provider(providerName))
}

func (o ProviderApps) require(ctx context.Context, org catalog.OrgID) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return feature.Require(ctx, o.Store, org, catalog.FeatureDelegatedStorage)
}

// provider checks that the caller may use providers, and returns the named one.
func (o ProviderApps) provider(ctx context.Context, org catalog.OrgID, name string) (catalog.Provider, *provider.Provider, error) {
	if err := o.require(ctx, org); err != nil {
		return "", nil, err
	}
	known := catalog.Provider(name)
	if !slices.Contains(catalog.Providers(), known) {
		return "", nil, catalog.ErrNotFound
	}
	at, err := o.Providers.Provider(name)
	return known, at, err
}

// app returns an application with its secret, for the server itself.
func (o ProviderApps) app(ctx context.Context, org catalog.OrgID, name catalog.Provider) (app provider.App, version int64, err error) {
	stored, sealed, err := o.Store.ProviderAppSecret(authz.System(ctx, "provider application"), org, name)
	if err != nil {
		return app, 0, err
	}
	plain, err := o.Keys.Open(appBinding(org, name), sealed)
	if err != nil {
		return app, 0, err
	}
	return provider.App{ClientID: stored.ClientID, ClientSecret: string(plain), Tenant: stored.Tenant}, stored.Version, nil
}

func describeApp(app catalog.ProviderApp, at *provider.Provider) ProviderApp {
	out := ProviderApp{ProviderApp: app, Permissions: []string{}}
	if at != nil {
		out.AdminConsentURL = at.AdminConsentURL(provider.App{ClientID: app.ClientID, Tenant: app.Tenant})
		out.Permissions = append(out.Permissions, at.Permissions()...)
	}
	return out
}
