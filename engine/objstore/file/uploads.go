package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Uploads implements objstore.UploadLister. It lists temporary files under their own names. Links
// are not followed. Folders without access are skipped.
func (b *Bucket) Uploads(ctx context.Context, prefix string) iter.Seq2[objstore.Upload, error] {
	return func(yield func(objstore.Upload, error) bool) {
		u := uploads{ctx: ctx, bucket: b, prefix: prefix, yield: yield}
		if err := u.walk(); err != nil && !errors.Is(err, errStop) {
			yield(objstore.Upload{}, failed(objstore.OpUploads, prefix, err))
		}
	}
}

// uploads is one running listing.
type uploads struct {
	ctx    context.Context
	bucket *Bucket
	prefix string
	yield  func(objstore.Upload, error) bool
}

func (u *uploads) walk() error {
	if err := objstore.ValidPrefix(u.prefix); err != nil {
		return err
	}
	root, err := u.bucket.open()
	if err != nil {
		return err
	}
	defer root.Close()
	folder := u.prefix[:strings.LastIndexByte(u.prefix, '/')+1]
	if folder == "" {
		return u.folder(root, "")
	}
	return u.enter(root, folder, folder)
}

// enter walks a folder: folder is its name in parent, and name, which ends in a slash, its name in
// the bucket. A folder that cannot be opened is skipped.
func (u *uploads) enter(parent *os.Root, folder, name string) error {
	dir, err := parent.OpenRoot(strings.TrimSuffix(folder, "/"))
	if err != nil {
		return u.ctx.Err()
	}
	defer dir.Close()
	return u.folder(dir, name)
}

func (u *uploads) folder(dir *os.Root, name string) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	handle, err := openFolder(dir)
	if err != nil {
		return nil //nolint:nilerr // no access, or removed concurrently
	}
	defer handle.Close()
	entries, err := handle.ReadDir(-1)
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	for _, e := range entries {
		switch {
		case e.IsDir() && strings.HasPrefix(name+e.Name()+"/", u.prefix):
			err = u.enter(dir, e.Name(), name+e.Name()+"/")
		case strings.HasPrefix(e.Name(), tempPrefix) && strings.HasPrefix(name, u.prefix):
			err = u.file(dir, e.Name(), name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file emits a temporary file, unless it no longer exists or is not a regular file.
func (u *uploads) file(dir *os.Root, name, folder string) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // its write has ended
	}
	full := folder + name
	upload := objstore.Upload{
		Name: full, Own: true, Size: info.Size(), ModTime: info.ModTime(),
		Discard: func(ctx context.Context) error { return u.bucket.discard(ctx, full) },
	}
	if !u.yield(upload, nil) {
		return errStop
	}
	return nil
}

func (b *Bucket) discard(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return failed(objstore.OpDiscard, name, err)
	}
	root, err := b.open()
	if err != nil {
		return failed(objstore.OpDiscard, name, err)
	}
	defer root.Close()
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(objstore.OpDiscard, name, translate(err))
	}
	removeEmptied(root, path.Dir(name))
	return nil
}
