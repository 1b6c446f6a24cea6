package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// s3Stores opens configurations of kind s3 and caches a client for each of them.
type s3Stores struct {
	secrets catalog.StorageConfigs
	keys    *secret.Keyring
	egress  storage.Egress
	limits  s3.Limits
	// clients are keyed by configuration. A rotation raises the version of the
	// configuration, so that the old credential is not used again.
	clients s3.Clients
}

var _ admin.Remote = (*s3Stores)(nil)

// resolveTime bounds the look-up of an endpoint's host name.
const resolveTime = 5 * time.Second

// newS3Stores loads the key file, which is created at the first start.
func newS3Stores(ctx context.Context, settings config.Settings, store catalog.Store) (*s3Stores, error) {
	keys, err := secret.LoadFor(authz.System(ctx, "key file"), settings.KeyFile, store)
	if err != nil {
		return nil, fmt.Errorf("key_file: %w", err)
	}
	return &s3Stores{
		secrets: store, keys: keys, egress: storage.Egress{AllowPrivate: settings.AllowPrivateEndpoints},
		limits: s3.Limits{Connect: min(settings.StoreTimeout, 5*time.Second), Idle: settings.StoreTimeout},
	}, nil
}

// credentialOf returns the binding of a configuration's credential.
func credentialOf(org catalog.OrgID, config catalog.ConfigID) secret.Binding {
	return secret.Binding{Org: org, Config: config, Field: "credential"}
}

// seal encrypts the credential of a configuration.
func (s *s3Stores) seal(org catalog.OrgID, config catalog.ConfigID, plain []byte) ([]byte, error) {
	return s.keys.Seal(credentialOf(org, config), plain)
}

func (s *s3Stores) options(settings admin.S3Settings, c admin.S3Credential) s3.Options {
	return s3.Options{
		Bucket: settings.Bucket, Region: settings.Region, Endpoint: settings.Endpoint, PathStyle: settings.PathStyle,
		Credential: s3.Credential{
			AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, RoleARN: c.RoleARN,
		},
		Dial: s.egress.DialContext, Limits: s.limits,
	}
}

// CheckS3 implements admin.Remote.
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

// OpenS3 implements admin.Remote.
func (s *s3Stores) OpenS3(settings admin.S3Settings, credential admin.S3Credential) (objstore.Bucket, io.Closer, error) {
	bucket, err := s3.New(s.options(settings, credential))
	if err != nil {
		return nil, nil, err
	}
	return objstore.Prefix(bucket, settings.Prefix), bucket, nil
}

// of returns the root of a configuration.
func (s *s3Stores) of(ctx context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	return s.clients.Open(string(config.ID), config.Version, func() (*s3.Bucket, string, error) {
		settings, err := admin.S3SettingsOf(config)
		if err != nil {
			return nil, "", err
		}
		credential, err := s.credential(ctx, config)
		if err != nil {
			return nil, "", err
		}
		bucket, err := s3.New(s.options(settings, credential))
		return bucket, settings.Prefix, err
	})
}

// credential decrypts the stored secret of a configuration.
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
		// The error is omitted, because it quotes its input.
		return c, fmt.Errorf("read the credential of %s: %w", config.ID, secret.ErrSealed)
	}
	return c, nil
}
