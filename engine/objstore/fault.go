package objstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
)

// Cut is one fault: it decides which request fails, and how.
type Cut struct {
	// Ops are the operations that count; none means all.
	Ops []Op
	// Match, if set, restricts the requests that count by object name or listing prefix.
	Match func(name string) bool
	// Nth is the request that fails, counted from 1 among those that match.
	Nth int
	// After lets the request take effect and then drops the reply. A read breaks in the middle of
	// its body, a listing after its first object.
	After bool
	// Forever also fails every later matching request, without effect, as if the process or the
	// store had died.
	Forever bool
	// Err is the error that the caller gets. Nil: ErrUnknown if a write took effect, else
	// ErrUnavailable.
	Err error
}

// Faults is a Bucket for tests that makes chosen requests fail. A test counts the requests of an
// undisturbed run with Count, then cuts each in turn.
type Faults struct {
	inner Bucket

	mu    sync.Mutex
	cuts  []Cut
	seen  []int // number of matching requests for each cut
	count map[Op]int
}

var (
	_ Bucket       = (*Faults)(nil)
	_ UploadLister = (*Faults)(nil)
)

// NewFaults wraps bucket with the given cuts. Each cut counts its requests separately.
func NewFaults(bucket Bucket, cuts ...Cut) *Faults {
	return &Faults{inner: bucket, cuts: cuts, seen: make([]int, len(cuts)), count: map[Op]int{}}
}

// Count returns the number of requests so far of the given operations, or of all.
func (f *Faults) Count(ops ...Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := 0
	for op, n := range f.count {
		if len(ops) == 0 || slices.Contains(ops, op) {
			total += n
		}
	}
	return total
}

// next counts a request and decides whether it fails: before is an error that keeps it from taking
// effect, after is one that replaces the reply.
func (f *Faults) next(op Op, name string) (before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[op]++
	for i, cut := range f.cuts {
		if len(cut.Ops) > 0 && !slices.Contains(cut.Ops, op) {
			continue
		}
		if cut.Match != nil && !cut.Match(name) {
			continue
		}
		f.seen[i]++
		switch {
		case before != nil || after != nil:
			// The request is counted, but an earlier cut decides.
		case f.seen[i] == cut.Nth && cut.After:
			after = cut.failure(op, name)
		case f.seen[i] == cut.Nth, f.seen[i] > cut.Nth && cut.Forever:
			cut.After = false
			before = cut.failure(op, name)
		}
	}
	return before, after
}

func (c Cut) failure(op Op, name string) error {
	err := c.Err
	if err == nil {
		err = ErrUnavailable
		if c.After && (op == OpPut || op == OpPutIfAbsent || op == OpDelete || op == OpDiscard || op == OpCopy) {
			err = ErrUnknown
		}
	}
	return fmt.Errorf("%s %q: cut by test: %w", op, name, err)
}

// Get implements Bucket.
func (f *Faults) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	before, after := f.next(OpGet, name)
	if before != nil {
		return nil, before
	}
	body, err := f.inner.Get(ctx, name)
	return breakBody(body, err, after)
}

// GetRange implements Bucket.
func (f *Faults) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	before, after := f.next(OpGetRange, name)
	if before != nil {
		return nil, before
	}
	body, err := f.inner.GetRange(ctx, name, offset, length)
	return breakBody(body, err, after)
}

// Stat implements Bucket.
func (f *Faults) Stat(ctx context.Context, name string) (Object, error) {
	before, after := f.next(OpStat, name)
	if before != nil {
		return Object{}, before
	}
	object, err := f.inner.Stat(ctx, name)
	if after != nil {
		return Object{}, after
	}
	return object, err
}

// List implements Bucket.
func (f *Faults) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	return faultyList(f, OpList, prefix, f.inner.List(ctx, prefix, opts))
}

// faultyList is a listing that may be cut before its first object or after it.
func faultyList[T any](f *Faults, op Op, prefix string, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		before, after := f.next(op, prefix)
		if before != nil {
			yield(none, before)
			return
		}
		for found, err := range list {
			if !yield(found, err) {
				return
			}
			if after != nil {
				break
			}
		}
		if after != nil {
			yield(none, after)
		}
	}
}

// Put implements Bucket.
func (f *Faults) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	return f.write(OpPut, name, func() error { return f.inner.Put(ctx, name, body, size) })
}

// PutIfAbsent implements Bucket.
func (f *Faults) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	return f.write(OpPutIfAbsent, name, func() error { return f.inner.PutIfAbsent(ctx, name, body) })
}

// Delete implements Bucket.
func (f *Faults) Delete(ctx context.Context, name string) error {
	return f.write(OpDelete, name, func() error { return f.inner.Delete(ctx, name) })
}

// Uploads implements UploadLister.
func (f *Faults) Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		for upload, err := range faultyList(f, OpUploads, prefix, Uploads(ctx, f.inner, prefix)) {
			discard := upload.Discard
			upload.Discard = func(ctx context.Context) error {
				return f.write(OpDiscard, upload.Name, func() error { return discard(ctx) })
			}
			if !yield(upload, err) {
				return
			}
		}
	}
}

// write drops the reply whatever it was: a writer that lost a race gets the same error.
func (f *Faults) write(op Op, name string, do func() error) error {
	before, after := f.next(op, name)
	if before != nil {
		return before
	}
	err := do()
	if after != nil {
		return after
	}
	return err
}

// breakBody returns half of a body, then the failure.
func breakBody(body io.ReadCloser, err, after error) (io.ReadCloser, error) {
	if after == nil || err != nil {
		return body, err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	half := bytes.NewReader(content[:len(content)/2])
	return io.NopCloser(io.MultiReader(half, failing{after})), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
