package stores

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// newProviderApps returns the use cases of applications at OAuth providers. Providers are
// reached through the same check of addresses as storage endpoints, because a discovery
// document names addresses, too.
func newProviderApps(settings config.Settings, store catalog.Store, keys *secret.Keyring, egress storage.Egress) identity.ProviderApps {
	presets := map[string]provider.Preset{}
	for name, changed := range settings.Providers {
		presets[name] = provider.Preset(changed)
	}
	return identity.ProviderApps{Store: store, Providers: provider.New(presets, EgressClient(egress)), Keys: keys}
}

// delegatedTokens returns the access tokens of the owners of delegated storage.
func delegatedTokens(apps identity.ProviderApps) func(context.Context, kind.Owner, string) (string, error) {
	tokens := identity.NewProviderTokens(apps, time.Now)
	return func(ctx context.Context, owner kind.Owner, name string) (string, error) {
		return tokens.AccessToken(ctx, catalog.OrgID(owner.Org), catalog.UserID(owner.User), catalog.Provider(name))
	}
}

// providerStores returns the URLs of the stores of providers that the operator has set.
func providerStores(settings config.Settings) map[string]string {
	stores := map[string]string{}
	for name, changed := range settings.Providers {
		stores[name] = changed.StorageURL
	}
	return stores
}
