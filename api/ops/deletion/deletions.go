package deletion

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Store holds the records of deletions.
type Store interface {
	catalog.Epochs
	catalog.FileDeletions
}

// maxAway is how long a replica may not have read the records, which the catalog keeps for a
// week, and still rely on them.
const maxAway = 24 * time.Hour

// Dropped says what a place drops.
type Dropped struct {
	// All says that everything is dropped: Files may be incomplete.
	All   bool
	Files []catalog.FileDeletion
}

// Covers reports whether a file below a path of a configuration may be gone.
func (d Dropped) Covers(config catalog.ConfigID, path string) bool {
	for _, f := range d.Files {
		if f.Covers(config, path) {
			return true
		}
	}
	return d.All
}

// Place drops what it has cached of deleted files. It does not wait for statements. After an
// error it is called again.
type Place func(context.Context, Dropped) error

// Deletions records deletions and has places drop what was deleted. A nil *Deletions does
// nothing. It is safe for concurrent use.
type Deletions struct {
	store Store
	now   func() time.Time
	// dropped is the epoch of the last record that all places have followed, and of all before.
	dropped atomic.Uint64

	mu     sync.Mutex
	places []Place
	read   time.Time // when the records were last read
}

// New returns the deletions of a catalog, of which nothing has been cached up to now.
func New(ctx context.Context, store Store, now func() time.Time) (*Deletions, error) {
	epoch, err := store.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	d := &Deletions{store: store, now: now, read: now()}
	d.dropped.Store(epoch)
	return d, nil
}

// Add adds a place that has cached nothing yet.
func (d *Deletions) Add(place Place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places = append(d.places, place)
}

// Dropped returns an epoch. What is read from now on is in no file that was deleted up to it.
func (d *Deletions) Dropped() uint64 {
	if d == nil {
		return 0
	}
	return d.dropped.Load()
}

// Follow has the places drop what was deleted up to an epoch that was read from the catalog. ctx
// must be that of the system.
func (d *Deletions) Follow(ctx context.Context, epoch uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	since, now := d.dropped.Load(), d.now()
	away := now.Sub(d.read) > maxAway
	if epoch <= since && !away {
		d.read = now
		return nil
	}
	files, err := d.store.FileDeletionsSince(ctx, since)
	if err != nil {
		return fmt.Errorf("read deletions of files: %w", err)
	}
	if len(files) > 0 || away {
		for _, place := range d.places {
			if err := place(ctx, Dropped{All: away, Files: files}); err != nil {
				return fmt.Errorf("drop deleted files: %w", err)
			}
		}
	}
	for _, f := range files {
		epoch = max(epoch, f.Epoch)
	}
	d.dropped.Store(max(since, epoch))
	d.read = now
	return nil
}

// Record records that files were deleted, and has the places of this replica drop them. It is
// called after a failure half-way, too, and when ctx has ended.
func (d *Deletions) Record(ctx context.Context, files catalog.FileDeletion) error {
	if d == nil {
		return nil
	}
	ctx, cancel := caller.CleanupContext(authz.System(ctx, "deleted files"))
	defer cancel()
	if err := d.store.RecordFileDeletion(ctx, files); err != nil {
		return fmt.Errorf("record deleted files: %w", err)
	}
	epoch, err := d.store.Epoch(ctx)
	if err != nil {
		return err
	}
	return d.Follow(ctx, epoch)
}

// Purged describes the deletion of all files of a table.
func Purged(t catalog.LocatedTable) catalog.FileDeletion {
	return catalog.FileDeletion{
		Org: t.Org, Place: catalog.Place{Config: t.Config, Path: t.Path}, Table: t.DeltaID, Kept: catalog.NoVersion,
	}
}
