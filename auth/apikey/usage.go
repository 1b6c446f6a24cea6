package apikey

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	touchEvery   = time.Minute     // precision of last_used_at
	touchTimeout = 5 * time.Second // for one write
	touchQueue   = 256             // uses waiting to be written
)

// usage records when keys were last used, at most once a minute for each key, outside
// the request. If the queue is full, the use is dropped and a later use is recorded.
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
	for t := range u.queue {
		ctx, cancel := context.WithTimeout(context.Background(), touchTimeout)
		if err := u.store.TouchKey(ctx, t.id, t.at); err != nil {
			u.logger.Warn("record key use", slog.String("key_id", t.id.String()), slog.Any("error", err))
		}
		cancel()
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
	if len(u.last) >= maxCached {
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
