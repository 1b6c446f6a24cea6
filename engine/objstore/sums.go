package objstore

import (
	"bytes"
	"context"
	"time"
)

// Sums are checksums of the content of an object. A nil one is unknown.
type Sums struct {
	// MD5 has 16 bytes.
	MD5 []byte
	// CRC32C has 4 bytes, in big-endian order.
	CRC32C []byte
}

// Compare reports whether two contents have the same checksums. It returns false for known if they
// have no kind of checksum in common.
func (s Sums) Compare(other Sums) (equal, known bool) {
	equal = true
	for _, both := range [][2][]byte{{s.MD5, other.MD5}, {s.CRC32C, other.CRC32C}} {
		if both[0] != nil && both[1] != nil {
			equal, known = equal && bytes.Equal(both[0], both[1]), true
		}
	}
	return equal && known, known
}

// Known reports whether there is a checksum.
func (s Sums) Known() bool { return s.MD5 != nil || s.CRC32C != nil }

// Summer is a [Bucket] whose store holds checksums of its objects. Wrappers delegate to the bucket
// that they wrap.
type Summer interface {
	// Sums returns the checksums that the store has of an object, without reading its content. The
	// store computed or verified them when it received the object. ErrNotFound.
	Sums(ctx context.Context, name string) (Sums, error)
}

// StoredSums returns the checksums that the store of bucket has of an object. A bucket that is not a
// [Summer] has none. ErrNotFound.
func StoredSums(ctx context.Context, bucket Bucket, name string) (Sums, error) {
	if summer, ok := bucket.(Summer); ok {
		return summer.Sums(ctx, name)
	}
	return Sums{}, ValidName(name)
}

// Sums implements Summer.
func (b *prefixed) Sums(ctx context.Context, name string) (Sums, error) {
	full, err := b.full(name)
	if err != nil {
		return Sums{}, err
	}
	return StoredSums(ctx, b.inner, full)
}

// Sums implements Summer.
func (b *named) Sums(ctx context.Context, name string) (Sums, error) {
	sums, err := StoredSums(ctx, b.inner, name)
	return sums, b.err(OpStat, err)
}

// Sums implements Summer. It does not count requests that no store receives.
func (b *measured) Sums(ctx context.Context, name string) (Sums, error) {
	start := time.Now()
	sums, err := StoredSums(ctx, b.inner, name)
	if err != nil || sums.Known() {
		b.done(OpStat, time.Since(start), err)
	}
	return sums, err
}

// Sums implements Summer. It fails as Stat does.
func (f *Faults) Sums(ctx context.Context, name string) (Sums, error) {
	before, after := f.next(OpStat, name)
	if before != nil {
		return Sums{}, before
	}
	sums, err := StoredSums(ctx, f.inner, name)
	if after != nil {
		return Sums{}, after
	}
	return sums, err
}
