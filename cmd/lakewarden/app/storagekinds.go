package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	storageops "github.com/lakewarden/lakewarden/api/ops/storage"
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

// remoteStores opens configurations of remote storage and caches a client for each of
// them.
type remoteStores struct {
	secrets catalog.StorageConfigs
	keys    *secret.Keyring
	egress  storage.Egress
	kinds   kind.Set
	clients kind.Clients
	ambient ambientStorage
	apps    identity.ProviderApps
}

func newRemoteStores(settings config.Settings, store catalog.Store, keys *secret.Keyring) *remoteStores {
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
	return &remoteStores{
		secrets: store, keys: keys, egress: egress, ambient: ambientStorage{patterns: patterns, store: store}, apps: apps,
		kinds: kind.NewSet(
			s3.Kind{Egress: egress, Limits: s3store.Limits{Connect: connect, Idle: idle}, Machine: awsMachine()}, google, microsoft,
			delegated.Kind{Tokens: delegatedTokens(apps), Google: google, Microsoft: microsoft, Stores: providerStores(settings)},
		),
	}
}

// newStorageConfigs returns the use cases of storage configurations.
func newStorageConfigs(
	store *authz.Store, opener buckets, discovery storageops.Discovery, auditor *caller.Auditor,
) storageops.Configs {
	return storageops.Configs{
		Discovery: discovery, Store: store, LocalRoots: opener.roots.of, Kinds: opener.remote.kinds, Seal: opener.remote.seal,
		Ambient: opener.remote.ambient.allows, Audit: auditor, Now: time.Now,
	}
}

// countCredentialsEvery is the interval in which ending credentials are counted.
const countCredentialsEvery = 5 * time.Minute

// countCredentials counts ending credentials at the start and from time to time.
func countCredentials(ctx context.Context, store *authz.Store, registry prometheus.Registerer, s *Service) {
	expiry := storageops.NewExpiry(store, time.Now, registry)
	update := func(ctx context.Context) {
		if err := expiry.Update(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("ending credentials not counted", "error", err)
		}
	}
	s.background(ctx, update)
	s.every(ctx, countCredentialsEvery, update)
}

// credentialOf returns the binding of a configuration's credential.
func credentialOf(org catalog.OrgID, config catalog.ConfigID) secret.Binding {
	return secret.Binding{Kind: catalog.SealedStorageCredential, Org: org, Subject: string(config)}
}

// seal encrypts the credential of a configuration.
func (s *remoteStores) seal(org catalog.OrgID, config catalog.ConfigID, plain []byte) ([]byte, error) {
	return s.keys.Seal(credentialOf(org, config), plain)
}

// of returns the root of a configuration. A request whose credential was replaced and
// revoked meanwhile is repeated with the present one.
func (s *remoteStores) of(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	bucket, err := s.open(ctx, config)
	if err != nil {
		return nil, err
	}
	return objstore.Renew(bucket, func(ctx context.Context) (objstore.Bucket, error) {
		now, err := s.secrets.StorageConfig(authz.System(ctx, "open storage"), catalog.SystemViewer(config.Org), config.ID)
		if err != nil || now.Version == config.Version || now.Location != config.Location {
			return nil, err
		}
		return s.of(ctx, now)
	}), nil
}

// open returns the root of a configuration. A client with an opened credential is used as
// long as the keys that opened it.
func (s *remoteStores) open(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	if err := s.keys.Check(); err != nil {
		return nil, err
	}
	return s.clients.Open(string(config.ID), config.Version, func() (kind.Access, error) {
		k, ok := s.kinds.For(string(config.Kind), kind.Owner{Org: string(config.Org), User: string(config.Owner)})
		if !ok {
			return nil, lake.ErrStorageKind
		}
		if _, its := s.kinds[string(config.Kind)].(kind.Owned); its {
			return k.Access(config.Settings, nil)
		}
		stored, err := s.secrets.StorageSecret(authz.System(ctx, "open storage"), config.Org, config.ID)
		if err != nil {
			return nil, err
		}
		plain, err := s.keys.Open(credentialOf(config.Org, config.ID), stored.Sealed)
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
