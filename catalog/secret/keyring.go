package secret

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/lakewarden/lakewarden/catalog"
)

// Binding is where a secret belongs. A ciphertext opens under its own only.
type Binding struct {
	Org    catalog.OrgID
	Config catalog.ConfigID
	// Field tells several secrets of one configuration apart.
	Field string
}

// associated is the binding as bytes. Ids hold no bar, so no two bindings are
// alike.
func (b Binding) associated() []byte {
	return []byte(string(b.Org) + "|" + string(b.Config) + "|" + b.Field)
}

// Keyring seals and opens secrets with the keys of one file. It is safe for
// concurrent use.
type Keyring struct {
	path string

	mu   sync.RWMutex
	keys *aead.KMSEnvelopeAEAD
}

// Load reads the key file, and makes it when it does not exist. Any number of
// processes may do so at once: one makes it, all use that one. ErrKeyFile.
func Load(path string) (*Keyring, error) {
	handle, err := readKeys(path)
	if err == nil && handle == nil {
		if err = createKeys(path); err == nil {
			handle, err = readKeys(path)
		}
	}
	if err == nil && handle == nil {
		err = fmt.Errorf("%w: it vanished", ErrKeyFile)
	}
	if err != nil {
		return nil, err
	}
	keys, err := envelope(handle)
	if err != nil {
		return nil, err
	}
	return &Keyring{path: path, keys: keys}, nil
}

// LoadFor is Load for the key file of a catalog. It returns an error if the file is
// missing while the catalog holds credentials that only that file opens: with a new
// file, credentials sealed from then on would be lost once the old one is restored.
func LoadFor(ctx context.Context, path string, store interface {
	catalog.Organisations
	catalog.StorageConfigs
}) (*Keyring, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // Load reports any other error
		for c, err := range catalog.AllStorageConfigs(ctx, store) {
			if err != nil {
				return nil, err
			}
			if c.AuthMode != "" {
				return nil, fmt.Errorf("%w: %s is missing, and the catalog holds credentials that only it opens: restore it", ErrKeyFile, path)
			}
		}
	}
	return Load(path)
}

// envelope makes data keys that the keys of the file encrypt.
func envelope(handle *keyset.Handle) (*aead.KMSEnvelopeAEAD, error) {
	outer, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("%w: its keys are of another kind", ErrKeyFile)
	}
	return aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), outer), nil
}

// Seal encrypts a secret for its place.
func (k *Keyring) Seal(b Binding, plain []byte) ([]byte, error) {
	sealed, err := k.current().Encrypt(plain, b.associated())
	if err != nil {
		return nil, fmt.Errorf("seal a secret of %s: %w", b.Config, ErrKeyFile)
	}
	return sealed, nil
}

// Open decrypts a secret of its place. The key file is read anew when no known
// key fits: another process may have rotated it. ErrSealed, ErrKeyFile.
func (k *Keyring) Open(b Binding, sealed []byte) ([]byte, error) {
	plain, err := k.current().Decrypt(sealed, b.associated())
	if err == nil {
		return plain, nil
	}
	if err := k.reload(); err != nil {
		return nil, err
	}
	if plain, err = k.current().Decrypt(sealed, b.associated()); err != nil {
		return nil, fmt.Errorf("open a secret of %s: %w", b.Config, ErrSealed)
	}
	return plain, nil
}

// Rotate adds a key to the file and seals with it from now on. What was sealed
// before still opens. Servers that run beside open with the new key when they
// meet it, and seal with it after their next start. Rotations wait for each
// other, across processes. ErrKeyFile.
func (k *Keyring) Rotate() error {
	unlock, err := lockKeys(k.path)
	if err != nil {
		return err
	}
	defer unlock()
	handle, err := readKeys(k.path)
	if err != nil {
		return err
	}
	if handle == nil {
		return fmt.Errorf("%w: it is gone", ErrKeyFile)
	}
	manager := keyset.NewManagerFromHandle(handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err == nil {
		err = manager.SetPrimary(id)
	}
	if err == nil {
		handle, err = manager.Handle()
	}
	if err != nil {
		return fmt.Errorf("%w: no key can be added", ErrKeyFile)
	}
	if err := replaceKeys(k.path, handle); err != nil {
		return err
	}
	return k.reload()
}

func (k *Keyring) current() *aead.KMSEnvelopeAEAD {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys
}

func (k *Keyring) reload() error {
	handle, err := readKeys(k.path)
	if err != nil || handle == nil {
		return err // a file that is gone keeps the keys that are known
	}
	keys, err := envelope(handle)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = keys
	return nil
}
