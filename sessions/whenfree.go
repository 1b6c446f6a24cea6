package sessions

import (
	"context"
	"errors"
	"time"
)

// minRetry is the shortest pause between two attempts of [WhenFree].
const minRetry = 100 * time.Millisecond

// WhenFree calls f again while it fails with a [BusyError]. It is for background work
// without a waiting client.
func WhenFree[T any](ctx context.Context, f func() (T, error)) (T, error) {
	for {
		got, err := f()
		var busy *BusyError
		if !errors.As(err, &busy) {
			return got, err
		}
		select {
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		case <-time.After(max(busy.RetryAfter, minRetry)):
		}
	}
}

// OpenWhenFree calls [Pool.Open] until the pool is not busy.
func (p *Pool) OpenWhenFree(ctx context.Context, key Key, scratch string) (*Held, error) {
	return WhenFree(ctx, func() (*Held, error) { return p.Open(ctx, key, scratch) })
}
