package objstore

import (
	"context"
	"errors"
	"time"
)

// Upload is the write of an object that has begun and not ended: it is under
// way, or its process died. It takes room and is no part of any object.
type Upload struct {
	// Name is that of the object or, where Own is set, one of the store's own in its
	// folder. Several uploads can have one name.
	Name string
	Own  bool
	// Size is in bytes; 0 where the store does not tell.
	Size int64
	// ModTime is when it was last written to or, where the store does not tell
	// that, when it began.
	ModTime time.Time
	// Discard removes it, and its write can then not succeed any more. One that has
	// ended meanwhile is not an error, and the object that it became stays. For one
	// that the store keeps from this caller the error is [Withheld].
	Discard func(context.Context) error
}

// Withheld reports that a store accepts the credential and does not let it discard
// an upload: that is for the store's own rule then.
func Withheld(err error) bool { return errors.Is(err, ErrDenied) && !errors.Is(err, ErrCredential) }

// DiscardUploads removes the uploads that were last written to before the given
// time, and counts them. Choose a time that no running write can reach back to.
// What cannot be removed is passed over and told at the end.
func DiscardUploads(ctx context.Context, bucket Bucket, before time.Time) (discarded int, err error) {
	var failures []error
	for upload, err := range bucket.Uploads(ctx, "") {
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
