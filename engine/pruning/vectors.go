package pruning

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

const (
	// maxVectors bounds the number of deletion vectors that are read for one snapshot, because each
	// needs a request. maxVectorBytes bounds their total size, because lists contain them.
	maxVectors     = 10_000
	maxVectorBytes = 16 << 20
	// parallelVectors is the number of concurrent reads.
	parallelVectors = 16
)

// Load reads the deletion vectors of a snapshot. Without them, a table that may have deletion
// vectors is not listed. They are cached with the snapshot, and those of an earlier version are not
// read again. If a table has too many or too large vectors, none are loaded and it is read through
// its log. Errors are those of [delta.Snapshot.DeletedRows].
func Load(ctx context.Context, snap *delta.Snapshot) error {
	if !deletionVectors(snap) {
		return nil
	}
	x := indexOf(snap)
	if !x.listed || x.loaded() {
		return nil
	}
	missing, bounded := x.missingVectors()
	if !bounded {
		return nil
	}
	var mu sync.Mutex
	read := make(map[string][]byte, len(missing))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelVectors)
	for _, f := range missing {
		group.Go(func() error {
			rows, err := snap.DeletedRows(groupCtx, f)
			if err != nil {
				return err
			}
			encoded, err := rows.Bytes()
			mu.Lock()
			defer mu.Unlock()
			read[f.Name] = encoded
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	x.keepVectors(read)
	return nil
}

// missingVectors returns the files whose vectors are not loaded, or false if the limits are
// exceeded.
func (x *index) missingVectors() ([]delta.File, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var missing []delta.File
	var bytes int64
	for _, f := range x.files {
		vector := f.Add.DeletionVector
		if vector == nil {
			continue
		}
		bytes += int64(vector.SizeInBytes)
		if _, known := x.deleted[f.Name]; !known {
			missing = append(missing, f)
		}
	}
	return missing, len(missing) <= maxVectors && bytes <= maxVectorBytes
}

func (x *index) keepVectors(read map[string][]byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, rows := range x.deleted {
		read[name] = rows
	}
	x.deleted, x.vectorsRead = read, true
}

// loaded reports whether the deletion vectors of all files are known.
func (x *index) loaded() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.vectorsRead
}

// usable reports whether the table can be read by a list.
func (x *index) usable() bool { return x.listed && (!x.vectors || x.loaded()) }

// deletedIn returns the deleted rows in the files of a list.
func (x *index) deletedIn(groups []engine.FileGroup) []engine.DeletedRows {
	if !x.vectors {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []engine.DeletedRows
	number := 0
	for _, g := range groups {
		for _, path := range g.Paths {
			if rows := x.deleted[path]; rows != nil {
				out = append(out, engine.DeletedRows{File: number, Rows: rows})
			}
			number++
		}
	}
	return out
}
