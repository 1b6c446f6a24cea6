package gateway

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// lru maps keys to values up to a total cost and evicts the least recently used value first. It is
// not safe for concurrent use.
type lru[K comparable, V any] struct {
	most, used int64
	entries    *simplelru.LRU[K, entry[V]]
}

type entry[V any] struct {
	value V
	cost  int64
}

func newLRU[K comparable, V any](most int64) *lru[K, V] {
	l := &lru[K, V]{most: most}
	l.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ K, e entry[V]) { l.used -= e.cost }) // fails for size 0 only
	return l
}

// has reports whether key is present. It does not count as a use.
func (l *lru[K, V]) has(key K) bool { return l.entries.Contains(key) }

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := l.entries.Get(key)
	return e.value, ok
}

// peek is like get, but does not count as a use.
func (l *lru[K, V]) peek(key K) (value V, ok bool) {
	e, ok := l.entries.Peek(key)
	return e.value, ok
}

// put sets a value and returns the evicted values. A value that costs more than the limit is
// evicted itself.
func (l *lru[K, V]) put(key K, value V, cost int64) (gone []V) {
	l.remove(key)
	l.entries.Add(key, entry[V]{value, cost})
	l.used += cost
	for l.used > l.most {
		_, oldest, _ := l.entries.RemoveOldest()
		gone = append(gone, oldest.value)
	}
	return gone
}

func (l *lru[K, V]) remove(key K) { l.entries.Remove(key) }

// removeWhere removes the entries for whose key match returns true and returns their values.
func (l *lru[K, V]) removeWhere(match func(K) bool) (gone []V) {
	for _, key := range l.entries.Keys() {
		if match(key) {
			e, _ := l.entries.Peek(key)
			l.remove(key)
			gone = append(gone, e.value)
		}
	}
	return gone
}
