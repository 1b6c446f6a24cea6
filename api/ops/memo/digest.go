package memo

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Digest hashes fields so that two different lists of fields have different hashes.
type Digest struct{ hash.Hash }

// NewDigest returns a digest without fields.
func NewDigest() Digest { return Digest{sha256.New()} }

// Text adds texts.
func (k Digest) Text(fields ...string) {
	for _, f := range fields {
		k.Numbers(int64(len(f)))
		_, _ = k.Write([]byte(f)) // a hash returns no error
	}
}

// Numbers adds numbers.
func (k Digest) Numbers(fields ...int64) {
	for _, f := range fields {
		_, _ = k.Write(binary.LittleEndian.AppendUint64(nil, uint64(f)))
	}
}

// Flags adds booleans.
func (k Digest) Flags(fields ...bool) {
	for _, f := range fields {
		n := int64(0)
		if f {
			n = 1
		}
		k.Numbers(n)
	}
}

// String returns the hash of the fields so far. It is not printable.
func (k Digest) String() string { return string(k.Sum(nil)) }
