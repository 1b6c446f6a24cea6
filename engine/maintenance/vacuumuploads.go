package maintenance

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// uploads removes the unfinished uploads of processes that died, in the table's own
// folders and its log. An upload belongs to no version, so its age alone decides.
func (v *vacuum) uploads(ctx context.Context) error {
	batch := make([]objstore.Upload, 0, parallel)
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
	own := slices.DeleteFunc(slices.Clone(batch), func(u objstore.Upload) bool { return !v.abandoned(u) })
	if err := v.nested.learn(ctx, described(own)); err != nil {
		return err
	}
	own = slices.DeleteFunc(own, func(u objstore.Upload) bool { return v.nested.covers(u.Name) })
	return v.remove(ctx, described(own), func(ctx context.Context, i int) (bool, error) {
		err := own[i].Discard(ctx)
		if objstore.Withheld(err) {
			return false, nil
		}
		return true, err
	})
}

// abandoned reports whether an upload is so old that its write has ended. What goes
// into the log is written without a lease too, whatever the retention is: it takes
// seconds.
func (v *vacuum) abandoned(u objstore.Upload) bool {
	inLog := strings.HasPrefix(u.Name, logFolder+"/")
	return v.old(objstore.Object{ModTime: u.ModTime}) && !(inLog && u.ModTime.After(v.opts.Clock().Add(-clockSkew)))
}

func described(uploads []objstore.Upload) []objstore.Object {
	objects := make([]objstore.Object, len(uploads))
	for i, u := range uploads {
		objects[i] = objstore.Object{Name: u.Name, Size: u.Size, ModTime: u.ModTime}
	}
	return objects
}
