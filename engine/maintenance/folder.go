package maintenance

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// logFolder is the folder of a table's log.
const logFolder = "_delta_log"

// folder distinguishes a table's own files from other files in its folder.
type folder struct {
	// partitions are the prefixes of the names of partition folders: "column=".
	partitions []string
}

func newFolder(partitionColumns []string) folder {
	var f folder
	for _, column := range partitionColumns {
		f.partitions = append(f.partitions, column+"=")
	}
	return f
}

// partitionNames returns the partition columns by their current names and by those
// in files, which folders have if they were created before a column was renamed.
func partitionNames(snap *delta.Snapshot) []string {
	names := slices.Clone(snap.PartitionColumns())
	for i, f := range snap.Schema().Fields {
		if slices.Contains(snap.PartitionColumns(), f.Name) {
			names = append(names, snap.StoredFields()[i].Name)
		}
	}
	return names
}

// owns reports whether a vacuum may delete the file: no part of its name is hidden,
// except for the folders that the protocol and partition columns name.
func (f folder) owns(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == logFolder || f.hidden(part) {
			return false
		}
	}
	return true
}

func (f folder) hidden(part string) bool {
	if !strings.HasPrefix(part, "_") && !strings.HasPrefix(part, ".") {
		return false
	}
	if part == "_change_data" || part == "_delta_index" {
		return false
	}
	for _, partition := range f.partitions {
		if strings.HasPrefix(part, partition) {
			return false
		}
	}
	return true
}

// maxSkipped is the number of files in the log that a listing skips one by one.
// Beyond it, a new listing that starts behind the log costs less.
const maxSkipped = 1000

// listFolder yields the files in the table's folder that a vacuum may delete.
func (v *vacuum) listFolder(ctx context.Context) iter.Seq2[objstore.Object, error] {
	const pastLog = logFolder + "/\U0010FFFF"
	return func(yield func(objstore.Object, error) bool) {
		passed, after, more := 0, "", true
		for more {
			more = false
			for object, err := range v.bucket.List(ctx, "", objstore.ListOptions{StartAfter: after}) {
				if err == nil && after == "" && strings.HasPrefix(object.Name, logFolder+"/") {
					if passed++; passed > maxSkipped {
						after, more = pastLog, true
						break
					}
					continue
				}
				if (err != nil || v.folder.owns(object.Name)) && !yield(object, err) {
					return
				}
			}
		}
	}
}

// nestedTables finds the folders that belong to other tables.
type nestedTables struct {
	bucket objstore.Bucket

	mu sync.Mutex
	// tables reports for folders whether they contain a log. It has the folders of
	// the last batch only, because a listing does not return to earlier ones.
	tables map[string]bool
}

// exclude removes the files of tables below this one.
func (n *nestedTables) exclude(ctx context.Context, files []objstore.Object) ([]objstore.Object, error) {
	if err := n.load(ctx, files); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(f objstore.Object) bool { return n.contains(f.Name) }), nil
}

// load determines which of the files' folders are tables.
func (n *nestedTables) load(ctx context.Context, files []objstore.Object) error {
	known := n.tables
	n.tables = make(map[string]bool, len(known))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelRequests)
	asked := map[string]bool{}
	for _, f := range files {
		for dir := range parents(f.Name) {
			if asked[dir] {
				break // and its parents too
			}
			asked[dir] = true
			if is, ok := known[dir]; ok {
				n.set(dir, is)
				continue
			}
			g.Go(func() error {
				is, err := n.isTable(gctx, dir)
				n.set(dir, is)
				return err
			})
		}
	}
	return g.Wait()
}

func (n *nestedTables) set(dir string, is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tables[dir] = is
}

func (n *nestedTables) contains(name string) bool {
	for dir := range parents(name) {
		if n.tables[dir] {
			return true
		}
	}
	return false
}

func (n *nestedTables) isTable(ctx context.Context, dir string) (bool, error) {
	for _, err := range n.bucket.List(ctx, dir+"/"+logFolder+"/", objstore.ListOptions{}) {
		return err == nil, err
	}
	return false, nil
}

// parents yields the folders of a file, innermost first, without the root.
func parents(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			if !yield(name[:i]) {
				return
			}
		}
	}
}
