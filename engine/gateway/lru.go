package gateway

import "container/list"

// lru maps keys to values up to a total cost; the value that was not used for
// the longest time leaves first. It is not safe for concurrent use.
type lru[K comparable, V any] struct {
	most, used int64
	order      *list.List // of *entry[K, V], the last used in front
	entries    map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
}

func newLRU[K comparable, V any](most int64) *lru[K, V] {
	return &lru[K, V]{most: most, order: list.New(), entries: map[K]*list.Element{}}
}

// has reports whether key is there; that is no use of it.
func (l *lru[K, V]) has(key K) bool {
	_, ok := l.entries[key]
	return ok
}

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	element, ok := l.entries[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(element)
	return element.Value.(*entry[K, V]).value, true
}

// put sets a value and returns the keys that had to leave for it; a value that
// costs more than everything leaves itself.
func (l *lru[K, V]) put(key K, value V, cost int64) (gone []K) {
	l.remove(key)
	l.entries[key] = l.order.PushFront(&entry[K, V]{key, value, cost})
	l.used += cost
	for l.used > l.most {
		oldest := l.order.Back().Value.(*entry[K, V]).key
		l.remove(oldest)
		gone = append(gone, oldest)
	}
	return gone
}

func (l *lru[K, V]) remove(key K) {
	element, ok := l.entries[key]
	if !ok {
		return
	}
	l.used -= element.Value.(*entry[K, V]).cost
	l.order.Remove(element)
	delete(l.entries, key)
}

// removeWhere removes the entries for whose key match is true and returns their
// keys.
func (l *lru[K, V]) removeWhere(match func(K) bool) (gone []K) {
	for key := range l.entries {
		if match(key) {
			l.remove(key)
			gone = append(gone, key)
		}
	}
	return gone
}
