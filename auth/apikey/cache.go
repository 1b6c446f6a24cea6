package apikey

import (
	"sync"
	"time"
)

// maxCached bounds the cache. A full cache is emptied, which costs one look-up for each
// key.
const maxCached = 10_000

// cache holds records of the catalog about keys.
//
// Invariants: every entry was read from the catalog after the cache's epoch began. A
// newer epoch empties the cache, and a call with an older one neither reads nor writes
// it. Entries are keyed by the hash of the whole key, so that only the holder of the
// secret can hit the entry of an accepted key.
type cache[V any] struct {
	ttl time.Duration

	mu      sync.Mutex
	epoch   uint64
	entries map[Hash]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

func newCache[V any](ttl time.Duration) *cache[V] {
	return &cache[V]{ttl: ttl, entries: make(map[Hash]entry[V])}
}

func (c *cache[V]) get(h Hash, epoch uint64, now time.Time) (_ V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none V
	if epoch != c.epoch {
		return none, false
	}
	e, ok := c.entries[h]
	if !ok || !now.Before(e.until) {
		return none, false
	}
	return e.value, true
}

func (c *cache[V]) put(h Hash, epoch uint64, now time.Time, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case epoch < c.epoch:
		return
	case epoch > c.epoch, len(c.entries) >= maxCached:
		clear(c.entries)
		c.epoch = epoch
	}
	c.entries[h] = entry[V]{value: value, until: now.Add(c.ttl)}
}
