package app

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/catalog"
)

// maxUnconfirmed is how long this replica answers by what it knew of the
// catalog. A revocation elsewhere is effective by then at the latest.
const maxUnconfirmed = 5 * time.Second

// epochWatch knows when the catalog's epoch was last confirmed.
type epochWatch struct {
	confirmed   atomic.Int64 // unix nanoseconds
	revocations *revocation.Watcher
	done        sync.WaitGroup
}

// watchEpoch starts following the epoch, and judging the work that revocations tracks.
// Both end with ctx.
func watchEpoch(ctx context.Context, store catalog.Epochs, revocations *revocation.Watcher) (*epochWatch, error) {
	if _, err := store.Epoch(ctx); err != nil {
		return nil, err
	}
	w := &epochWatch{revocations: revocations}
	w.confirm()
	w.done.Go(func() {
		for epoch := range store.Watch(ctx) {
			w.confirm()
			revocations.Confirmed(epoch)
		}
	})
	w.done.Go(func() { revocations.Run(ctx) })
	return w, nil
}

func (w *epochWatch) confirm() { w.confirmed.Store(time.Now().UnixNano()) }

// check returns ops.ErrStale when the catalog was silent for too long.
func (w *epochWatch) check() error {
	if time.Since(time.Unix(0, w.confirmed.Load())) > maxUnconfirmed {
		return revocation.ErrStale
	}
	return nil
}
