package secret

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// File is a file of keys. All replicas of a server use the same one.
type File struct {
	Path string
	// Service, if not nil, encrypts the file.
	Service KeyService
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// maxKeyFile exceeds the size of a file with thousands of keys.
const maxKeyFile = 1 << 20

// Load reads the key file and creates it if it does not exist. If several processes do
// so at once, one creates the file and all use it. Errors wrap ErrKeyFile or
// ErrUnavailable.
func (f File) Load(ctx context.Context) (*Keyring, error) {
	k := newKeyring(f)
	content, err := f.read()
	if err == nil && content == nil {
		if err = f.create(ctx); err == nil {
			content, err = f.read()
		}
	}
	if err == nil && content == nil {
		err = fmt.Errorf("%w: it was removed", ErrKeyFile)
	}
	if err != nil {
		return nil, err
	}
	if err := k.load(ctx, content); err != nil {
		return nil, err
	}
	return k, nil
}

// LoadFor is Load for the key file of a catalog. It returns an error if the file is
// missing while the catalog holds secrets that only that file opens: with a new file,
// secrets sealed from then on would be lost once the old one is restored.
func (f File) LoadFor(ctx context.Context, store catalog.SealedSecrets) (*Keyring, error) {
	if _, err := os.Stat(f.Path); errors.Is(err, fs.ErrNotExist) { // Load reports any other error
		sealed, err := store.HasSealedSecrets(ctx)
		switch {
		case err != nil:
			return nil, err
		case sealed:
			return nil, fmt.Errorf("%w: %s is missing, and the catalog holds secrets that only it opens: restore it", ErrKeyFile, f.Path)
		}
	}
	return f.Load(ctx)
}

// Rotate adds a key to the file. Running servers seal with it from then on. Secrets
// sealed before still open. Changes of the file exclude each other. Errors wrap
// ErrKeyFile or ErrUnavailable.
func (f File) Rotate(ctx context.Context) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	set, err := f.existing(ctx)
	if err == nil {
		err = set.add()
	}
	if err != nil {
		return err
	}
	return f.replace(ctx, set)
}

// Rewrap encrypts the file with the service of to, or stores its keys in clear if to has
// none. Secrets remain as they are. to has the path of f. Errors wrap ErrKeyFile or
// ErrUnavailable.
func (f File) Rewrap(ctx context.Context, to File) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	set, err := f.existing(ctx)
	if err != nil {
		return err
	}
	return to.replace(ctx, set)
}

// EncryptedBy returns the URI of the service that encrypted the file, or "" if the file
// holds its keys in clear. Errors wrap ErrKeyFile.
func (f File) EncryptedBy() (uri string, err error) {
	content, err := f.read()
	if err != nil {
		return "", err
	}
	if content == nil {
		return "", fmt.Errorf("%w: it does not exist", ErrKeyFile)
	}
	doc, err := parse(content)
	return doc.KeyService, err
}

// read returns the content of the key file. If the file does not exist, it returns nil
// and no error.
func (f File) read() ([]byte, error) {
	info, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: cannot be read", ErrKeyFile)
	case !info.Mode().IsRegular() || info.Size() > maxKeyFile:
		return nil, fmt.Errorf("%w: not a regular file of valid size", ErrKeyFile)
	case info.Mode().Perm()&0o007 != 0:
		return nil, fmt.Errorf("%w: others may read it (chmod 600)", ErrKeyFile)
	}
	content, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot be read", ErrKeyFile)
	}
	return content, nil
}

// existing reads the keys of a file that must exist.
func (f File) existing(ctx context.Context) (keySet, error) {
	content, err := f.read()
	if err == nil && content == nil {
		err = fmt.Errorf("%w: it was removed", ErrKeyFile)
	}
	if err != nil {
		return keySet{}, err
	}
	return f.decode(ctx, content)
}

// lock excludes other changes of the file until unlock is called or the process ends. It
// locks the directory, because the file itself is replaced.
func (f File) lock() (unlock func(), err error) {
	dir, err := os.Open(filepath.Dir(f.Path))
	if err != nil {
		return nil, fmt.Errorf("%w: its directory cannot be opened", ErrKeyFile)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		dir.Close()
		return nil, fmt.Errorf("%w: its directory cannot be locked", ErrKeyFile)
	}
	return func() { dir.Close() }, nil
}

// create creates the file with one new key, unless it already exists.
func (f File) create(ctx context.Context) error {
	set, err := newKeySet()
	if err != nil {
		return err
	}
	temp, err := f.writeTemp(ctx, set)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	// A link fails if the file exists, unlike a rename. Of several processes the first
	// one creates the file, and the others read it.
	if err := os.Link(temp, f.Path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: cannot be created", ErrKeyFile)
	}
	return f.syncDir()
}

// replace replaces the content of the file.
func (f File) replace(ctx context.Context, set keySet) error {
	temp, err := f.writeTemp(ctx, set)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, f.Path); err != nil {
		os.Remove(temp)
		return fmt.Errorf("%w: cannot be replaced", ErrKeyFile)
	}
	return f.syncDir()
}

// writeTemp writes keys to a new file in the directory of the key file.
func (f File) writeTemp(ctx context.Context, set keySet) (string, error) {
	content, err := f.encode(ctx, set)
	if err != nil {
		return "", err
	}
	// CreateTemp sets the mode to 0600.
	file, err := os.CreateTemp(filepath.Dir(f.Path), ".keys-*")
	if err != nil {
		return "", fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		os.Remove(file.Name())
		return "", fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	return file.Name(), nil
}

// syncDir makes the file's name durable, because a stored secret is lost without its
// key.
func (f File) syncDir() error {
	dir, err := os.Open(filepath.Dir(f.Path))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: its directory cannot be synced", ErrKeyFile)
	}
	return nil
}
