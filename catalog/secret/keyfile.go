package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// maxKeyFile exceeds the size of a file with thousands of keys.
const maxKeyFile = 1 << 20

// readKeys reads the key file. If the file does not exist, it returns nil and no error.
func readKeys(path string) (*keyset.Handle, error) {
	info, err := os.Stat(path)
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
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot be read", ErrKeyFile)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(content)))
	if err != nil {
		return nil, fmt.Errorf("%w: not a keyset", ErrKeyFile)
	}
	return handle, nil
}

// lockKeys excludes other rotations until unlock is called or the process ends. It
// locks the directory, because the file itself is replaced.
func lockKeys(path string) (unlock func(), err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%w: its directory cannot be opened", ErrKeyFile)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		dir.Close()
		return nil, fmt.Errorf("%w: its directory cannot be locked", ErrKeyFile)
	}
	return func() { dir.Close() }, nil
}

// createKeys creates the file with one new key, unless it already exists.
func createKeys(path string) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return fmt.Errorf("%w: cannot generate a key", ErrKeyFile)
	}
	temp, err := writeTemp(path, handle)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	// A link fails if the file exists, unlike a rename. Of several processes the first
	// one creates the file, and the others read it.
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: cannot be created", ErrKeyFile)
	}
	return syncDir(path)
}

// replaceKeys replaces the content of the file.
func replaceKeys(path string, handle *keyset.Handle) error {
	temp, err := writeTemp(path, handle)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return fmt.Errorf("%w: cannot be replaced", ErrKeyFile)
	}
	return syncDir(path)
}

// writeTemp writes a keyset to a new file in the directory of path.
func writeTemp(path string, handle *keyset.Handle) (string, error) {
	var content bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&content)); err != nil {
		return "", fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	// CreateTemp sets the mode to 0600.
	file, err := os.CreateTemp(filepath.Dir(path), ".keys-*")
	if err != nil {
		return "", fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	_, err = file.Write(content.Bytes())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		os.Remove(file.Name())
		return "", fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	return file.Name(), nil
}

// syncDir makes the file's name durable, because a stored secret is lost without its
// key.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: its directory cannot be synced", ErrKeyFile)
	}
	return nil
}
