package s3

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Uploads implements objstore.UploadLister: it lists multipart uploads, with the time when they
// began as ModTime. Most stores list them for the owner of a bucket only, and some for no caller.
func (b *Bucket) Uploads(ctx context.Context, prefix string) iter.Seq2[objstore.Upload, error] {
	return func(yield func(objstore.Upload, error) bool) {
		if err := objstore.ValidPrefix(prefix); err != nil {
			yield(objstore.Upload{}, err)
			return
		}
		if err := b.uploads(ctx, prefix, yield); err != nil {
			yield(objstore.Upload{}, remote.Failed(objstore.OpUploads, prefix, err))
		}
	}
}

// uploads returns nil at the end of the listing and when the consumer stops.
func (b *Bucket) uploads(ctx context.Context, prefix string, yield func(objstore.Upload, error) bool) error {
	in := &sdk.ListMultipartUploadsInput{Bucket: &b.name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	for {
		page, err := b.uploadsPage(ctx, in)
		if err != nil || page == nil {
			return err
		}
		for _, found := range page.Uploads {
			upload, err := b.upload(page.EncodingType, found)
			if err != nil {
				return err
			}
			// Skip uploads that this package cannot have started. Without a time it is unknown
			// whether an upload is still running.
			if objstore.ValidName(upload.Name) != nil || !strings.HasPrefix(upload.Name, prefix) || upload.ModTime.IsZero() {
				continue
			}
			if !yield(upload, nil) {
				return nil
			}
		}
		if !aws.ToBool(page.IsTruncated) || aws.ToString(page.NextKeyMarker) == "" {
			return ctx.Err() // the last page, or a store without markers to continue
		}
		key, err := decoded(page.EncodingType, page.NextKeyMarker)
		if err != nil {
			return err
		}
		same := key == aws.ToString(in.KeyMarker) && aws.ToString(page.NextUploadIdMarker) == aws.ToString(in.UploadIdMarker)
		if same {
			return fmt.Errorf("%w: listing does not continue", objstore.ErrUnavailable)
		}
		in.KeyMarker, in.UploadIdMarker = &key, page.NextUploadIdMarker
	}
}

// uploadsPage returns nil if the store does not list uploads for this caller.
func (b *Bucket) uploadsPage(ctx context.Context, in *sdk.ListMultipartUploadsInput) (*sdk.ListMultipartUploadsOutput, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	watch, fate := remote.WithFate(ctx)
	page, err := b.client.ListMultipartUploads(watch, in)
	if err == nil {
		return page, nil
	}
	if err = ofUploads(ctx, err, fate.LastStatus()); objstore.Withheld(err) {
		return nil, nil
	}
	return nil, err
}

// ofUploads is translate for stores that do not support listing uploads.
func ofUploads(ctx context.Context, err error, status int) error {
	if status == http.StatusNotImplemented {
		return fmt.Errorf("%w (%d)", objstore.ErrDenied, status)
	}
	return translate(ctx, err, status)
}

func (b *Bucket) upload(encoding types.EncodingType, found types.MultipartUpload) (objstore.Upload, error) {
	name, err := decoded(encoding, found.Key)
	if err != nil {
		return objstore.Upload{}, err
	}
	return objstore.Upload{
		Name: name, ModTime: seconds(found.Initiated),
		Discard: func(ctx context.Context) error { return b.discard(ctx, name, found.UploadId) },
	}, nil
}

// decoded returns a name of a listing that may be URL-encoded.
func decoded(encoding types.EncodingType, text *string) (string, error) {
	if encoding != types.EncodingTypeUrl {
		return aws.ToString(text), nil
	}
	name, err := url.QueryUnescape(aws.ToString(text))
	if err != nil {
		return "", fmt.Errorf("%w: unreadable listing", objstore.ErrUnavailable)
	}
	return name, nil
}

// discard removes the parts of an upload. If the store does not know the upload, it has ended.
func (b *Bucket) discard(ctx context.Context, name string, id *string) error {
	if err := ctx.Err(); err != nil {
		return remote.Failed(objstore.OpDiscard, name, err)
	}
	watch, fate := remote.WithFate(ctx)
	_, err := b.client.AbortMultipartUpload(watch, &sdk.AbortMultipartUploadInput{Bucket: &b.name, Key: &name, UploadId: id})
	if err == nil {
		return nil
	}
	err = ofUploads(ctx, err, fate.LastStatus())
	if fate.LastStatus() == http.StatusNotFound && !errors.Is(err, objstore.ErrNoBucket) {
		return nil
	}
	return remote.Failed(objstore.OpDiscard, name, err)
}
