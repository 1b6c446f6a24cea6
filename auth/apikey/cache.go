package apikey

import (
	"sync"
	"time"
)

// maxCached bounds the cache; beyond it the cache starts over, which costs one
// look-up a key.
const maxCached = 10_000

// cache holds what the catalog said about keys.
//
// Invariants: every entry was read from the catalog at or after the cache's
// epoch began; a newer epoch empties the cache, an older one neither reads nor
// writes it. Keyed by the hash of the whole key, so that only the secret's
// holder can hit the entry of a key that was accepted.
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
