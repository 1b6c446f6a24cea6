package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

const (
	// attempts is the number of times that an object is copied or deleted if the store fails.
	attempts = 3
	// pause is half the time before the second attempt. The time doubles with each
	// further attempt.
	pause = 50 * time.Millisecond
	// maxWhole is the size in bytes up to which an object is held in memory, to be created by one
	// request.
	maxWhole = 8 << 20
)

// retry calls do again if the store failed in a way that may pass.
func retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || attempt == attempts || ctx.Err() != nil || !transient(err) {
			return err
		}
		select {
		case <-time.After(pause << attempt):
		case <-ctx.Done():
			return err
		}
	}
}

// transient reports whether a failure may pass, so that a retry can help.
func transient(err error) bool {
	for _, passing := range []error{objstore.ErrUnavailable, objstore.ErrUnknown, objstore.ErrSize, ErrDamaged} {
		if errors.Is(err, passing) {
			return !errors.Is(err, objstore.ErrNoBucket)
		}
	}
	return false
}

// stat describes an object, if it exists.
func stat(ctx context.Context, bucket objstore.Bucket, name string) (object objstore.Object, found bool, err error) {
	err = retry(ctx, func() (err error) {
		object, err = bucket.Stat(ctx, name)
		return err
	})
	if errors.Is(err, objstore.ErrNotFound) {
		return objstore.Object{}, false, nil
	}
	return object, err == nil, err
}

// copy copies the object of a pair and verifies the copy. It returns false if the source does not
// have the object any more. It replaces an object of the target only if replaceable allows it, or if
// it is the damaged copy that this call has made. Errors: ErrOccupied, ErrDamaged.
func (r *run) copy(ctx context.Context, p pair) (copied bool, err error) {
	replace := p.inSecond
	if replace && !replaceable(p) {
		return false, occupied(p.name)
	}
	inside := roleOf(p.name) != commit
	err = retry(ctx, func() (err error) {
		if replace {
			copied, err = r.stream(ctx, p.first, r.Target.Put)
		} else {
			copied, err = r.create(ctx, p, inside)
		}
		// Not all stores refuse to replace what an earlier attempt of theirs has created.
		inside = false
		replace = replace || errors.Is(err, ErrDamaged) && roleOf(p.name) != commit
		if err != nil {
			// The object may have been replaced since it was listed.
			p.first = objstore.Object{Name: p.name, Size: -1}
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("copy %.200q: %w", p.name, err)
	}
	return copied, nil
}

// replaceable reports whether the target's object of a pair is a copy that may be replaced: because
// the source's is newer, or because the store has aborted its own copy, which leaves an empty object.
// Hints contain nothing that can be lost, and commits are never replaced.
func replaceable(p pair) bool {
	switch roleOf(p.name) {
	case hint:
		return true
	case commit:
		return false
	}
	return p.second.Size == 0 || p.first.ModTime.After(p.second.ModTime)
}

// create copies an object without replacing one, inside the store if it can and inside is set. If the
// target has the object already, because an earlier request took effect or another writer created
// it, its content must be the source's.
func (r *run) create(ctx context.Context, p pair, inside bool) (copied bool, err error) {
	if inside {
		copied, err := objstore.Copy(ctx, r.Target, p.name, r.Source, p.first)
		switch {
		case copied && err == nil && p.first.Sums.Known() && checkedByListing(p.name):
			return true, nil
		case copied && err == nil:
			return true, r.verifyCopy(ctx, p.name)
		case errors.Is(err, objstore.ErrNotFound):
			return false, nil
		case errors.Is(err, objstore.ErrExists):
			return true, r.same(ctx, p.name)
		case err != nil && !errors.Is(err, objstore.ErrDenied):
			return false, err
		}
		// There is no common store, or the credential of the target may not read the source.
	}
	copied, err = r.stream(ctx, p.first, r.putIfAbsent)
	if errors.Is(err, objstore.ErrExists) {
		return true, r.same(ctx, p.name)
	}
	return copied, err
}

// stream copies the content of an object, as it was listed, with a function that writes it. A negative
// size means that the object is unknown.
func (r *run) stream(ctx context.Context, object objstore.Object,
	put func(context.Context, string, io.Reader, int64) error) (copied bool, err error) {
	name := object.Name
	if object.Size < 0 {
		var found bool
		if object, found, err = stat(ctx, r.Source, name); err != nil || !found {
			return false, err
		}
	}
	body, err := r.Source.Get(ctx, name)
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer body.Close()
	hash := newHasher()
	if err := putAhead(ctx, put, name, io.TeeReader(body, hash), object.Size); err != nil {
		return false, err
	}
	written := hash.sums()
	whole := object.Size <= maxWhole // stores have no checksum of what they received in parts
	if equal, _ := object.Sums.Compare(written); whole && equal && r.confirms.Load() && checkedByListing(name) {
		return true, nil
	}
	confirmed, err := r.verify(ctx, name, written)
	if whole && confirmed {
		r.confirms.Store(true)
	}
	return true, err
}

// putAhead calls put with a content that is read ahead if it is large.
func putAhead(ctx context.Context, put func(context.Context, string, io.Reader, int64) error, name string, content io.Reader,
	size int64) error {
	if size <= maxWhole {
		return put(ctx, name, content, size)
	}
	content, stop := readAhead(content)
	defer stop()
	return put(ctx, name, content, size)
}

// putIfAbsent writes an object that the target does not have, else it returns objstore.ErrExists.
// Only objects up to maxWhole are created atomically; stores have no such request for larger ones.
func (r *run) putIfAbsent(ctx context.Context, name string, body io.Reader, size int64) error {
	if size > maxWhole {
		_, exists, err := stat(ctx, r.Target, name)
		switch {
		case err != nil:
			return err
		case exists:
			return objstore.ErrExists
		}
		return r.Target.Put(ctx, name, body, size)
	}
	content, err := io.ReadAll(objstore.Exactly(ctx, body, size))
	if err != nil {
		return err
	}
	return r.Target.PutIfAbsent(ctx, name, content)
}

// same returns ErrOccupied if the target has another object of this name.
func (r *run) same(ctx context.Context, name string) error {
	same, err := sameContent(ctx, r.Source, r.Target, name)
	if err == nil && !same {
		return occupied(name)
	}
	return err
}
