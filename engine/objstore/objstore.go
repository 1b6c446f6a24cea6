package objstore

import (
	"context"
	"io"
	"iter"
	"time"
)

// Object describes one object of a store.
type Object struct {
	Name    string
	Size    int64
	ModTime time.Time
	// Sums are the checksums that a listing has of the content, if any; see [Summer]. A wrong MD5
	// is possible: the store may encrypt the object and list a tag of another kind.
	Sums Sums
}

// ListOptions narrows a listing.
type ListOptions struct {
	// StartAfter skips names up to and including it, in byte order of the names as they are
	// returned: a Shallow listing compares "a/", not the names below it.
	StartAfter string
	// Shallow lists one level: names with a slash after the prefix are cut after that slash and
	// returned once, with zero size.
	Shallow bool
}

// Bucket is an object store below one root. Implementations are safe for concurrent use, honour
// ctx, and wrap the errors of this package. A context error that is not also ErrUnknown means that
// nothing was written. A Bucket may also be an [UploadLister].
type Bucket interface {
	// Get opens an object from its start. ErrNotFound.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// GetRange opens length bytes from offset; a negative length reads to the
	// end, a negative offset counts from the end. A range is cut to the object
	// as Range does; one beyond its end is empty, not an error. ErrNotFound.
	GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// Stat describes an object. ErrNotFound.
	Stat(ctx context.Context, name string) (Object, error)
	// List yields objects whose name begins with prefix, in byte order of the names. If there are
	// none, it yields nothing. The first error ends the sequence. Objects written concurrently may
	// or may not appear.
	List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error]
	// Put writes a whole object and replaces an existing one. Readers see the old or the new
	// content, never a part. size is the exact length of body. ErrSize, ErrUnknown.
	Put(ctx context.Context, name string, body io.Reader, size int64) error
	// PutIfAbsent creates an object atomically across processes and machines:
	// of any number of writers exactly one gets nil. ErrExists, ErrUnknown.
	PutIfAbsent(ctx context.Context, name string, body []byte) error
	// Delete removes an object; a missing one is not an error.
	Delete(ctx context.Context, name string) error
}

// Op names an operation of a Bucket, for metrics and faults.
type Op string

// The operations.
const (
	OpGet         Op = "get"
	OpGetRange    Op = "get_range"
	OpStat        Op = "stat"
	OpList        Op = "list"
	OpPut         Op = "put"
	OpPutIfAbsent Op = "put_if_absent"
	OpDelete      Op = "delete"
	OpCopy        Op = "copy"
	OpUploads     Op = "uploads"
	OpDiscard     Op = "discard"
)
