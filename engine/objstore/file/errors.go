package file

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// failed adds the operation and the name to an error.
func failed(op objstore.Op, name string, err error) error {
	return fmt.Errorf("%s %q: %w", op, name, err)
}

// translate maps an error of the file system to those of objstore. It drops the path that the os
// package adds, because the root's path is absolute.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		// The only failure of os.Root that is not an errno: the path, or a link on it, leads
		// outside the root.
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

// translateWrite is translate for the path of a write: a file where a folder is needed, or the
// reverse, makes the name invalid.
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
