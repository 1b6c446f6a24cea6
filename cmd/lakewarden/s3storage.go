package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// s3Stores opens configurations of kind s3 and keeps their clients, one for
// each configuration: the one of its newest version that was asked for.
type s3Stores struct {
	secrets catalog.StorageConfigs
	keys    *secret.Keyring
	egress  storage.Egress
	limits  s3.Limits

	mu   sync.Mutex
	open map[catalog.ConfigID]openS3
}

// openS3 is a client and the version of the configuration that it was made of.
// A rotation raises the version, so an old credential is not used again.
type openS3 struct {
	version int64
	bucket  *s3.Bucket
	root    objstore.Bucket
}

var _ admin.Remote = (*s3Stores)(nil)

// maxClients bounds the clients that are kept.
const maxClients = 1024

// resolveTime bounds the look-up of an endpoint's name.
const resolveTime = 5 * time.Second

// newS3Stores loads the key file, which is made at the first start.
func newS3Stores(ctx context.Context, config Config, store catalog.Store) (*s3Stores, error) {
	if err := keyFileNotLost(ctx, config.KeyFile, store); err != nil {
		return nil, err
	}
	secrets := catalog.StorageConfigs(store)
	keys, err := secret.Load(config.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("key_file: %w", err)
	}
	return &s3Stores{
		secrets: secrets, keys: keys, egress: storage.Egress{AllowPrivate: config.AllowPrivateEndpoints},
		limits: s3.Limits{Connect: min(config.StoreTimeout, 5*time.Second), Idle: config.StoreTimeout},
		open:   map[catalog.ConfigID]openS3{},
	}, nil
}

// keyFileNotLost refuses to begin with a new key file beside credentials that
// only the old one opens: what was sealed from then on would be lost with it when
// the old one is restored.
func keyFileNotLost(ctx context.Context, path string, store catalog.Store) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // whatever else is wrong with it shows when it is loaded
	}
	ctx = authz.System(ctx, "key file")
	for page := (catalog.Page{Size: catalog.MaxPageSize}); ; {
		orgs, err := store.ListOrganisations(ctx, page)
		if err != nil {
			return err
		}
		for _, org := range orgs.Items {
			sealed, err := holdsCredentials(ctx, store, org.ID)
			if err != nil {
				return err
			}
			if sealed {
				return fmt.Errorf("key_file: %s is missing, and the catalog holds credentials that only it opens: restore it", path)
			}
		}
		if page.Token = orgs.Next; page.Token == "" {
			return nil
		}
	}
}

func holdsCredentials(ctx context.Context, store catalog.Store, org catalog.OrgID) (bool, error) {
	for page := (catalog.Page{Size: catalog.MaxPageSize}); ; {
		configs, err := store.ListStorageConfigs(ctx, catalog.SystemViewer(org), page)
		if err != nil {
			return false, err
		}
		for _, c := range configs.Items {
			if c.AuthMode != "" {
				return true, nil
			}
		}
		if page.Token = configs.Next; page.Token == "" {
			return false, nil
		}
	}
}

// credentialOf is where the credential of a configuration belongs.
func credentialOf(org catalog.OrgID, config catalog.ConfigID) secret.Binding {
	return secret.Binding{Org: org, Config: config, Field: "credential"}
}

// seal encrypts a credential for its configuration.
func (s *s3Stores) seal(org catalog.OrgID, config catalog.ConfigID, plain []byte) ([]byte, error) {
	return s.keys.Seal(credentialOf(org, config), plain)
}

func (s *s3Stores) options(settings admin.S3Settings, c admin.S3Credential) s3.Options {
	return s3.Options{
		Bucket: settings.Bucket, Region: settings.Region, Endpoint: settings.Endpoint, PathStyle: settings.PathStyle,
		Credential: s3.Credential{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, RoleARN: c.RoleARN},
		Dial:       s.egress.DialContext, Limits: s.limits,
	}
}

// CheckS3 implements ops.Remote.
func (s *s3Stores) CheckS3(ctx context.Context, settings admin.S3Settings, credential admin.S3Credential) error {
	var refused *s3.OptionError
	if err := s.options(settings, credential).Check(); errors.As(err, &refused) {
		return catalog.FieldErrors{{Field: refused.Option, Message: refused.Reason}}
	} else if err != nil {
		return err
	}
	if settings.Endpoint == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	err := s.egress.Check(ctx, settings.Endpoint)
	switch {
	case errors.Is(err, storage.ErrEndpointRefused):
		return catalog.FieldErrors{{Field: "endpoint", Message: "must be https and lead to a public address"}}
	case errors.Is(err, storage.ErrEndpointUnknown):
		return catalog.FieldErrors{{Field: "endpoint", Message: "has no address"}}
	}
	return err
}

// OpenS3 implements ops.Remote.
func (s *s3Stores) OpenS3(settings admin.S3Settings, credential admin.S3Credential) (objstore.Bucket, io.Closer, error) {
	bucket, err := s3.New(s.options(settings, credential))
	if err != nil {
		return nil, nil, err
	}
	return objstore.Prefix(bucket, settings.Prefix), bucket, nil
}

// of returns the root of a configuration.
func (s *s3Stores) of(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	s.mu.Lock()
	kept, ok := s.open[config.ID]
	s.mu.Unlock()
	if ok && kept.version >= config.Version {
		return kept.root, nil
	}
	settings, err := admin.S3SettingsOf(config)
	if err != nil {
		return nil, err
	}
	credential, err := s.credential(ctx, config)
	if err != nil {
		return nil, err
	}
	bucket, err := s3.New(s.options(settings, credential))
	if err != nil {
		return nil, err
	}
	return s.keep(config, openS3{version: config.Version, bucket: bucket, root: objstore.Prefix(bucket, settings.Prefix)}), nil
}

// credential opens the stored secret of a configuration.
func (s *s3Stores) credential(ctx context.Context, config catalog.StorageConfig) (admin.S3Credential, error) {
	var c admin.S3Credential
	stored, err := s.secrets.StorageSecret(authz.System(ctx, "open storage"), config.Org, config.ID)
	if err != nil {
		return c, err
	}
	plain, err := s.keys.Open(credentialOf(config.Org, config.ID), stored.Sealed)
	if err != nil {
		return c, err
	}
	if json.Unmarshal(plain, &c) != nil {
		// Not the error: it quotes what it could not read.
		return c, fmt.Errorf("read the credential of %s: %w", config.ID, secret.ErrSealed)
	}
	return c, nil
}

// keep remembers a client unless another call kept a newer one meanwhile.
func (s *s3Stores) keep(config catalog.StorageConfig, fresh openS3) objstore.Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.open[config.ID]; ok && kept.version >= fresh.version {
		return kept.root
	}
	s.drop(config.ID)
	for id := range s.open {
		// Any victim will do: a client that is needed again is made again.
		if len(s.open) < maxClients {
			break
		}
		s.drop(id)
	}
	s.open[config.ID] = fresh
	return fresh.root
}

// drop forgets a client; its requests under way end by themselves.
func (s *s3Stores) drop(id catalog.ConfigID) {
	if kept, ok := s.open[id]; ok {
		_ = kept.bucket.Close() // closes idle connections, and never fails
		delete(s.open, id)
	}
}

// close drops every client.
func (s *s3Stores) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.open {
		s.drop(id)
	}
}
