package file

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

func TestTranslate(t *testing.T) {
	for _, test := range []struct {
		err         error
		read, write error
	}{
		{syscall.ENOENT, objstore.ErrNotFound, objstore.ErrUnavailable},
		{syscall.ENOTDIR, objstore.ErrNotFound, objstore.ErrInvalidName},
		{syscall.EACCES, objstore.ErrDenied, objstore.ErrDenied},
		{syscall.EPERM, objstore.ErrDenied, objstore.ErrDenied},
		{syscall.EROFS, objstore.ErrDenied, objstore.ErrDenied},
		{syscall.ELOOP, objstore.ErrDenied, objstore.ErrDenied},
		{syscall.ENAMETOOLONG, objstore.ErrInvalidName, objstore.ErrInvalidName},
		{syscall.EEXIST, objstore.ErrUnavailable, objstore.ErrInvalidName},
		{syscall.ENOSPC, objstore.ErrUnavailable, objstore.ErrUnavailable},
		{syscall.EIO, objstore.ErrUnavailable, objstore.ErrUnavailable},
		{errors.New("path escapes"), objstore.ErrDenied, objstore.ErrDenied},
	} {
		wrapped := &fs.PathError{Op: "openat", Path: "/srv/secret/path", Err: test.err}
		require.ErrorIs(t, translate(wrapped), test.read, test.err)
		require.ErrorIs(t, translateWrite(wrapped), test.write, test.err)
		require.NotContains(t, translate(wrapped).Error(), "secret")
		require.NotContains(t, translateWrite(wrapped).Error(), "secret")
	}
	require.NoError(t, translate(nil))
	require.NoError(t, translateWrite(nil))
}
