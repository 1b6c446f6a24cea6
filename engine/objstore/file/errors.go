package file

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// failed adds what was done and on what.
func failed(op objstore.Op, name string, err error) error {
	return fmt.Errorf("%s %q: %w", op, name, err)
}

// translate maps an error of the file system to those of objstore. The path
// that the os package adds is dropped: it is absolute for the root.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		// The one failure of os.Root that is no errno: the path, or a link on
		// it, leads outside the root.
		return fmt.Errorf("%w: path leads outside the root", objstore.ErrDenied)
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		return objstore.ErrNotFound
	case syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ELOOP:
		return fmt.Errorf("%w: %w", objstore.ErrDenied, errno)
	case syscall.ENAMETOOLONG:
		return fmt.Errorf("%w: %w", objstore.ErrInvalidName, errno)
	}
	return fmt.Errorf("%w: %w", objstore.ErrUnavailable, errno)
}

// translateWrite is translate for the path of a write, where a file in the
// place of a folder, or the other way round, is a name that cannot be held.
func translateWrite(err error) error {
	for _, clash := range []syscall.Errno{syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST, syscall.ENOTEMPTY} {
		if errors.Is(err, clash) {
			return fmt.Errorf("%w: it is both an object and a folder", objstore.ErrInvalidName)
		}
	}
	if err = translate(err); errors.Is(err, objstore.ErrNotFound) {
		return fmt.Errorf("%w: folder vanished while writing", objstore.ErrUnavailable)
	}
	return err
}
