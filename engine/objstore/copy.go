package objstore

import (
	"context"
	"time"
)

// Copier is a [Bucket] that copies objects inside its store, without sending their content through
// this machine. Wrappers delegate to the bucket that they wrap.
type Copier interface {
	// CopyFrom copies the object from of another bucket, which no wrapper surrounds, to name; from
	// has its name and its size. The name must be free: stores that can refuse to replace an object
	// do so with ErrExists, and in others readers see the old or the new content. The credential of
	// this bucket reads the object, and that of source must be allowed to: ErrDenied can mean that one
	// of them may not. copied is false, without an error, if the store cannot copy from that bucket at
	// all, because it is in another store.
	// ErrNotFound, ErrExists, ErrUnknown.
	CopyFrom(ctx context.Context, source Bucket, from Object, name string) (copied bool, err error)
}

// Copy copies the object from of source, as it was listed, to name in target inside their store. It
// returns false, without an error, if there is no common store that copies; the caller then copies
// the content.
func Copy(ctx context.Context, target Bucket, name string, source Bucket, from Object) (copied bool, err error) {
	if err := ValidName(from.Name); err != nil {
		return false, err
	}
	for {
		wrapper, ok := source.(interface {
			unwrap(name string) (Bucket, string)
		})
		if !ok {
			return copyFrom(ctx, target, source, from, name)
		}
		source, from.Name = wrapper.unwrap(from.Name)
	}
}

func copyFrom(ctx context.Context, target, source Bucket, from Object, name string) (bool, error) {
	copier, ok := target.(Copier)
	if !ok {
		return false, ValidName(name)
	}
	return copier.CopyFrom(ctx, source, from, name)
}

func (b *prefixed) unwrap(name string) (Bucket, string) { return b.inner, b.dir + name }

func (b *named) unwrap(name string) (Bucket, string) { return b.inner, name }

func (b *measured) unwrap(name string) (Bucket, string) { return b.inner, name }

func (f *Faults) unwrap(name string) (Bucket, string) { return f.inner, name }

// CopyFrom implements Copier.
func (b *prefixed) CopyFrom(ctx context.Context, source Bucket, from Object, name string) (bool, error) {
	full, err := b.full(name)
	if err != nil {
		return false, err
	}
	return copyFrom(ctx, b.inner, source, from, full)
}

// CopyFrom implements Copier.
func (b *named) CopyFrom(ctx context.Context, source Bucket, from Object, name string) (bool, error) {
	copied, err := copyFrom(ctx, b.inner, source, from, name)
	return copied, b.err(OpCopy, err)
}

// CopyFrom implements Copier. It does not count what the store cannot copy.
func (b *measured) CopyFrom(ctx context.Context, source Bucket, from Object, name string) (bool, error) {
	start := time.Now()
	copied, err := copyFrom(ctx, b.inner, source, from, name)
	if copied || err != nil {
		b.done(OpCopy, time.Since(start), err)
	}
	return copied, err
}

// CopyFrom implements Copier.
func (f *Faults) CopyFrom(ctx context.Context, source Bucket, from Object, name string) (copied bool, err error) {
	err = f.write(OpCopy, name, func() (err error) {
		copied, err = copyFrom(ctx, f.inner, source, from, name)
		return err
	})
	return copied && err == nil, err
}
