package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// DiscoverOptions bounds a discovery. Zero values are the defaults.
type DiscoverOptions struct {
	// MaxDepth is the maximum depth of the folders that are listed; default 16.
	MaxDepth int
	// MaxFolders is the maximum number of folders that are listed; default 200,000.
	MaxFolders int
	// MaxTables is the maximum number of tables that are found; default 100,000.
	MaxTables int
	// MaxPathBytes is the maximum size of the paths that wait to be listed; default 32 MiB.
	MaxPathBytes int64
	// Parallel is the number of folders that are listed at once; default 8.
	Parallel int
	// Progress, if set, is called after each folder, by the goroutine that called Discover.
	Progress func(Progress)
}

// Progress reports how far a discovery has come.
type Progress struct {
	Folders int
	Tables  int
}

// FoundTable is a table that a discovery has found.
type FoundTable struct {
	// Path is the folder of the table relative to the bucket; "" is the bucket itself.
	Path string
	// Log is the first commit or checkpoint of its log.
	Log objstore.Object
}

// Coverage describes how much of a bucket a discovery has listed.
type Coverage struct {
	Progress
	// Denied is the number of folders that could not be listed for lack of permission. There may
	// be tables below them.
	Denied int
	// Truncated reports that a limit was reached, so there may be more tables.
	Truncated bool
}

// Complete reports whether every folder was listed.
func (c Coverage) Complete() bool { return c.Denied == 0 && !c.Truncated }

// Discover walks the bucket for tables: folders whose _delta_log holds at least one commit or
// checkpoint. Since tables can be nested, it also enters a table's folder, except for partitions
// (x=1) and the table's own folders (names that begin with "_"); hidden folders (".x") are never
// entered. A table that is not found may therefore still exist: use IsTable.
//
// Discover calls found for each table, by the calling goroutine, while it lists further folders.
// Outer folders come before inner ones, folders of one depth in the order of their paths. Its
// memory follows from the limits. An error of found, and a root without permission, end it.
func Discover(ctx context.Context, bucket objstore.Bucket, opts DiscoverOptions, found func(FoundTable) error) (Coverage, error) {
	opts.MaxDepth = cmp.Or(opts.MaxDepth, 16)
	opts.MaxFolders = cmp.Or(opts.MaxFolders, 200_000)
	opts.MaxTables = cmp.Or(opts.MaxTables, 100_000)
	opts.MaxPathBytes = cmp.Or(opts.MaxPathBytes, 32<<20)
	opts.Parallel = cmp.Or(opts.Parallel, 8)

	ctx, cancel := context.WithCancel(ctx)
	w := &walk{bucket: bucket, opts: opts, queue: []place{{}}, known: 1}
	defer w.listing.Wait()
	defer cancel()
	var out Coverage
	for {
		f, more := w.next(ctx)
		if !more {
			return out, nil
		}
		if f.err != nil {
			return out, fmt.Errorf("discover tables: %w", f.err)
		}
		out.Folders++
		if f.denied {
			out.Denied++
		}
		if f.log != nil && out.Tables == opts.MaxTables {
			out.Truncated = true
			return out, nil
		}
		if f.log != nil {
			out.Tables++
			if err := found(FoundTable{Path: strings.TrimSuffix(f.at.path, "/"), Log: *f.log}); err != nil {
				return out, err
			}
		}
		out.Truncated = !w.enter(f) || out.Truncated
		if opts.Progress != nil {
			opts.Progress(out.Progress)
		}
	}
}

// IsTable reports whether the folder dir of the bucket ("" is the bucket itself)
// holds a Delta log with a commit or a checkpoint.
func IsTable(ctx context.Context, bucket objstore.Bucket, dir string) (bool, error) {
	if dir != "" {
		if err := objstore.ValidName(dir); err != nil {
			return false, err
		}
		dir += "/"
	}
	_, isTable, err := firstVersion(ctx, bucket, dir)
	return isTable, err
}

// walk is a discovery under way. Only the listings run concurrently with its owner.
//
// Invariants: known is the number of folders that were listed, are being listed or wait in queue;
// pathBytes is the size of the paths that wait in queue or were returned by a listing.
type walk struct {
	bucket objstore.Bucket
	opts   DiscoverOptions
	// queue holds the folders to list, and ahead the results of the next ones, in order.
	queue     []place
	ahead     []<-chan folder
	known     int
	pathBytes atomic.Int64
	listing   sync.WaitGroup
}

// place is a folder to list; its path ends in a slash or is empty.
type place struct {
	path  string
	depth int
	// inTable reports that a parent folder is a table.
	inTable bool
}

// folder is what a listing of a place returned.
type folder struct {
	at place
	// log is the first file of the log if the folder is a table.
	log    *objstore.Object
	denied bool
	// below are the paths of the folders to enter. cut reports that some were left out.
	below []string
	cut   bool
	err   error
}

// next returns the next folder in order, and keeps several listings under way. It returns false
// after the last one.
func (w *walk) next(ctx context.Context) (folder, bool) {
	for len(w.ahead) < w.opts.Parallel && len(w.queue) > 0 {
		at := w.queue[0]
		w.queue[0] = place{} // frees the path
		w.queue = w.queue[1:]
		w.pathBytes.Add(-int64(len(at.path)))
		result := make(chan folder, 1)
		w.ahead = append(w.ahead, result)
		w.listing.Go(func() { result <- w.list(ctx, at) })
	}
	if len(w.ahead) == 0 {
		return folder{}, false
	}
	f := <-w.ahead[0]
	w.ahead = w.ahead[1:]
	return f, true
}

// enter queues the folders below f. It returns false if a limit excludes one.
func (w *walk) enter(f folder) bool {
	all := !f.cut
	for i, path := range f.below {
		if f.at.depth == w.opts.MaxDepth || w.known == w.opts.MaxFolders {
			for _, rest := range f.below[i:] {
				w.pathBytes.Add(-int64(len(rest)))
			}
			return false
		}
		w.known++
		w.queue = append(w.queue, place{path: path, depth: f.at.depth + 1, inTable: f.at.inTable || f.log != nil})
	}
	return all
}

func (w *walk) list(ctx context.Context, at place) folder {
	f := folder{at: at}
	err := w.fill(ctx, &f)
	if errors.Is(err, objstore.ErrDenied) && at.path != "" {
		for _, path := range f.below {
			w.pathBytes.Add(-int64(len(path)))
		}
		return folder{at: at, denied: true}
	}
	f.err = err
	return f
}

// fill lists the place of f. Whether the place is a table decides which folders are entered.
// _delta_log is among the last names of a listing, so a listing that is cut before it looks for it.
func (w *walk) fill(ctx context.Context, f *folder) error {
	logName := f.at.path + logFolder + "/"
	hasLogFolder := false
	for object, err := range w.bucket.List(ctx, f.at.path, objstore.ListOptions{Shallow: true}) {
		if err != nil {
			return err
		}
		name, isFolder := strings.CutSuffix(object.Name[len(f.at.path):], "/")
		switch {
		case object.Name == logName:
			hasLogFolder = true
		case isFolder && !strings.HasPrefix(name, "."):
			f.cut = !w.remember(f, object.Name)
		}
		if f.cut {
			hasLogFolder = hasLogFolder || object.Name < logName
			break
		}
	}
	if hasLogFolder {
		log, isTable, err := firstVersion(ctx, w.bucket, f.at.path)
		if err != nil {
			return err
		}
		if isTable {
			f.log = &log
		}
	}
	if f.log != nil || f.at.inTable {
		w.leaveOutOwn(f)
	}
	return nil
}

// remember adds a folder below f. It returns false if a limit excludes it.
func (w *walk) remember(f *folder, path string) bool {
	size := int64(len(path))
	if len(f.below) == w.opts.MaxFolders {
		return false
	}
	if w.pathBytes.Add(size) > w.opts.MaxPathBytes {
		w.pathBytes.Add(-size)
		return false
	}
	f.below = append(f.below, path)
	return true
}

// leaveOutOwn removes the partitions and own folders of a table.
func (w *walk) leaveOutOwn(f *folder) {
	rest := f.below[:0]
	for _, path := range f.below {
		name := path[len(f.at.path) : len(path)-1]
		if strings.HasPrefix(name, "_") || strings.Contains(name, "=") {
			w.pathBytes.Add(-int64(len(path)))
			continue
		}
		rest = append(rest, path)
	}
	clear(f.below[len(rest):])
	f.below = rest
}

const logFolder = "_delta_log"

// firstVersion returns the first commit or checkpoint below dir, if there is one.
func firstVersion(ctx context.Context, bucket objstore.Bucket, dir string) (first objstore.Object, found bool, err error) {
	prefix := dir + logFolder + "/"
	// Versions begin with a digit. Names that sort before (checksums of other engines, hidden
	// files) can be as numerous as the commits, so they are skipped.
	opts := objstore.ListOptions{StartAfter: prefix + "0", Shallow: true}
	for object, err := range bucket.List(ctx, prefix, opts) {
		if err != nil {
			return first, false, err
		}
		name := object.Name[len(prefix):]
		if name == "" || name[0] > '9' {
			return first, false, nil
		}
		if isVersionFile(name) {
			return object, true, nil
		}
	}
	return first, false, nil
}

// isVersionFile reports whether a name is that of a commit or of a checkpoint of any kind.
func isVersionFile(name string) bool {
	const digits = 20
	if len(name) < digits || strings.Trim(name[:digits], "0123456789") != "" {
		return false
	}
	rest := name[digits:]
	return rest == ".json" ||
		strings.HasPrefix(rest, ".checkpoint.") && (strings.HasSuffix(rest, ".parquet") || strings.HasSuffix(rest, ".json"))
}
