package apikey

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth/epochcache"
)

const (
	touchEvery   = time.Minute     // precision of last_used_at
	touchDelay   = time.Second     // how long uses are collected before they are written
	touchTimeout = 5 * time.Second // bound of one write
	touchQueue   = 1024            // capacity of the queue of uses
	touchBatch   = 256             // largest number of uses in one write
)

// usage records when keys were last used, at most once a minute for each key, outside
// the request. Uses of many keys are written together, with the time of the last of them.
// If the queue is full, the use is dropped and a later use is recorded.
type usage struct {
	store  Store
	logger *slog.Logger
	queue  chan touch
	done   chan struct{}

	mu     sync.Mutex
	closed bool
	last   map[uuid.UUID]time.Time
}

type touch struct {
	id uuid.UUID
	at time.Time
}

func newUsage(store Store, logger *slog.Logger) *usage {
	u := &usage{
		store:  store,
		logger: logger,
		queue:  make(chan touch, touchQueue),
		done:   make(chan struct{}),
		last:   make(map[uuid.UUID]time.Time),
	}
	go u.run()
	return u
}

func (u *usage) run() {
	defer close(u.done)
	for first := range u.queue {
		u.write(u.collect(first))
	}
}

// collect returns a use together with those that follow within touchDelay.
func (u *usage) collect(first touch) []touch {
	timer := time.NewTimer(touchDelay)
	defer timer.Stop()
	batch := []touch{first}
	for len(batch) < touchBatch {
		select {
		case next, open := <-u.queue:
			if !open {
				return batch
			}
			batch = append(batch, next)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

func (u *usage) write(batch []touch) {
	ids := make([]uuid.UUID, len(batch))
	for i, t := range batch {
		ids[i] = t.id
	}
	ctx, cancel := context.WithTimeout(context.Background(), touchTimeout)
	defer cancel()
	if err := u.store.TouchKeys(ctx, batch[len(batch)-1].at, ids); err != nil {
		u.logger.Warn("record key uses", slog.Int("keys", len(ids)), slog.Any("error", err))
	}
}

// note queues a use unless one was recorded less than a minute before. stored is the
// last use in the catalog, which another replica may have recorded.
func (u *usage) note(id uuid.UUID, stored, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || now.Sub(stored) < touchEvery || now.Sub(u.last[id]) < touchEvery {
		return
	}
	select {
	case u.queue <- touch{id: id, at: now}:
	default:
		return
	}
	if len(u.last) >= epochcache.Limit {
		for old, at := range u.last {
			if now.Sub(at) >= touchEvery {
				delete(u.last, old)
			}
		}
	}
	u.last[id] = now
}

func (u *usage) close() {
	u.mu.Lock()
	if !u.closed {
		u.closed = true
		close(u.queue)
	}
	u.mu.Unlock()
	<-u.done
}
