package apikey

import (
	"sync"
	"time"
)

// maxCached bounds the cache; beyond it the cache starts over, which costs one
// look-up a key.
const maxCached = 10_000

// cache holds the records of verified keys.
//
// Invariants: every entry was read from the catalog at or after the cache's
// epoch began and its key was verified; a newer epoch empties the cache, an
// older one neither reads nor writes it. Keyed by the hash of the whole key, so
// that only the secret's holder can hit an entry.
type cache struct {
	ttl time.Duration

	mu      sync.Mutex
	epoch   uint64
	entries map[Hash]entry
}

type entry struct {
	record Record
	until  time.Time
}

func newCache(ttl time.Duration) *cache {
	return &cache{ttl: ttl, entries: make(map[Hash]entry)}
}

func (c *cache) get(h Hash, epoch uint64, now time.Time) (Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return Record{}, false
	}
	e, ok := c.entries[h]
	if !ok || !now.Before(e.until) {
		return Record{}, false
	}
	return e.record, true
}

func (c *cache) put(h Hash, epoch uint64, now time.Time, r Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case epoch < c.epoch:
		return
	case epoch > c.epoch, len(c.entries) >= maxCached:
		clear(c.entries)
		c.epoch = epoch
	}
	c.entries[h] = entry{record: r, until: now.Add(c.ttl)}
}
