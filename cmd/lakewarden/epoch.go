package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakewarden/lakewarden/api/ops"
	"github.com/lakewarden/lakewarden/catalog"
)

// maxUnconfirmed is how long this replica answers by what it knew of the
// catalog. A revocation elsewhere is effective by then at the latest.
const maxUnconfirmed = 5 * time.Second

// epochWatch follows the catalog's epoch.
type epochWatch struct {
	current   atomic.Uint64
	confirmed atomic.Int64 // unix nanoseconds
	done      sync.WaitGroup
}

// watchEpoch starts to follow; it ends with ctx.
func watchEpoch(ctx context.Context, store catalog.Epochs) (*epochWatch, error) {
	first, err := store.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	w := &epochWatch{}
	w.set(first)
	w.done.Go(func() {
		for epoch := range store.Watch(ctx) {
			w.set(epoch)
		}
	})
	return w, nil
}

func (w *epochWatch) set(epoch uint64) {
	w.current.Store(epoch)
	w.confirmed.Store(time.Now().UnixNano())
}

// check returns ops.ErrStale when the catalog was silent for too long.
func (w *epochWatch) check() error {
	if time.Since(time.Unix(0, w.confirmed.Load())) > maxUnconfirmed {
		return ops.ErrStale
	}
	return nil
}

// epoch is for caches that are bound to it.
func (w *epochWatch) epoch(context.Context) (uint64, error) { return w.current.Load(), w.check() }
