package duckdb

import "container/list"

// recent are names in the order of their last use.
type recent struct {
	order *list.List // the most recently used first
	at    map[string]*list.Element
}

func newRecent() *recent { return &recent{order: list.New(), at: map[string]*list.Element{}} }

// touch reports whether name is there, and marks it as used.
func (r *recent) touch(name string) bool {
	el, ok := r.at[name]
	if ok {
		r.order.MoveToFront(el)
	}
	return ok
}

func (r *recent) add(name string) { r.at[name] = r.order.PushFront(name) }

func (r *recent) has(name string) bool { return r.at[name] != nil }

func (r *recent) remove(name string) {
	r.order.Remove(r.at[name])
	delete(r.at, name)
}

// excess are the least recently used names beyond the limit, but none of those
// in use.
func (r *recent) excess(limit int, inUse map[string]bool) []string {
	var out []string
	for el := r.order.Back(); el != nil && r.order.Len()-len(out) > limit; el = el.Prev() {
		if name := el.Value.(string); !inUse[name] {
			out = append(out, name)
		}
	}
	return out
}
