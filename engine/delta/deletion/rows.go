package deletion

import (
	"fmt"
	"iter"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// maxRows bounds the rows of a data file. It also bounds the 32-bit buckets that a
// header can claim and decoding allocates.
const maxRows = 1 << 40

// Rows is a set of rows of one data file, identified by their positions from zero. It
// is compressed: a few kilobytes can represent billions of rows.
type Rows struct {
	bitmap *roaring64.Bitmap
}

// Of returns the set of the given positions, in any order. The error is
// [action.ErrMalformed] if a position is out of range.
func Of(positions iter.Seq[int64]) (*Rows, error) {
	bitmap := roaring64.New()
	for p := range positions {
		if p < 0 || p >= maxRows {
			return nil, fmt.Errorf("row %d of a file: %w", p, action.ErrMalformed)
		}
		bitmap.Add(uint64(p)) //nolint:gosec // not negative
	}
	bitmap.RunOptimize()
	return &Rows{bitmap}, nil
}

// Span returns the set of the rows from first up to but not including end. The error is
// [action.ErrMalformed] if a bound is out of range.
func Span(first, end int64) (*Rows, error) {
	if first < 0 || end > maxRows {
		return nil, fmt.Errorf("rows %d to %d of a file: %w", first, end, action.ErrMalformed)
	}
	bitmap := roaring64.New()
	if first < end {
		bitmap.AddRange(uint64(first), uint64(end)) //nolint:gosec // not negative
	}
	bitmap.RunOptimize()
	return &Rows{bitmap}, nil
}

// None returns an empty set.
func None() *Rows { return &Rows{roaring64.New()} }

// Count returns the number of rows.
func (r *Rows) Count() int64 {
	return int64(r.bitmap.GetCardinality()) //nolint:gosec // at most maxRows
}

// EncodedBytes returns the size of the set as stored in the log, without a frame.
func (r *Rows) EncodedBytes() int64 {
	return 4 + int64(r.bitmap.GetPortableSerializedSizeInBytes()) //nolint:gosec // of a bitmap in memory
}

// Contains reports whether a row is in the set.
func (r *Rows) Contains(row int64) bool {
	return row >= 0 && r.bitmap.Contains(uint64(row))
}

// Mark sets found[i] to whether rows[i] is in the set. If rows are consecutive, the
// time is proportional to the members among them.
func (r *Rows) Mark(rows []int64, found []bool) {
	n := len(rows)
	if n == 0 || rows[0] < 0 || !consecutive(rows) {
		for i, row := range rows {
			found[i] = r.Contains(row)
		}
		return
	}
	clear(found[:n])
	it := r.bitmap.Iterator()
	it.AdvanceIfNeeded(uint64(rows[0])) //nolint:gosec // not negative
	for it.HasNext() {
		at := int64(it.Next()) - rows[0] //nolint:gosec // below maxRows
		if at >= int64(n) {
			return
		}
		found[at] = true
	}
}

// consecutive reports whether each row is one more than the previous one.
func consecutive(rows []int64) bool {
	for i, row := range rows {
		if row != rows[0]+int64(i) {
			return false
		}
	}
	return true
}

// End returns the last row plus one; zero for an empty set.
func (r *Rows) End() int64 {
	if r.bitmap.IsEmpty() {
		return 0
	}
	return int64(r.bitmap.Maximum()) + 1 //nolint:gosec // below maxRows
}

// Union returns the set of the rows in either set.
func (r *Rows) Union(other *Rows) *Rows {
	u := r.bitmap.Clone()
	u.Or(other.bitmap)
	u.RunOptimize()
	return &Rows{u}
}

// Equal reports whether both sets have the same rows.
func (r *Rows) Equal(other *Rows) bool { return r.bitmap.Equals(other.bitmap) }

// All yields the rows in ascending order.
func (r *Rows) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for it := r.bitmap.Iterator(); it.HasNext(); {
			if !yield(int64(it.Next())) { //nolint:gosec // below maxRows
				return
			}
		}
	}
}
