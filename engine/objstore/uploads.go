package objstore

import (
	"context"
	"errors"
	"iter"
	"time"
)

// UploadLister is a [Bucket] that lists unfinished writes. A store that shows them to
// some callers only implements it and yields nothing to others.
type UploadLister interface {
	// Uploads yields the writes below a folder that have begun and not ended, in any
	// order: the prefix is empty or ends in a slash. The first error ends the sequence.
	Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error]
}

// Uploads returns the uploads of a bucket below a folder. A bucket that is not an
// [UploadLister] has none.
func Uploads(ctx context.Context, bucket Bucket, prefix string) iter.Seq2[Upload, error] {
	if lister, ok := bucket.(UploadLister); ok {
		return lister.Uploads(ctx, prefix)
	}
	return func(func(Upload, error) bool) {}
}

// Upload is the write of an object that has begun and not ended: it is running, or
// its process died. It takes up storage and is not part of any object.
type Upload struct {
	// Name is the name of the object or, if Own is set, a name that the store chose in
	// the folder of the object. Several uploads can have the same name.
	Name string
	Own  bool
	// Size is in bytes, and 0 if the store does not report it.
	Size int64
	// ModTime is the time of the last write to the upload or, if the store does not
	// report that, of its beginning.
	ModTime time.Time
	// Discard removes the upload; its write then fails. To discard an upload that has
	// ended meanwhile is not an error, and the object that it became stays. If the
	// store does not let this caller discard it, the error is [Withheld].
	Discard func(context.Context) error
}

// Withheld reports whether a store accepts the credential and does not let it discard
// an upload. Removing it is then left to the store's own rules.
func Withheld(err error) bool { return errors.Is(err, ErrDenied) && !errors.Is(err, ErrCredential) }

// DiscardUploads removes the uploads that were last written to before the given
// time, and returns their number. Choose a time before which no running write can have
// made its last progress. An upload that cannot be removed does not stop the others;
// its error is returned at the end.
func DiscardUploads(ctx context.Context, bucket Bucket, before time.Time) (discarded int, err error) {
	var failures []error
	for upload, err := range Uploads(ctx, bucket, "") {
		if err != nil {
			return discarded, errors.Join(append(failures, err)...)
		}
		if !upload.ModTime.Before(before) {
			continue
		}
		if err := upload.Discard(ctx); err != nil {
			failures = append(failures, err)
			continue
		}
		discarded++
	}
	return discarded, errors.Join(failures...)
}
