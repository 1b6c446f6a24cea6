package maintenance

import (
	"context"
	"path"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// uploads removes what writes of processes that died left half-written, in the
// table's own folders and its log. An upload belongs to no version, so that its
// age alone decides.
func (v *vacuum) uploads(ctx context.Context) error {
	batch := make([]objstore.Upload, 0, parallel)
	for upload, err := range v.bucket.Uploads(ctx, "") {
		if err != nil {
			return err
		}
		if !v.folder.ownsUpload(upload) {
			continue
		}
		if batch = append(batch, upload); len(batch) == batchFiles {
			if err := v.discard(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return v.discard(ctx, batch)
}

// ownsUpload reports whether an upload lies where the table's files do. A name of
// the store's own says nothing.
func (f folder) ownsUpload(u objstore.Upload) bool {
	dir := path.Dir(u.Name)
	if !u.Own && f.hidden(path.Base(u.Name)) {
		return false
	}
	return dir == "." || dir == logFolder || strings.HasPrefix(dir, logFolder+"/") || f.owns(dir)
}

// discard removes the uploads of a batch that are old enough. As with files, what
// is under way is asked after they were listed.
func (v *vacuum) discard(ctx context.Context, batch []objstore.Upload) (err error) {
	if len(batch) == 0 {
		return nil
	}
	if v.oldest, err = v.opts.OldestWrite(ctx); err != nil {
		return err
	}
	var old []objstore.Object
	for _, u := range batch {
		if object := described(u); v.old(object) {
			old = append(old, object)
		}
	}
	if _, err := v.nested.without(ctx, old); err != nil {
		return err
	}
	var uploads []objstore.Upload
	var objects []objstore.Object
	for _, u := range batch {
		if object := described(u); v.old(object) && !v.nested.covers(u.Name) {
			uploads, objects = append(uploads, u), append(objects, object)
		}
	}
	return v.remove(ctx, objects, func(ctx context.Context, i int) error { return uploads[i].Discard(ctx) })
}

func described(u objstore.Upload) objstore.Object {
	return objstore.Object{Name: u.Name, Size: u.Size, ModTime: u.ModTime}
}
