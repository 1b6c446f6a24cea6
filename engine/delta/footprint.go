package delta

import (
	"unsafe"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// MemoryBytes estimates the memory of the snapshot, which grows with the number of
// files and their statistics. Consecutive snapshots share most of it. Derived values
// are estimated to be as large as the statistics.
func (s *Snapshot) MemoryBytes() int64 {
	const own = 4 << 10
	total := own + int64(len(s.state.metadata.SchemaString)) + s.state.weight
	if s.derived.latest() != nil {
		total += s.state.weight
	}
	return total
}

// perFile is the size of one entry in the maps of a state.
const perFile = int64(unsafe.Sizeof(entry[*action.Add]{}))

func addWeight(a *action.Add) int64 {
	n := perFile + int64(unsafe.Sizeof(*a)) + int64(len(a.Path)+len(a.Stats))
	for name, value := range a.PartitionValues {
		n += textWeight(name, value)
	}
	for name, value := range a.Tags {
		n += textWeight(name, value)
	}
	return n + vectorWeight(a.DeletionVector)
}

func removeWeight(r *action.Remove) int64 {
	n := perFile + int64(unsafe.Sizeof(*r)) + int64(len(r.Path)+len(r.Stats))
	for name, value := range r.PartitionValues {
		n += textWeight(name, value)
	}
	return n + vectorWeight(r.DeletionVector)
}

func textWeight(name string, value *string) int64 {
	const headers = 40 // of the name, the pointer and the value
	n := int64(headers + len(name))
	if value != nil {
		n += int64(len(*value))
	}
	return n
}

func vectorWeight(d *action.DeletionVector) int64 {
	if d == nil {
		return 0
	}
	return int64(unsafe.Sizeof(*d)) + int64(len(d.PathOrInlineDV))
}
