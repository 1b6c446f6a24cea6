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

// logFolder holds a table's log.
const logFolder = "_delta_log"

// folder tells a table's own files from what other tools keep beside them.
type folder struct {
	// partitions begin the names of the folders of partitions: "column=".
	partitions []string
}

func newFolder(partitionColumns []string) folder {
	var f folder
	for _, column := range partitionColumns {
		f.partitions = append(f.partitions, column+"=")
	}
	return f
}

// partitionNames are the partition columns by their names now and by those in
// files, which folders have that were made before a column was renamed.
func partitionNames(snap *delta.Snapshot) []string {
	names := slices.Clone(snap.PartitionColumns())
	for i, f := range snap.Schema().Fields {
		if slices.Contains(snap.PartitionColumns(), f.Name) {
			names = append(names, snap.StoredFields()[i].Name)
		}
	}
	return names
}

// owns reports whether a vacuum may touch the file: no part of its name is
// hidden, but for the folders that the protocol and partitions give names to.
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

// longLog is how many files of the log are passed over one by one: a listing that
// begins anew costs more than they do.
const longLog = 1000

// listed yields what the table's folder holds and a vacuum may touch.
func (v *vacuum) listed(ctx context.Context) iter.Seq2[objstore.Object, error] {
	const pastLog = logFolder + "/\U0010FFFF"
	return func(yield func(objstore.Object, error) bool) {
		passed, after, more := 0, "", true
		for more {
			more = false
			for object, err := range v.bucket.List(ctx, "", objstore.ListOptions{StartAfter: after}) {
				if err == nil && after == "" && strings.HasPrefix(object.Name, logFolder+"/") {
					if passed++; passed > longLog {
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

// nested knows which folders belong to other tables.
type nested struct {
	bucket objstore.Bucket

	mu sync.Mutex
	// tables says of folders whether they hold a log. It has those of the last
	// batch only: a listing comes back to none but those.
	tables map[string]bool
}

// without leaves out the files of tables below this one.
func (n *nested) without(ctx context.Context, files []objstore.Object) ([]objstore.Object, error) {
	if err := n.learn(ctx, files); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(f objstore.Object) bool { return n.covers(f.Name) }), nil
}

// learn asks about the folders that files lie in.
func (n *nested) learn(ctx context.Context, files []objstore.Object) error {
	known := n.tables
	n.tables = make(map[string]bool, len(known))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	asked := map[string]bool{}
	for _, f := range files {
		for dir := range parents(f.Name) {
			if asked[dir] {
				break // and so are those above
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

func (n *nested) set(dir string, is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tables[dir] = is
}

func (n *nested) covers(name string) bool {
	for dir := range parents(name) {
		if n.tables[dir] {
			return true
		}
	}
	return false
}

func (n *nested) isTable(ctx context.Context, dir string) (bool, error) {
	for _, err := range n.bucket.List(ctx, dir+"/"+logFolder+"/", objstore.ListOptions{}) {
		return err == nil, err
	}
	return false, nil
}

// parents yields the folders that a file lies in, the nearest first, without the
// root.
func parents(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			if !yield(name[:i]) {
				return
			}
		}
	}
}
