package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Bucket is an objstore.Bucket over a directory. It holds no file open between requests: it finds a
// directory that was moved away and back. One that does not exist, or that is not the directory with
// which the bucket was opened (because a disk is not mounted any more), is ErrUnavailable, never empty.
type Bucket struct {
	dir  string
	self fs.FileInfo // of the directory when the bucket was opened
	mode fs.FileMode // of new files; zero means that of the table's folder
}

var (
	_ objstore.Bucket       = (*Bucket)(nil)
	_ objstore.UploadLister = (*Bucket)(nil)
)

// Options are the optional parts of a Bucket; the zero value is usable.
type Options struct {
	// Mode is the mode of new files. New folders may also be searched by those who may read the
	// files. Zero means the mode of the table's folder, without access for others.
	Mode fs.FileMode
}

// New opens the existing directory root.
func New(root string) (*Bucket, error) { return Open(root, Options{}) }

// Open opens the existing directory root.
func Open(root string, opts Options) (*Bucket, error) {
	dir, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open local root: %w", err)
	}
	b := &Bucket{dir: dir, mode: opts.Mode}
	handle, err := b.open()
	if err != nil {
		return nil, fmt.Errorf("open local root: %w", err)
	}
	defer handle.Close()
	if b.self, err = handle.Stat("."); err != nil {
		return nil, fmt.Errorf("open local root: %w", translate(err))
	}
	return b, nil
}

// Create opens the directory root. It creates the directory and its parents if they do not exist.
func Create(root string) (*Bucket, error) {
	if err := os.MkdirAll(root, 0o750); err != nil {
		return nil, fmt.Errorf("create local root: %w", translateWrite(err))
	}
	return New(root)
}

// Self identifies the directory, for [os.SameFile].
func (b *Bucket) Self() fs.FileInfo { return b.self }

// Root returns the absolute path of the directory, for engines that read local tables by path.
func (b *Bucket) Root() string { return b.dir }

// Get implements objstore.Bucket.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	file, _, err := b.openObject(ctx, objstore.OpGet, name)
	if err != nil {
		return nil, err
	}
	return objstore.Body(ctx, file, file), nil
}

// GetRange implements objstore.Bucket.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	file, info, err := b.openObject(ctx, objstore.OpGetRange, name)
	if err != nil {
		return nil, err
	}
	start, end := objstore.Range(info.Size(), offset, length)
	return objstore.Body(ctx, io.NewSectionReader(file, start, end-start), file), nil
}

// Stat implements objstore.Bucket.
func (b *Bucket) Stat(ctx context.Context, name string) (objstore.Object, error) {
	root, err := b.begin(ctx, objstore.OpStat, name)
	if err != nil {
		return objstore.Object{}, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return objstore.Object{}, failed(objstore.OpStat, name, translate(err))
	}
	if !info.Mode().IsRegular() {
		return objstore.Object{}, failed(objstore.OpStat, name, objstore.ErrNotFound)
	}
	return objstore.Object{Name: name, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// openObject opens a regular file. Folders, pipes and devices are not objects.
func (b *Bucket) openObject(ctx context.Context, op objstore.Op, name string) (*os.File, fs.FileInfo, error) {
	root, err := b.begin(ctx, op, name)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// O_NONBLOCK: opening a pipe in the directory must not block.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, failed(op, name, translate(err))
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = translate(err)
	case !info.Mode().IsRegular():
		err = objstore.ErrNotFound
	default:
		return file, info, nil
	}
	file.Close()
	return nil, nil, failed(op, name, err)
}

// begin checks a request for one object and opens the root.
func (b *Bucket) begin(ctx context.Context, op objstore.Op, name string) (*os.Root, error) {
	if err := validName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, failed(op, name, err)
	}
	root, err := b.open()
	if err != nil {
		return nil, failed(op, name, err)
	}
	return root, nil
}

// open opens the root directory. If the directory does not exist, the error is not that of a
// missing object: tables must not look deleted because a disk is not mounted.
func (b *Bucket) open() (*os.Root, error) {
	root, err := os.OpenRoot(b.dir)
	var errno syscall.Errno
	switch {
	case err == nil:
		return b.same(root)
	case !errors.As(err, &errno), errors.Is(translate(errno), objstore.ErrNotFound):
		return nil, fmt.Errorf("%w: root is not a directory", objstore.ErrUnavailable)
	}
	return nil, translate(err)
}

// same returns the root if it is the directory with which the bucket was opened.
func (b *Bucket) same(root *os.Root) (*os.Root, error) {
	if b.self == nil { // it is being opened
		return root, nil
	}
	now, err := root.Stat(".")
	switch {
	case err != nil:
		err = translate(err)
	case !os.SameFile(now, b.self):
		err = fmt.Errorf("%w: root is another directory than before", objstore.ErrUnavailable)
	default:
		return root, nil
	}
	root.Close()
	return nil, err
}

// validName also refuses this package's temporary files, so that no request can read or replace an
// object before it is complete.
func validName(name string) error {
	if err := objstore.ValidName(name); err != nil {
		return err
	}
	if strings.HasPrefix(name, tempPrefix) || strings.Contains(name, "/"+tempPrefix) {
		return fmt.Errorf("%w: %q is reserved", objstore.ErrInvalidName, name)
	}
	return nil
}
