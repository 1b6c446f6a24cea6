package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// DiscoverOptions bounds a discovery. Zero values are the defaults.
type DiscoverOptions struct {
	// MaxDepth is the deepest folder that is looked into; default 16.
	MaxDepth int
	// MaxFolders is the most folders that are looked into; default 100,000.
	MaxFolders int
	// MaxTables is the most tables that are returned; default 10,000.
	MaxTables int
	// Parallel is the number of requests at a time; default 8.
	Parallel int
	// Progress, if set, is called after each level of folders, by one goroutine.
	Progress func(Progress)
}

// Progress is how far a discovery has come.
type Progress struct {
	Folders int
	Tables  int
}

// Found is the result of a discovery.
type Found struct {
	// Tables are the folders of the tables relative to the bucket, sorted; a
	// table that is the bucket itself is "".
	Tables []string
	// Denied are folders that refused to be listed, sorted. Tables may lie below.
	Denied []string
	// Truncated: a limit was reached, there may be more tables.
	Truncated bool
	Folders   int
}

// Discover walks the bucket for tables: folders whose _delta_log holds at least
// one commit or checkpoint. It goes below a table's folder too, since tables
// nest, but there not into partitions (x=1) and folders of the table's own
// (names that begin with "_"); hidden folders (".x") are never entered. That a
// table is not in the result therefore does not prove that it is gone: ask
// IsTable. An error means no result; a denied root is one.
func Discover(ctx context.Context, bucket objstore.Bucket, opts DiscoverOptions) (Found, error) {
	opts.MaxDepth = cmp.Or(opts.MaxDepth, 16)
	opts.MaxFolders = cmp.Or(opts.MaxFolders, 100_000)
	opts.MaxTables = cmp.Or(opts.MaxTables, 10_000)
	opts.Parallel = cmp.Or(opts.Parallel, 8)

	var found Found
	level := []place{{}}
	for depth := 0; len(level) > 0; depth++ {
		if depth > opts.MaxDepth {
			found.Truncated = true
			break
		}
		if room := opts.MaxFolders - found.Folders; len(level) > room {
			found.Truncated = true
			level = level[:room]
		}
		looks, err := lookAll(ctx, bucket, level, opts.Parallel)
		if err != nil {
			return Found{}, err
		}
		found.Folders += len(level)
		level = level[:0:0]
		for _, l := range looks {
			if l.denied {
				found.Denied = append(found.Denied, strings.TrimSuffix(l.at.path, "/"))
			}
			if l.isTable && len(found.Tables) == opts.MaxTables {
				found.Truncated = true
				break
			}
			if l.isTable {
				found.Tables = append(found.Tables, strings.TrimSuffix(l.at.path, "/"))
			}
			level = append(level, l.below...)
		}
		if opts.Progress != nil {
			opts.Progress(Progress{Folders: found.Folders, Tables: len(found.Tables)})
		}
		if len(found.Tables) == opts.MaxTables && found.Truncated {
			break
		}
	}
	slices.Sort(found.Tables)
	slices.Sort(found.Denied)
	return found, nil
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
	return hasLog(ctx, bucket, dir)
}

// place is a folder to look into; its path ends in a slash or is empty.
type place struct {
	path string
	// inTable: a folder above is a table.
	inTable bool
}

// look is what was seen in a place.
type look struct {
	at      place
	isTable bool
	denied  bool
	below   []place
}

// lookAll looks into the folders of one level, several at a time.
func lookAll(ctx context.Context, bucket objstore.Bucket, level []place, parallel int) ([]look, error) {
	looks := make([]look, len(level))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, at := range level {
		group.Go(func() error {
			seen, err := lookInto(ctx, bucket, at)
			if errors.Is(err, objstore.ErrDenied) && at.path != "" {
				seen, err = look{at: at, denied: true}, nil
			}
			looks[i] = seen
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("discover tables: %w", err)
	}
	return looks, nil
}

func lookInto(ctx context.Context, bucket objstore.Bucket, at place) (look, error) {
	seen := look{at: at}
	var names []string
	hasLogFolder := false
	for object, err := range bucket.List(ctx, at.path, objstore.ListOptions{Shallow: true}) {
		if err != nil {
			return look{}, err
		}
		name, isFolder := strings.CutSuffix(object.Name[len(at.path):], "/")
		switch {
		case !isFolder:
		case name == logFolder:
			hasLogFolder = true
		case !strings.HasPrefix(name, "."):
			names = append(names, name)
		}
	}
	if hasLogFolder {
		isTable, err := hasLog(ctx, bucket, at.path)
		if err != nil {
			return look{}, err
		}
		seen.isTable = isTable
	}
	inTable := at.inTable || seen.isTable
	for _, name := range names {
		if inTable && (strings.HasPrefix(name, "_") || strings.Contains(name, "=")) {
			continue
		}
		seen.below = append(seen.below, place{path: at.path + name + "/", inTable: inTable})
	}
	return seen, nil
}

const logFolder = "_delta_log"

// hasLog looks for the first commit or checkpoint below dir.
func hasLog(ctx context.Context, bucket objstore.Bucket, dir string) (bool, error) {
	prefix := dir + logFolder + "/"
	// Versions begin with a digit; what sorts before (checksums of other
	// engines, hidden files) can be as many as the commits.
	opts := objstore.ListOptions{StartAfter: prefix + "0", Shallow: true}
	for object, err := range bucket.List(ctx, prefix, opts) {
		if err != nil {
			return false, err
		}
		name := object.Name[len(prefix):]
		if name == "" || name[0] > '9' {
			return false, nil
		}
		if isVersionFile(name) {
			return true, nil
		}
	}
	return false, nil
}

// isVersionFile recognises commits and checkpoints of every kind by name.
func isVersionFile(name string) bool {
	const digits = 20
	if len(name) < digits || strings.Trim(name[:digits], "0123456789") != "" {
		return false
	}
	rest := name[digits:]
	return rest == ".json" ||
		strings.HasPrefix(rest, ".checkpoint.") && (strings.HasSuffix(rest, ".parquet") || strings.HasSuffix(rest, ".json"))
}
