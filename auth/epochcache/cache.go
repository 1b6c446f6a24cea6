package epochcache

import (
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Limit bounds the entries of a [Cache]. An entry takes less than one KiB.
const Limit = 65_536

// Hash is the SHA-256 of a credential.
type Hash = [sha256.Size]byte

// Cache holds values for one epoch, and evicts the least recently used. It is safe for
// concurrent use.
type Cache[V any] struct {
	mu      sync.Mutex
	epoch   uint64
	entries *simplelru.LRU[Hash, V]
}

// New returns an empty cache of at most limit values, which must be positive.
func New[V any](limit int) *Cache[V] {
	entries, err := simplelru.NewLRU[Hash, V](limit, nil)
	if err != nil {
		panic(err) // the limit is a constant
	}
	return &Cache[V]{entries: entries}
}

// Get returns the value of a credential at an epoch.
func (c *Cache[V]) Get(h Hash, epoch uint64) (_ V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		var none V
		return none, false
	}
	return c.entries.Get(h)
}

// Put stores the value of a credential that was read after an epoch had begun.
func (c *Cache[V]) Put(h Hash, epoch uint64, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch < c.epoch {
		return
	}
	if epoch > c.epoch {
		c.epoch = epoch
		c.entries.Purge()
	}
	c.entries.Add(h, value)
}
