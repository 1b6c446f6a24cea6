package revocation

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// maxUnconfirmed is how long this replica answers without confirmation that its view of
// the catalog is current. It is the maximum delay until a revocation on another replica
// takes effect.
const maxUnconfirmed = 5 * time.Second

// Epochs follows the epoch of the catalog and records when it was last confirmed. A zero
// Epochs has confirmed none. It is safe for concurrent use.
type Epochs struct {
	// Before, if not nil, is called with an epoch before it is confirmed. After an error the epoch
	// is not confirmed. It is set before Follow.
	Before func(ctx context.Context, epoch uint64) error
	// current is the highest epoch that is known to be committed.
	current   atomic.Uint64
	confirmed atomic.Int64 // unix nanoseconds
	done      sync.WaitGroup
}

// Follow follows the epoch of the catalog until ctx ends, and has watcher check the work
// that it tracks at every change. It returns an error if the epoch cannot be read. It
// must be called at most once.
func (e *Epochs) Follow(ctx context.Context, store catalog.Epochs, watcher *Watcher) error {
	epoch, err := store.Epoch(ctx)
	if err != nil {
		return err
	}
	e.confirm(epoch)
	e.done.Go(func() {
		for epoch := range store.Watch(ctx) {
			if e.Before != nil && e.Before(ctx, epoch) != nil {
				continue
			}
			e.confirm(epoch)
			watcher.Confirmed(epoch)
		}
	})
	e.done.Go(func() { watcher.Run(ctx) })
	return nil
}

func (e *Epochs) confirm(epoch uint64) {
	e.Raised(epoch)
	e.confirmed.Store(time.Now().UnixNano())
}

// Raised records an epoch that is known to be committed. The catalog's store calls it
// before a change returns, so that a request that follows the change on this replica
// sees it.
func (e *Epochs) Raised(epoch uint64) {
	for {
		known := e.current.Load()
		if epoch <= known || e.current.CompareAndSwap(known, epoch) {
			return
		}
	}
}

// Wait waits until the goroutines of Follow have ended, after the end of its context.
func (e *Epochs) Wait() { e.done.Wait() }

// Check returns ErrStale if the epoch was not confirmed for too long.
func (e *Epochs) Check() error {
	if time.Since(time.Unix(0, e.confirmed.Load())) > maxUnconfirmed {
		return ErrStale
	}
	return nil
}

// Current returns an epoch that includes every change of this replica that has returned,
// and every change of others up to the last confirmation. It returns ErrStale if that was
// too long ago. It does not call the catalog.
func (e *Epochs) Current() (uint64, error) { return e.current.Load(), e.Check() }
