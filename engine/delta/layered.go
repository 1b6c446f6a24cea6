package delta

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// layered is a map from the identity of a logical file to its action. A large
// sorted base is shared by the snapshots that follow each other; what changed
// since lies in two small maps. Following a table by one commit thus costs
// what the commit holds, not what the table holds.
//
// Invariants: over and gone are never changed once a snapshot holds them; a key
// is in gone only if it is in base; a key in over hides the one in base.
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

// fork copies the small maps, so that put and drop leave the original alone.
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

// put returns the value it replaces.
func (l *layered[T]) put(key string, value T) (T, bool) {
	old, had := l.get(key)
	if !had {
		l.n++
	}
	l.over[key] = value
	return old, had
}

// drop returns the value it removes.
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

// settle folds the small maps into a new base when they are no longer small.
func (l *layered[T]) settle() {
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
