package pruning

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

const (
	// maxVectors bounds the deletion vectors that are read for one snapshot, each
	// with a request of its own, and maxVectorBytes what they come to: lists carry
	// them.
	maxVectors     = 10_000
	maxVectorBytes = 16 << 20
	// parallelVectors is how many are read at once.
	parallelVectors = 16
)

// Load reads the deletion vectors of a snapshot, without which a table that may
// have some is not listed. They are kept with the snapshot, and of those that an
// earlier version had none is read again. A table with very many or large vectors
// stays without; it is read through its log. Errors are those of
// [delta.Snapshot.DeletedRows].
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

// missingVectors are the files whose vectors are not known yet; false when there
// is too much of them altogether.
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

// deletedIn are the rows that are gone from the files of a list.
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
