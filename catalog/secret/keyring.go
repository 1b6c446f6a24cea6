package secret

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
)

// Keyring seals and opens secrets with the keys of one file. It is safe for
// concurrent use.
//
// Invariant: keys that a service opened are not used later than [OpenedFor] after the
// service last confirmed them.
type Keyring struct {
	file File
	now  func() time.Time

	reading sync.Mutex // held while the file is read and opened
	mu      sync.RWMutex
	loaded  loaded
}

// loaded is what a keyring has in memory. keys is nil if they were dropped.
type loaded struct {
	content   []byte // of the file
	keys      *aead.KMSEnvelopeAEAD
	maskRoot  []byte
	confirmed time.Time
}

func newKeyring(f File) *Keyring {
	k := &Keyring{file: f, now: f.Now}
	if k.now == nil {
		k.now = time.Now
	}
	return k
}

// Seal encrypts a secret for its binding, with the primary key that the file has now: a
// key that another process has retired seals nothing. Errors wrap ErrKeyFile or
// ErrUnavailable.
func (k *Keyring) Seal(b Binding, plain []byte) ([]byte, error) {
	associated, ok := b.associated()
	if !ok {
		return nil, fmt.Errorf("seal a secret: unknown kind %q", b.Kind)
	}
	loaded, err := k.refreshed()
	if err != nil {
		return nil, fmt.Errorf("seal a secret of kind %s: %w", b.Kind, err)
	}
	sealed, err := loaded.keys.Encrypt(plain, associated)
	if err != nil {
		return nil, fmt.Errorf("seal a secret of kind %s: %w", b.Kind, ErrKeyFile)
	}
	return sealed, nil
}

// Open decrypts the secret of a binding. If no known key fits, it reads the key file
// again, since another process may have rotated it. Errors wrap ErrSealed, ErrKeyFile
// or ErrUnavailable.
func (k *Keyring) Open(b Binding, sealed []byte) ([]byte, error) {
	associated, ok := b.associated()
	if !ok {
		return nil, fmt.Errorf("open a secret of unknown kind %q: %w", b.Kind, ErrSealed)
	}
	loaded, err := k.current()
	if err != nil {
		return nil, fmt.Errorf("open a secret of kind %s: %w", b.Kind, err)
	}
	plain, err := loaded.keys.Decrypt(sealed, associated)
	if err == nil {
		return plain, nil
	}
	if loaded, err = k.refreshed(); err != nil {
		return nil, fmt.Errorf("open a secret of kind %s: %w", b.Kind, err)
	}
	if plain, err = loaded.keys.Decrypt(sealed, associated); err != nil {
		return nil, fmt.Errorf("open a secret of kind %s: %w", b.Kind, ErrSealed)
	}
	return plain, nil
}

// Check returns an error that wraps ErrUnavailable if the keys may not be used, because
// the service has not confirmed them for [OpenedFor].
func (k *Keyring) Check() error {
	_, err := k.current()
	return err
}

// Confirm reads the key file again, so that the keyring follows rotations, and lets the
// service open it even if it is unchanged. If this fails, the keys stay in use until
// [OpenedFor] has passed, and are dropped then. A later call that succeeds restores them.
// Errors wrap ErrKeyFile or ErrUnavailable.
func (k *Keyring) Confirm(ctx context.Context) error {
	k.reading.Lock()
	defer k.reading.Unlock()
	content, err := k.file.read()
	known := k.get()
	switch {
	case err != nil:
	case content == nil: // the loaded keys remain in use
		err = k.load(ctx, known.content)
	case k.file.Service != nil || !bytes.Equal(content, known.content):
		err = k.load(ctx, content)
	}
	if err != nil && k.expired(known) {
		k.set(loaded{content: known.content, confirmed: known.confirmed})
	}
	return err
}

// refreshed returns the keys of the file, which it reads again. If the file is missing,
// the loaded keys remain in use.
func (k *Keyring) refreshed() (loaded, error) {
	k.reading.Lock()
	defer k.reading.Unlock()
	content, err := k.file.read()
	if err != nil {
		return loaded{}, err
	}
	if content != nil && !bytes.Equal(content, k.get().content) {
		ctx, cancel := context.WithTimeout(context.Background(), serviceTimeout)
		defer cancel()
		if err := k.load(ctx, content); err != nil {
			return loaded{}, err
		}
	}
	return k.current()
}

// load opens the content of the key file and uses its keys from then on.
func (k *Keyring) load(ctx context.Context, content []byte) error {
	asked := k.now()
	set, err := k.file.decode(ctx, content)
	if err != nil {
		return err
	}
	keys, err := set.envelope()
	if err != nil {
		return err
	}
	k.set(loaded{content: content, keys: keys, maskRoot: set.maskRoot, confirmed: asked})
	return nil
}

// current returns the keys in memory, or an error that wraps ErrUnavailable if they may
// no longer be used.
func (k *Keyring) current() (loaded, error) {
	known := k.get()
	if known.keys == nil || k.expired(known) {
		return loaded{}, fmt.Errorf("%w: it has not confirmed the keys for %s", ErrUnavailable, OpenedFor)
	}
	return known, nil
}

func (k *Keyring) expired(l loaded) bool {
	return k.file.Service != nil && k.now().Sub(l.confirmed) >= OpenedFor
}

func (k *Keyring) get() loaded {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.loaded
}

func (k *Keyring) set(l loaded) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loaded = l
}
