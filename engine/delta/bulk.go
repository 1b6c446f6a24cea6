package delta

import (
	"cmp"
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// bulk collects the files of a checkpoint and turns them into the base of a state,
// which is faster than applying them one by one.
type bulk struct {
	files []entry[*action.Add]
	tombs []entry[*action.Remove]
}

// take collects files and removals and applies other actions to st.
func (b *bulk) take(st *state, batch []action.Action) error {
	// Double the capacity: append grows large slices by a quarter, and a checkpoint is
	// read in dozens of batches.
	if len(b.files)+len(batch) > cap(b.files) {
		b.files = slices.Grow(b.files, len(b.files)+len(batch))
	}
	for _, a := range batch {
		switch a := a.(type) {
		case *action.Add:
			key, err := st.fileKey(a.Path, a.DeletionVector)
			if err != nil {
				return err
			}
			b.files = append(b.files, entry[*action.Add]{key, a})
		case *action.Remove:
			key, err := st.fileKey(a.Path, a.DeletionVector)
			if err != nil {
				return err
			}
			b.tombs = append(b.tombs, entry[*action.Remove]{key, a})
		default:
			if err := st.apply(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish makes the collected entries the base of st, which must hold no files. If an
// invalid checkpoint lists a file more than once, the last entry counts, and a live
// file takes precedence over its removal.
func (b *bulk) finish(st *state) {
	st.files = newLayered(b.files)
	st.tombs = newLayered(slices.DeleteFunc(b.tombs, func(e entry[*action.Remove]) bool {
		_, live := st.files.get(e.key)
		return live
	}))
	for _, e := range st.files.base {
		st.bytes += e.value.Size
		st.weight += addWeight(e.value)
	}
	for _, e := range st.tombs.base {
		st.weight += removeWeight(e.value)
	}
	st.files, st.tombs = st.files.fork(), st.tombs.fork()
}

// newLayered sorts entries into a map that consists of a base only.
func newLayered[T any](entries []entry[T]) layered[T] {
	byKey := func(a, b entry[T]) int { return cmp.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(entries, byKey) {
		slices.SortStableFunc(entries, byKey)
	}
	n := 0
	for i, e := range entries {
		if i > 0 && entries[n-1].key == e.key {
			n--
		}
		entries[n] = e
		n++
	}
	clear(entries[n:])
	return layered[T]{base: entries[:n], n: n}
}
