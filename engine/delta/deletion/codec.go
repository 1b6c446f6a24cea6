package deletion

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// MaxBytes bounds one encoded set. The densest set of a hundred million rows has 13 MB.
const MaxBytes = 32 << 20

const (
	// magic identifies the portable format of 64-bit Roaring bitmaps. The protocol
	// defines another magic number, whose format no known writer uses.
	magic = 1681511377
	// headBytes is the size of the magic number and the number of buckets.
	headBytes = 12
	// maxBuckets is the number of buckets of 2^32 rows below maxRows.
	maxBuckets = maxRows >> 32
)

// Bytes returns the encoded set without the frame of a deletion vector file. The error
// is [action.ErrTooLarge].
func (r *Rows) Bytes() ([]byte, error) { return encode(r) }

// FromBytes is the inverse of [Rows.Bytes]. Errors: [action.ErrMalformed],
// [action.ErrTooLarge].
func FromBytes(data []byte) (*Rows, error) { return decode(data) }

// encode returns the magic number followed by the bitmap.
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
	// The library does not check containers: unsorted members and wrong counts would
	// make lookups and iterations disagree.
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
