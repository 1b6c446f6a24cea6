package ops

import (
	"container/list"
	"sync"
)

// recent keeps the values that were used last, up to a number. Keys hold all
// that a value depends on, so a value never has to be taken back. It is safe for
// concurrent use.
type recent[V any] struct {
	most int

	mu    sync.Mutex
	items map[string]*list.Element
	order *list.List // of *recentItem[V]; the front was used last
}

type recentItem[V any] struct {
	key   string
	value V
}

func newRecent[V any](most int) *recent[V] {
	return &recent[V]{most: most, items: map[string]*list.Element{}, order: list.New()}
}

// get returns the value of key, or makes and keeps it. Two callers that ask at
// the same time may both make it.
func (r *recent[V]) get(key string, make func() (V, error)) (V, error) {
	if value, ok := r.peek(key); ok {
		return value, nil
	}
	value, err := make()
	if err == nil {
		r.put(key, value)
	}
	return value, err
}

// peek returns the value of key if it is kept.
func (r *recent[V]) peek(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.items[key]
	if !ok {
		var none V
		return none, false
	}
	r.order.MoveToFront(e)
	return e.Value.(*recentItem[V]).value, true
}

// put keeps a value.
func (r *recent[V]) put(key string, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.items[key]; !ok {
		r.items[key] = r.order.PushFront(&recentItem[V]{key, value})
	}
	for r.order.Len() > r.most {
		oldest := r.order.Remove(r.order.Back()).(*recentItem[V])
		delete(r.items, oldest.key)
	}
}
