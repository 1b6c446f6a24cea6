package file

import (
	"context"
	"os"
	"path"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

var _ objstore.Copier = (*Bucket)(nil)

// CopyFrom implements objstore.Copier. Inside one directory the copy is a second link to the file:
// no write changes the content of a file that has a name. From another directory it is a new file.
func (b *Bucket) CopyFrom(ctx context.Context, source objstore.Bucket, from objstore.Object, name string) (bool, error) {
	origin, ok := source.(*Bucket)
	if !ok {
		return false, validName(name)
	}
	file, info, err := origin.openObject(ctx, objstore.OpCopy, from.Name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if origin.dir == b.dir {
		if linked, err := b.linkTo(ctx, from.Name, name); linked || err != nil {
			return linked, err
		}
	}
	err = b.write(ctx, objstore.OpCopy, name, objstore.Exactly(ctx, file, info.Size()), func(root *os.Root, temp string) error {
		return rename(root, temp, name)
	})
	return err == nil, err
}

// linkTo gives a regular file a second name. It returns false if the file system has no links.
func (b *Bucket) linkTo(ctx context.Context, from, name string) (bool, error) {
	root, err := b.begin(ctx, objstore.OpCopy, name)
	if err != nil {
		return false, err
	}
	defer root.Close()
	folder := path.Dir(name)
	rights, err := b.rightsFor(root, name)
	if err == nil {
		err = makeFolder(root, folder, rights)
	}
	if err != nil {
		return false, failed(objstore.OpCopy, name, translateWrite(err))
	}
	if info, err := root.Lstat(from); err != nil || !info.Mode().IsRegular() || root.Link(from, name) != nil {
		removeEmptied(root, folder)
		return false, nil //nolint:nilerr // the copy of the content reports what is wrong
	}
	if err := syncFolder(root, folder); err != nil {
		return false, failed(objstore.OpCopy, name, translate(err))
	}
	return true, nil
}
