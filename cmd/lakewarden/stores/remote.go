package stores

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore"
	azurestore "github.com/lakewarden/lakewarden/engine/objstore/azure"
	gcsstore "github.com/lakewarden/lakewarden/engine/objstore/gcs"
	s3store "github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
	"github.com/lakewarden/lakewarden/engine/storage/kind/azure"
	"github.com/lakewarden/lakewarden/engine/storage/kind/delegated"
	"github.com/lakewarden/lakewarden/engine/storage/kind/gcs"
	"github.com/lakewarden/lakewarden/engine/storage/kind/s3"
)

// Remote opens configurations of remote storage and caches a client for each of
// them.
type Remote struct {
	Keys *secret.Keyring
	// Egress decides which addresses that users supply are reached.
	Egress storage.Egress
	Kinds  kind.Set
	// Apps are the applications at OAuth providers whose links give access to storage.
	Apps    identity.ProviderApps
	secrets catalog.StorageConfigs
	clients kind.Clients
	ambient ambientStorage
}

// NewRemote returns the remote storage of the settings.
func NewRemote(settings config.Settings, store catalog.Store, keys *secret.Keyring) *Remote {
	patterns, _ := kind.ParseAmbientPatterns(settings.AmbientStorage) // Verify refuses invalid ones, which allow nothing
	egress := storage.Egress{AllowPrivate: settings.AllowPrivateEndpoints}
	connect, idle := min(settings.StoreTimeout, 5*time.Second), settings.StoreTimeout
	google := gcs.Kind{
		Egress: egress, Limits: gcsstore.Limits{Connect: connect, Idle: idle},
		Machine: gcsstore.Machine{Metadata: os.Getenv("GCE_METADATA_HOST")},
	}
	microsoft := azure.Kind{
		Egress: egress, Limits: azurestore.Limits{Connect: connect, Idle: idle}, Identity: azureIdentity(settings.AzureAuthority),
	}
	apps := newProviderApps(settings, store, keys, egress)
	return &Remote{
		secrets: store, Keys: keys, Egress: egress, ambient: ambientStorage{patterns: patterns, store: store}, Apps: apps,
		Kinds: kind.NewSet(
			s3.Kind{Egress: egress, Limits: s3store.Limits{Connect: connect, Idle: idle}, Machine: awsMachine()}, google, microsoft,
			delegated.Kind{Tokens: delegatedTokens(apps), Google: google, Microsoft: microsoft, Stores: providerStores(settings)},
		),
	}
}

// credentialOf returns the binding of a configuration's credential.
func credentialOf(org catalog.OrgID, config catalog.ConfigID) secret.Binding {
	return secret.Binding{Kind: catalog.SealedStorageCredential, Org: org, Subject: string(config)}
}

// Ambient reports whether the operator allows a use of the server's own identity by an organisation.
func (s *Remote) Ambient(ctx context.Context, org catalog.OrgID, use kind.AmbientUse) (bool, error) {
	return s.ambient.allows(ctx, org, use)
}

// Close closes the clients of all configurations.
func (s *Remote) Close() { s.clients.Close() }

// Seal encrypts the credential of a configuration.
func (s *Remote) Seal(org catalog.OrgID, config catalog.ConfigID, plain []byte) ([]byte, error) {
	return s.Keys.Seal(credentialOf(org, config), plain)
}

// openRenewed is open, but repeats a request with the current credential if the one in
// use was replaced and revoked.
func (s *Remote) openRenewed(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	bucket, err := s.open(ctx, config)
	if err != nil {
		return nil, err
	}
	return objstore.Renew(bucket, func(ctx context.Context) (objstore.Bucket, error) {
		now, err := s.secrets.StorageConfig(authz.System(ctx, "open storage"), catalog.SystemViewer(config.Org), config.ID)
		if err != nil || now.Version == config.Version || now.Location != config.Location {
			return nil, err
		}
		return s.openRenewed(ctx, now)
	}), nil
}

// open returns the root of a configuration. A client with an opened credential is used as
// long as the keys that opened it.
func (s *Remote) open(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	if err := s.Keys.Check(); err != nil {
		return nil, err
	}
	return s.clients.Open(string(config.ID), config.Version, func() (kind.Access, error) {
		k, ok := s.Kinds.For(string(config.Kind), kind.Owner{Org: string(config.Org), User: string(config.Owner)})
		if !ok {
			return nil, lake.ErrStorageKind
		}
		if _, its := s.Kinds[string(config.Kind)].(kind.Owned); its {
			return k.Access(config.Settings, nil)
		}
		stored, err := s.secrets.StorageSecret(authz.System(ctx, "open storage"), config.Org, config.ID)
		if err != nil {
			return nil, err
		}
		plain, err := s.Keys.Open(credentialOf(config.Org, config.ID), stored.Sealed)
		if err != nil {
			return nil, err
		}
		access, err := k.Access(config.Settings, plain)
		if err != nil {
			return nil, fmt.Errorf("read the credential of %s: %w: %w", config.ID, secret.ErrSealed, err)
		}
		return access, s.ambient.check(ctx, config, access)
	})
}
