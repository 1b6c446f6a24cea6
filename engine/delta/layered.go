package delta

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// layered is a map from the key of a logical file to its action. Consecutive snapshots
// share a large sorted base, and two small maps hold the changes since. Applying a
// commit therefore costs time proportional to the commit, not to the table.
//
// Invariants: over and gone are immutable once a snapshot holds them; a key is in gone
// only if it is in base; a key in over hides the one in base.
type layered[T any] struct {
	base []entry[T]
	over map[string]T
	gone map[string]struct{}
	n    int
}

type entry[T any] struct {
	key   string
	value T
}

func (l *layered[T]) inBase(key string) (T, bool) {
	i, ok := slices.BinarySearchFunc(l.base, key, func(e entry[T], key string) int {
		return cmp.Compare(e.key, key)
	})
	if !ok {
		var zero T
		return zero, false
	}
	return l.base[i].value, true
}

func (l *layered[T]) get(key string) (T, bool) {
	if v, ok := l.over[key]; ok {
		return v, true
	}
	if _, ok := l.gone[key]; ok {
		var zero T
		return zero, false
	}
	return l.inBase(key)
}

// fork returns a copy for which put and drop do not change the original.
func (l *layered[T]) fork() layered[T] {
	f := layered[T]{base: l.base, over: maps.Clone(l.over), gone: maps.Clone(l.gone), n: l.n}
	if f.over == nil {
		f.over = make(map[string]T)
	}
	if f.gone == nil {
		f.gone = make(map[string]struct{})
	}
	return f
}

// put sets the value of key and returns the previous one, if any.
func (l *layered[T]) put(key string, value T) (T, bool) {
	old, had := l.get(key)
	if !had {
		l.n++
	}
	l.over[key] = value
	return old, had
}

// drop removes key and returns its value, if any.
func (l *layered[T]) drop(key string) (T, bool) {
	old, had := l.get(key)
	if !had {
		return old, false
	}
	l.n--
	delete(l.over, key)
	if _, ok := l.inBase(key); ok {
		l.gone[key] = struct{}{}
	}
	return old, true
}

// compact merges the small maps into a new base if they have become large.
func (l *layered[T]) compact() {
	if len(l.over)+len(l.gone) <= max(256, len(l.base)/8) {
		return
	}
	base := make([]entry[T], 0, l.n)
	for key, value := range l.all() {
		base = append(base, entry[T]{key, value})
	}
	*l = layered[T]{base: base, n: l.n}
}

// all yields the entries in the order of their keys.
func (l *layered[T]) all() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		fresh := slices.Sorted(maps.Keys(l.over))
		i := 0
		for _, e := range l.base {
			for i < len(fresh) && fresh[i] < e.key {
				if !yield(fresh[i], l.over[fresh[i]]) {
					return
				}
				i++
			}
			if i < len(fresh) && fresh[i] == e.key {
				continue
			}
			if _, ok := l.gone[e.key]; ok {
				continue
			}
			if !yield(e.key, e.value) {
				return
			}
		}
		for ; i < len(fresh); i++ {
			if !yield(fresh[i], l.over[fresh[i]]) {
				return
			}
		}
	}
}
