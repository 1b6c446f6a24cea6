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

// maxKeyFile is more than thousands of keys take.
const maxKeyFile = 1 << 20

// readKeys returns nil without an error when there is no file.
func readKeys(path string) (*keyset.Handle, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: cannot be read", ErrKeyFile)
	case !info.Mode().IsRegular() || info.Size() > maxKeyFile:
		return nil, fmt.Errorf("%w: is no key file", ErrKeyFile)
	case info.Mode().Perm()&0o007 != 0:
		return nil, fmt.Errorf("%w: others may read it (chmod 600)", ErrKeyFile)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot be read", ErrKeyFile)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(content)))
	if err != nil {
		return nil, fmt.Errorf("%w: is no keyset", ErrKeyFile)
	}
	return handle, nil
}

// lockKeys keeps other rotations out until unlock is called or the process
// ends. The lock is on the directory: the file itself is replaced.
func lockKeys(path string) (unlock func(), err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%w: its directory cannot be read", ErrKeyFile)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		dir.Close()
		return nil, fmt.Errorf("%w: its directory cannot be locked", ErrKeyFile)
	}
	return func() { dir.Close() }, nil
}

// createKeys makes the file with one new key, unless it exists by then.
func createKeys(path string) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return fmt.Errorf("%w: no key can be made", ErrKeyFile)
	}
	temp, err := writeTemp(path, handle)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	// A link, not a rename: of several processes the first one wins, and the
	// others read what it wrote.
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: cannot be made", ErrKeyFile)
	}
	return syncDir(path)
}

// replaceKeys puts a new content in the place of the old one.
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

// writeTemp writes a keyset to a file of its own beside path.
func writeTemp(path string, handle *keyset.Handle) (string, error) {
	var content bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&content)); err != nil {
		return "", fmt.Errorf("%w: cannot be written", ErrKeyFile)
	}
	// CreateTemp gives the mode 0600.
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

// syncDir makes the file's name outlive a power cut: a secret that is stored
// must not lose its key.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: cannot be kept", ErrKeyFile)
	}
	return nil
}
