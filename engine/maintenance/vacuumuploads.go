package maintenance

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// uploads removes what writes of processes that died left half-written, in the
// table's own folders and its log. An upload belongs to no version, so that its
// age alone decides.
func (v *vacuum) uploads(ctx context.Context) (err error) {
	if v.oldest, err = v.opts.OldestWrite(ctx); err != nil {
		return err
	}
	batch := make([]objstore.Upload, 0, parallel)
	for upload, err := range v.bucket.Uploads(ctx, "") {
		if err != nil {
			return err
		}
		if !v.folder.ownsUpload(upload.Name) || !v.old(objstore.Object{ModTime: upload.ModTime}) {
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

// ownsUpload reports whether an upload lies where the table's files do. Its own
// name may be one of the store's, which says nothing.
func (f folder) ownsUpload(name string) bool {
	dir := path.Dir(name)
	return dir == "." || dir == logFolder || strings.HasPrefix(dir, logFolder+"/") || f.owns(dir)
}

func (v *vacuum) discard(ctx context.Context, batch []objstore.Upload) error {
	files := make([]objstore.Object, len(batch))
	for i, upload := range batch {
		files[i] = objstore.Object{Name: upload.Name, Size: upload.Size, ModTime: upload.ModTime}
	}
	own, err := v.nested.without(ctx, slices.Clone(files))
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, object := range own {
		names[object.Name] = true
	}
	batch = slices.DeleteFunc(slices.Clone(batch), func(u objstore.Upload) bool { return !names[u.Name] })
	return v.remove(ctx, own, func(ctx context.Context, i int) error { return batch[i].Discard(ctx) })
}
