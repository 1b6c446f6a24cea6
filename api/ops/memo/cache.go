package memo

import (
	"container/list"
	"sync"
)

// Cache holds a limited number of values, and evicts the least recently used. A key
// includes everything on which its value depends, so values are never invalidated. A
// Cache is safe for concurrent use.
type Cache[V any] struct {
	limit int

	mu    sync.Mutex
	items map[string]*list.Element
	order *list.List // of *cacheItem[V]; the front is the most recently used
}

type cacheItem[V any] struct {
	key   string
	value V
}

// NewCache returns an empty cache of at most limit values.
func NewCache[V any](limit int) *Cache[V] {
	return &Cache[V]{limit: limit, items: map[string]*list.Element{}, order: list.New()}
}

// Get returns the value of key, or makes and stores it. Concurrent callers may both make
// it.
func (c *Cache[V]) Get(key string, make func() (V, error)) (V, error) {
	if value, ok := c.peek(key); ok {
		return value, nil
	}
	value, err := make()
	if err == nil {
		c.put(key, value)
	}
	return value, err
}

// Len returns the number of values.
func (c *Cache[V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items)
}

func (c *Cache[V]) peek(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheItem[V]).value, true
}

func (c *Cache[V]) put(key string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[key]; !ok {
		c.items[key] = c.order.PushFront(&cacheItem[V]{key, value})
	}
	for c.order.Len() > c.limit {
		oldest := c.order.Remove(c.order.Back()).(*cacheItem[V])
		delete(c.items, oldest.key)
	}
}
