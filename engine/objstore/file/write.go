package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// tempPrefix begins the names of temporary files. They are in the folder of their object, where
// rename and link never cross a file system.
const tempPrefix = ".lakewarden-tmp-"

// attempts bounds how often a write starts again because a concurrent Delete removed its empty
// folder.
const attempts = 100

// Put implements objstore.Bucket.
func (b *Bucket) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	return b.write(ctx, objstore.OpPut, name, objstore.Exactly(ctx, body, size), func(root *os.Root, temp string) error {
		return rename(root, temp, name)
	})
}

// PutIfAbsent implements objstore.Bucket.
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	source := objstore.Exactly(ctx, bytes.NewReader(body), int64(len(body)))
	return b.write(ctx, objstore.OpPutIfAbsent, name, source, func(root *os.Root, temp string) error {
		return link(root, temp, name)
	})
}

// rename gives the temporary file its name and replaces an existing file.
func rename(root *os.Root, temp, name string) error {
	err := root.Rename(temp, name)
	for _, lost := range []syscall.Errno{syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT} {
		if errors.Is(err, lost) {
			return fmt.Errorf("%w: %w", objstore.ErrUnknown, lost)
		}
	}
	return translateWrite(err)
}

// link gives the temporary file its name unless the name is taken.
func link(root *os.Root, temp, name string) error {
	err := root.Link(temp, name)
	if err == nil {
		return nil
	}
	written, tempErr := root.Lstat(temp)
	holder, holderErr := root.Lstat(name)
	switch {
	case tempErr == nil && holderErr == nil && os.SameFile(written, holder):
		// A network file system repeated a request whose reply was lost: the name is taken by this
		// temporary file itself.
		return nil
	case holderErr == nil && holder.IsDir():
		return translateWrite(syscall.EISDIR)
	case errors.Is(err, fs.ErrExist):
		return objstore.ErrExists
	case holderErr != nil && !errors.Is(holderErr, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", objstore.ErrUnknown, translateWrite(err))
	}
	return translateWrite(err)
}

// write writes the content to a synced temporary file, calls publish to give it its name, and syncs
// the folder. Before publish is called, nothing can be visible.
func (b *Bucket) write(ctx context.Context, op objstore.Op, name string, source *objstore.Source,
	publish func(*os.Root, string) error) error {
	root, err := b.begin(ctx, op, name)
	if err != nil {
		return err
	}
	defer root.Close()
	folder := path.Dir(name)
	rights, err := b.rightsFor(root, name)
	if err != nil {
		return failed(op, name, translateWrite(err))
	}
	temp, err := createTemp(root, folder, rights)
	if err != nil {
		return failed(op, name, translateWrite(err))
	}
	defer func() { _ = root.Remove(temp.path) }()
	if err := temp.fill(source); err != nil {
		return failed(op, name, err)
	}
	if err := ctx.Err(); err != nil {
		return failed(op, name, err)
	}
	if err := publish(root, temp.path); err != nil {
		return failed(op, name, err)
	}
	if err := syncFolder(root, folder); err != nil {
		// The object is visible, but a power failure could still undo it.
		return failed(op, name, fmt.Errorf("%w: sync folder: %w", objstore.ErrUnknown, translate(err)))
	}
	return nil
}

type tempFile struct {
	*os.File
	path string
}

// createTemp makes the folder, if needed, and an empty temporary file in it.
func createTemp(root *os.Root, folder string, rights rights) (tempFile, error) {
	var random [8]byte
	rand.Read(random[:])
	name := path.Join(folder, tempPrefix+hex.EncodeToString(random[:]))
	for attempt := 1; ; attempt++ {
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			rights.give(file)
			return tempFile{file, name}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || attempt == attempts {
			return tempFile{}, err
		}
		if err := makeFolder(root, folder, rights); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return tempFile{}, err
		}
	}
}

// fill writes, syncs and closes the file.
func (t tempFile) fill(source *objstore.Source) error {
	_, err := io.Copy(t.File, source)
	if source.Err() != nil {
		t.Close()
		return source.Err()
	}
	if err == nil {
		err = t.Sync()
	}
	if closeErr := t.Close(); err == nil {
		err = closeErr
	}
	return translateWrite(err)
}

// makeFolder makes the folder and its parents and syncs the parent of each new one: otherwise a
// power failure could remove a folder with a synced file.
func makeFolder(root *os.Root, folder string, rights rights) error {
	if folder == "." {
		return nil
	}
	err := rights.mkdir(root, folder)
	switch {
	case err == nil:
		return syncFolder(root, path.Dir(folder))
	case errors.Is(err, fs.ErrExist):
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeFolder(root, path.Dir(folder), rights); err != nil {
		return err
	}
	err = rights.mkdir(root, folder)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(root, path.Dir(folder))
}

func syncFolder(root *os.Root, folder string) error {
	dir, err := root.Open(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Delete implements objstore.Bucket. It also removes folders that become empty.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	root, err := b.begin(ctx, objstore.OpDelete, name)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = root.Remove(name)
	}
	if err = translate(err); errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return failed(objstore.OpDelete, name, err)
	}
	removeEmptied(root, path.Dir(name))
	return nil
}

// removeEmptied removes a folder and its parents, up to one that is not empty.
func removeEmptied(root *os.Root, folder string) {
	for folder != "." && removeFolder(root, folder) == nil {
		folder = path.Dir(folder)
	}
}

// removeFolder removes an empty folder. Root.Remove would also remove a file that has taken the
// folder's name meanwhile.
func removeFolder(root *os.Root, folder string) error {
	parent, err := root.Open(path.Dir(folder))
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Unlinkat(int(parent.Fd()), path.Base(folder), unix.AT_REMOVEDIR)
}
