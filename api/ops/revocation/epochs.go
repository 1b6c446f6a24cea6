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

// Epochs follows the epoch of the catalog and records when it was last confirmed. It is
// safe for concurrent use.
type Epochs struct {
	confirmed atomic.Int64 // unix nanoseconds
	done      sync.WaitGroup
}

// Follow follows the epoch of the catalog until ctx ends, and has watcher check the work
// that it tracks at every change. It returns an error if the epoch cannot be read.
func Follow(ctx context.Context, store catalog.Epochs, watcher *Watcher) (*Epochs, error) {
	if _, err := store.Epoch(ctx); err != nil {
		return nil, err
	}
	e := &Epochs{}
	e.confirm()
	e.done.Go(func() {
		for epoch := range store.Watch(ctx) {
			e.confirm()
			watcher.Confirmed(epoch)
		}
	})
	e.done.Go(func() { watcher.Run(ctx) })
	return e, nil
}

func (e *Epochs) confirm() { e.confirmed.Store(time.Now().UnixNano()) }

// Wait waits until Follow's goroutine has ended, after the end of Follow's context.
func (e *Epochs) Wait() { e.done.Wait() }

// Check returns ErrStale if the epoch was not confirmed for too long.
func (e *Epochs) Check() error {
	if time.Since(time.Unix(0, e.confirmed.Load())) > maxUnconfirmed {
		return ErrStale
	}
	return nil
}
