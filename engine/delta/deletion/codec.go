package deletion

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// MaxBytes caps one encoded set. The densest set of a hundred million rows is
// 13 MB.
const MaxBytes = 32 << 20

const (
	// magic announces the portable form of 64-bit Roaring bitmaps. The other
	// number that the protocol knows stands for a form that no writer of tables
	// uses.
	magic = 1681511377
	// headBytes are the magic and the number of buckets.
	headBytes = 12
	// maxBuckets is how many buckets of 2^32 rows lie below maxRows.
	maxBuckets = maxRows >> 32
)

// Bytes are the set as files of vectors hold it, without a frame. The error is
// [action.ErrTooLarge].
func (r *Rows) Bytes() ([]byte, error) { return encode(r) }

// FromBytes is the inverse of [Rows.Bytes]. Errors: [action.ErrMalformed],
// [action.ErrTooLarge].
func FromBytes(data []byte) (*Rows, error) { return decode(data) }

// encode prints a set: the magic, then the bitmap.
func encode(r *Rows) ([]byte, error) {
	var buf bytes.Buffer
	buf.Write(binary.LittleEndian.AppendUint32(nil, magic))
	if _, err := r.bitmap.WritePortableTo(&buf); err != nil {
		return nil, fmt.Errorf("encoding deletion vector: %w", err)
	}
	if buf.Len() > MaxBytes {
		return nil, fmt.Errorf("deletion vector of %d bytes: %w", buf.Len(), action.ErrTooLarge)
	}
	return buf.Bytes(), nil
}

// decode is the inverse of encode.
func decode(data []byte) (*Rows, error) {
	switch {
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("deletion vector of %d bytes: %w", len(data), action.ErrTooLarge)
	case len(data) < headBytes:
		return nil, malformed("too short")
	case binary.LittleEndian.Uint32(data) != magic:
		return nil, malformed("magic number")
	case binary.LittleEndian.Uint64(data[4:]) > maxBuckets:
		return nil, malformed("more buckets than a file has rows")
	}
	bitmap := roaring64.New()
	n, err := bitmap.ReadPortableFrom(bytes.NewReader(data[4:]))
	if err != nil {
		return nil, malformed("bitmap")
	}
	if n != int64(len(data)-4) {
		return nil, malformed("bytes after the bitmap")
	}
	if bitmap.IsEmpty() {
		return &Rows{bitmap}, nil
	}
	// The reader takes containers as they come: unsorted members and counts that
	// lie would give one set to a lookup and another to an iteration.
	if err := bitmap.Validate(); err != nil {
		return nil, malformed("bitmap")
	}
	if bitmap.Maximum() >= maxRows {
		return nil, malformed("row beyond any file")
	}
	return &Rows{bitmap}, nil
}

func malformed(what string) error {
	return fmt.Errorf("deletion vector: %s: %w", what, action.ErrMalformed)
}
