// Package objstore is the contract between Lakewarden and an object store.
//
// A [Bucket] is a flat space of immutable-once-written objects under
// slash-separated names. Commits of Delta tables rest on one operation,
// [Bucket.PutIfAbsent], and on its three outcomes being told apart.
//
// Providers live in subpackages (mem, file, …), each the only importer of its
// SDK. Every provider and wrapper passes the suite in objstoretest. The package
// imports no other Lakewarden package.
package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors of a Bucket; test with errors.Is.
var (
	// ErrNotFound: the object does not exist. Not retried.
	ErrNotFound = errors.New("object not found")
	// ErrExists: PutIfAbsent lost; the object existed before. Not retried.
	ErrExists = errors.New("object exists")
	// ErrUnknown: the outcome of a write is not known; it may have landed. The
	// caller reads the object back before it does anything else.
	ErrUnknown = errors.New("outcome of write unknown")
	// ErrDenied: the credential or the file mode refuses the operation.
	ErrDenied = errors.New("access to object denied")
	// ErrUnavailable: the store cannot be reached or is throttling; retry later.
	ErrUnavailable = errors.New("object store unavailable")
	// ErrInvalidName: the name is empty, absolute, or has a "." or ".." segment.
	ErrInvalidName = errors.New("invalid object name")
)

// Object is what a listing says of one object.
type Object struct {
	Name    string
	Size    int64
	ModTime time.Time
}

// ListOptions narrows a listing.
type ListOptions struct {
	// StartAfter skips names up to and including it (byte order).
	StartAfter string
	// Shallow stops at the next slash after the prefix: deeper names are
	// returned once, as a name that ends in "/" with zero size.
	Shallow bool
}

// Bucket is an object store below one root. Implementations are safe for
// concurrent use, honour ctx, and wrap the errors above.
type Bucket interface {
	// Get opens an object from its start. ErrNotFound.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// GetRange opens length bytes from offset; a negative length reads to the
	// end, a negative offset counts from the end. ErrNotFound.
	GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// Stat describes an object. ErrNotFound.
	Stat(ctx context.Context, name string) (Object, error)
	// List yields objects whose name begins with prefix, in byte order of the
	// names. A missing prefix yields nothing.
	List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error]
	// Put writes an object whole, replacing one that exists. Readers see the
	// old or the new content, never a part. size is the exact length of body.
	Put(ctx context.Context, name string, body io.Reader, size int64) error
	// PutIfAbsent creates an object atomically across processes and machines:
	// of any number of writers exactly one gets nil. ErrExists, ErrUnknown.
	PutIfAbsent(ctx context.Context, name string, body []byte) error
	// Delete removes an object; a missing one is not an error.
	Delete(ctx context.Context, name string) error
}
