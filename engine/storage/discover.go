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
	// MaxDepth is the maximum depth of the folders that are listed; default 16.
	MaxDepth int
	// MaxFolders is the maximum number of folders that are listed; default 100,000.
	MaxFolders int
	// MaxTables is the maximum number of tables that are returned; default 10,000.
	MaxTables int
	// Parallel is the number of concurrent requests; default 8.
	Parallel int
	// Progress, if set, is called after each level of folders, by one goroutine.
	Progress func(Progress)
}

// Progress reports how far a discovery has come.
type Progress struct {
	Folders int
	Tables  int
}

// Found is the result of a discovery.
type Found struct {
	// Tables are the folders of the tables relative to the bucket, sorted; "" is the bucket itself.
	Tables []string
	// Denied are the folders that could not be listed for lack of permission, sorted. There may be
	// tables below them.
	Denied []string
	// Truncated reports that a limit was reached, so there may be more tables.
	Truncated bool
	Folders   int
}

// Discover walks the bucket for tables: folders whose _delta_log holds at least one commit or
// checkpoint. Since tables can be nested, it also enters a table's folder, except for partitions
// (x=1) and the table's own folders (names that begin with "_"); hidden folders (".x") are never
// entered. A table that is missing in the result may therefore still exist: use IsTable. After an
// error there is no result; a root without permission is an error.
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
		folders, err := listAll(ctx, bucket, level, opts.Parallel)
		if err != nil {
			return Found{}, err
		}
		found.Folders += len(level)
		level = level[:0:0]
		for _, l := range folders {
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

// place is a folder to list; its path ends in a slash or is empty.
type place struct {
	path string
	// inTable reports that a parent folder is a table.
	inTable bool
}

// folder is what a listing of a place returned.
type folder struct {
	at      place
	isTable bool
	denied  bool
	below   []place
}

// listAll lists the folders of one level, several at a time.
func listAll(ctx context.Context, bucket objstore.Bucket, level []place, parallel int) ([]folder, error) {
	folders := make([]folder, len(level))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, at := range level {
		group.Go(func() error {
			seen, err := listPlace(ctx, bucket, at)
			if errors.Is(err, objstore.ErrDenied) && at.path != "" {
				seen, err = folder{at: at, denied: true}, nil
			}
			folders[i] = seen
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("discover tables: %w", err)
	}
	return folders, nil
}

func listPlace(ctx context.Context, bucket objstore.Bucket, at place) (folder, error) {
	seen := folder{at: at}
	var names []string
	hasLogFolder := false
	for object, err := range bucket.List(ctx, at.path, objstore.ListOptions{Shallow: true}) {
		if err != nil {
			return folder{}, err
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
			return folder{}, err
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

// hasLog reports whether there is a commit or checkpoint below dir.
func hasLog(ctx context.Context, bucket objstore.Bucket, dir string) (bool, error) {
	prefix := dir + logFolder + "/"
	// Versions begin with a digit. Names that sort before (checksums of other engines, hidden
	// files) can be as numerous as the commits, so they are skipped.
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
