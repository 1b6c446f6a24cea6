package maintenance

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// uploads discards unfinished uploads of dead processes in the table's folders and
// its log. No version needs an upload, so only its age matters.
func (v *vacuum) uploads(ctx context.Context) error {
	batch := make([]objstore.Upload, 0, parallelRequests)
	for upload, err := range objstore.Uploads(ctx, v.bucket, "") {
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

// ownsUpload reports whether an upload belongs to the table. If the store chose the
// upload's name, only its folder matters.
func (f folder) ownsUpload(u objstore.Upload) bool {
	dir := path.Dir(u.Name)
	if !u.Own && f.hidden(path.Base(u.Name)) {
		return false
	}
	return dir == "." || dir == logFolder || strings.HasPrefix(dir, logFolder+"/") || f.owns(dir)
}

// discard discards the uploads of a batch that are old enough. It asks for writes
// under way after the uploads were listed.
func (v *vacuum) discard(ctx context.Context, batch []objstore.Upload) (err error) {
	if len(batch) == 0 {
		return nil
	}
	if v.oldestWrite, err = v.opts.OldestWrite(ctx); err != nil {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(batch), func(u objstore.Upload) bool { return !v.abandoned(u) })
	if err := v.tablesBelow.load(ctx, asObjects(own)); err != nil {
		return err
	}
	own = slices.DeleteFunc(own, func(u objstore.Upload) bool { return v.tablesBelow.contains(u.Name) })
	return v.remove(ctx, asObjects(own), func(ctx context.Context, i int) (bool, error) {
		err := own[i].Discard(ctx)
		if objstore.Withheld(err) {
			return false, nil
		}
		return true, err
	})
}

// abandoned reports whether an upload is so old that its write has ended. Uploads
// to the log take seconds and may have no lease, so they are kept for clockSkew
// whatever the retention is.
func (v *vacuum) abandoned(u objstore.Upload) bool {
	inLog := strings.HasPrefix(u.Name, logFolder+"/")
	return v.old(objstore.Object{ModTime: u.ModTime}) && !(inLog && u.ModTime.After(v.opts.Clock().Add(-clockSkew)))
}

func asObjects(uploads []objstore.Upload) []objstore.Object {
	objects := make([]objstore.Object, len(uploads))
	for i, u := range uploads {
		objects[i] = objstore.Object{Name: u.Name, Size: u.Size, ModTime: u.ModTime}
	}
	return objects
}
