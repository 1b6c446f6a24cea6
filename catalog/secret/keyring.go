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

// Binding identifies the owner of a secret. A ciphertext opens under its own binding
// only.
type Binding struct {
	Org    catalog.OrgID
	Config catalog.ConfigID
	// Field distinguishes several secrets of one configuration.
	Field string
}

// associated returns the binding as bytes. Ids contain no bar, so different bindings
// have different bytes.
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

// Load reads the key file and creates it if it does not exist. If several processes do
// so at once, one creates the file and all use it. Errors wrap ErrKeyFile.
func Load(path string) (*Keyring, error) {
	handle, err := readKeys(path)
	if err == nil && handle == nil {
		if err = createKeys(path); err == nil {
			handle, err = readKeys(path)
		}
	}
	if err == nil && handle == nil {
		err = fmt.Errorf("%w: it was removed", ErrKeyFile)
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

// envelope returns an AEAD whose data keys are encrypted by the keys of the file.
func envelope(handle *keyset.Handle) (*aead.KMSEnvelopeAEAD, error) {
	outer, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("%w: its keys have another type", ErrKeyFile)
	}
	return aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), outer), nil
}

// Seal encrypts a secret for its binding.
func (k *Keyring) Seal(b Binding, plain []byte) ([]byte, error) {
	sealed, err := k.current().Encrypt(plain, b.associated())
	if err != nil {
		return nil, fmt.Errorf("seal a secret of %s: %w", b.Config, ErrKeyFile)
	}
	return sealed, nil
}

// Open decrypts the secret of a binding. If no known key fits, it reads the key file
// again, since another process may have rotated it. Errors wrap ErrSealed or
// ErrKeyFile.
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

// Rotate adds a key to the file and seals with it from now on. Secrets sealed before
// still open. Other running servers read the new key when they need it to open a
// secret, and seal with it after their next start. Rotations in all processes exclude
// each other. Errors wrap ErrKeyFile.
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
		return fmt.Errorf("%w: it was removed", ErrKeyFile)
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
		return fmt.Errorf("%w: cannot add a key", ErrKeyFile)
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
		return err // if the file is missing, the loaded keys remain in use
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
