package gateway

import (
	"iter"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// entries lists the store as S3 does. The two differ in one case: a Shallow listing that starts
// after a name in a folder omits that folder, while S3 lists it as long as it holds a later name.
// In this case entries lists the folder itself.
func (q *request) entries(prefix, after string, shallow bool) iter.Seq2[objstore.Object, error] {
	store := q.location.Store
	opts := objstore.ListOptions{StartAfter: after, Shallow: shallow}
	folder, inside := folderOf(prefix, after)
	if !shallow || !inside {
		return store.List(q.ctx, prefix, opts)
	}
	return func(yield func(objstore.Object, error) bool) {
		for _, err := range store.List(q.ctx, folder, objstore.ListOptions{StartAfter: after}) {
			if !yield(objstore.Object{Name: folder}, err) || err != nil {
				return
			}
			break
		}
		opts.StartAfter = folder
		store.List(q.ctx, prefix, opts)(yield)
	}
}

// folderOf returns the common prefix of the folder that contains the name after, if there is one.
func folderOf(prefix, after string) (folder string, inside bool) {
	rest, ok := strings.CutPrefix(after, prefix)
	slash := strings.IndexByte(rest, '/')
	if !ok || slash < 0 || slash == len(rest)-1 {
		return "", false
	}
	return prefix + rest[:slash+1], true
}
