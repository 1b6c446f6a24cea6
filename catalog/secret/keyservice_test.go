package secret_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/lakewarden/lakewarden/catalog/secret"
)

// service is a key service in memory.
type service struct {
	uri   string
	key   tink.AEAD
	down  atomic.Bool
	calls atomic.Int64
}

func newService(t *testing.T, uri string) *service {
	t.Helper()
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	require.NoError(t, err)
	key, err := aead.New(handle)
	require.NoError(t, err)
	return &service{uri: uri, key: key}
}

var errDown = errors.New("no answer")

func (s *service) URI() string { return s.uri }

func (s *service) called() error {
	s.calls.Add(1)
	if s.down.Load() {
		return errDown
	}
	return nil
}

func (s *service) Encrypt(_ context.Context, plain, associated []byte) ([]byte, error) {
	if err := s.called(); err != nil {
		return nil, err
	}
	return s.key.Encrypt(plain, associated)
}

func (s *service) Decrypt(_ context.Context, sealed, associated []byte) ([]byte, error) {
	if err := s.called(); err != nil {
		return nil, err
	}
	return s.key.Decrypt(sealed, associated)
}

func TestKeysOpenedByAServiceExpire(t *testing.T) {
	kms := newService(t, "kms://one")
	now := time.Unix(1_000_000, 0)
	file := secret.File{Path: filepath.Join(t.TempDir(), "keys.json"), Service: kms, Now: func() time.Time { return now }}
	keys, err := file.Load(t.Context())
	require.NoError(t, err)
	sealed, err := keys.Seal(home, []byte("plain"))
	require.NoError(t, err)
	calls := kms.calls.Load()
	for range 10 {
		_, err = keys.Open(home, sealed)
		require.NoError(t, err)
		_, err = keys.Seal(home, []byte("plain"))
		require.NoError(t, err)
	}
	require.Equal(t, calls, kms.calls.Load(), "opened keys need no call")

	now = now.Add(secret.OpenedFor - time.Second)
	require.NoError(t, keys.Confirm(t.Context()))
	kms.down.Store(true)
	now = now.Add(secret.OpenedFor - time.Second)
	require.ErrorIs(t, keys.Confirm(t.Context()), secret.ErrUnavailable)
	_, err = keys.Open(home, sealed)
	require.NoError(t, err, "opened keys work for five minutes")
	require.NoError(t, keys.Check())
	_, err = keys.MaskKey("org", "table")
	require.NoError(t, err)

	now = now.Add(time.Second)
	for range 2 {
		_, err = keys.Open(home, sealed)
		require.ErrorIs(t, err, secret.ErrUnavailable)
		require.NotErrorIs(t, err, secret.ErrSealed)
		_, err = keys.Seal(home, []byte("plain"))
		require.ErrorIs(t, err, secret.ErrUnavailable)
		_, err = keys.MaskKey("org", "table")
		require.ErrorIs(t, err, secret.ErrUnavailable)
		require.ErrorIs(t, keys.Check(), secret.ErrUnavailable)
		require.ErrorIs(t, keys.Confirm(t.Context()), secret.ErrUnavailable)
	}
	_, err = file.Load(t.Context())
	require.ErrorIs(t, err, secret.ErrUnavailable)

	kms.down.Store(false)
	require.NoError(t, keys.Confirm(t.Context()))
	plain, err := keys.Open(home, sealed)
	require.NoError(t, err, "it recovers by itself")
	require.Equal(t, "plain", string(plain))
	require.NoError(t, os.Remove(file.Path))
	require.NoError(t, keys.Confirm(t.Context()), "a running server still has its keys")
	require.NoError(t, keys.Check())
}

func TestKeysWithoutAServiceNeverExpire(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	keys, err := secret.File{Path: filepath.Join(t.TempDir(), "keys.json"), Now: func() time.Time { return now }}.Load(t.Context())
	require.NoError(t, err)
	now = now.Add(1000 * time.Hour)
	require.NoError(t, keys.Check())
	require.NoError(t, keys.Confirm(t.Context()))
}

// TestKeyFilesAreRewrapped moves keys from a clear file to a service, to another one, and
// back, with a rotation and a reseal in between.
func TestKeyFilesAreRewrapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	clear := secret.File{Path: path}
	one, two := newService(t, "kms://one"), newService(t, "kms://two")
	byOne, byTwo := secret.File{Path: path, Service: one}, secret.File{Path: path, Service: two}
	store := &memory{}
	bindings := fill(t, load(t, path), store, 2)
	mask := maskKey(t, path, "org", "table")
	inClear, err := os.ReadFile(path)
	require.NoError(t, err)

	_, err = byOne.Load(t.Context())
	require.ErrorIs(t, err, secret.ErrKeyFile, "the file is not encrypted")
	require.ErrorContains(t, err, "keys wrap")
	one.down.Store(true)
	require.ErrorIs(t, clear.Rewrap(t.Context(), byOne), secret.ErrUnavailable)
	unchanged, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, inClear, unchanged)
	one.down.Store(false)

	require.NoError(t, clear.Rewrap(t.Context(), byOne))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(content), "AesGcmKey")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	uri, err := clear.EncryptedBy()
	require.NoError(t, err)
	require.Equal(t, one.uri, uri)
	_, err = clear.Load(t.Context())
	require.ErrorIs(t, err, secret.ErrKeyFile)
	require.ErrorContains(t, err, one.uri)
	_, err = byTwo.Load(t.Context())
	require.ErrorIs(t, err, secret.ErrKeyFile)

	r := secret.Reseal{File: byOne, Store: store, Settle: time.Millisecond}
	require.NoError(t, byOne.Rotate(t.Context()))
	removed, err := r.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.NoError(t, byOne.Rewrap(t.Context(), byTwo))
	keys, err := byTwo.Load(t.Context())
	require.NoError(t, err)
	requireAllOpen(t, keys, store, bindings)
	require.NoError(t, byTwo.Rewrap(t.Context(), clear))
	requireAllOpen(t, load(t, path), store, bindings)
	require.Equal(t, mask, maskKey(t, path, "org", "table"))
	uri, err = clear.EncryptedBy()
	require.NoError(t, err)
	require.Empty(t, uri)

	// The keys that were on disk in clear open nothing any more.
	former := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(former, inClear, 0o600))
	_, err = load(t, former).Open(bindings[0], store.get(bindings[0]))
	require.ErrorIs(t, err, secret.ErrSealed)
}

// TestANewFileIsEncrypted checks that no key is written in clear with a service.
func TestANewFileIsEncrypted(t *testing.T) {
	dir := t.TempDir()
	file := secret.File{Path: filepath.Join(dir, "keys.json"), Service: newService(t, "kms://one")}
	_, err := file.Load(t.Context())
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	content, err := os.ReadFile(file.Path)
	require.NoError(t, err)
	require.NotContains(t, string(content), "AesGcmKey")
}
