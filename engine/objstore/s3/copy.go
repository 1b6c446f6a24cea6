package s3

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

var _ objstore.Copier = (*Bucket)(nil)

const (
	// maxCopy is the size, in bytes, up to which an object is copied in one request. The protocol
	// allows 5 GiB, but the store copies all of it before it replies. A copy in parts has neither the
	// checksum nor the metadata of its source; nothing here writes metadata.
	maxCopy = 256 << 20
	// copyPart is the size, in bytes, of the parts of a larger object.
	copyPart = 64 << 20
	// copiedAtOnce is the number of parts of an object that a store copies at once.
	copiedAtOnce = 4
)

// errReplaced says that the source of a copy is not the object that was listed.
var errReplaced = fmt.Errorf("%w: source has changed", objstore.ErrUnavailable)

// ifFree are the values of If-None-Match of the attempts of a copy: one replaces nothing, and the next,
// for stores that do not implement that, has no condition.
var ifFree = []*string{aws.String("*"), nil}

// unambiguous writes a space as every store reads it, some of which read "+" as a space.
var unambiguous = strings.NewReplacer("+", "%20", "%2F", "/")

// CopyFrom implements objstore.Copier between the buckets of a store.
func (b *Bucket) CopyFrom(ctx context.Context, source objstore.Bucket, from objstore.Object, name string) (bool, error) {
	if err := remote.Check(ctx, objstore.OpCopy, name); err != nil {
		return false, err
	}
	origin, ok := source.(*Bucket)
	if !ok || origin.place != b.place {
		return false, nil
	}
	if b.credential.Ambient || b.credential != origin.credential {
		// The credential of this bucket may read more than the source's own.
		if _, err := origin.Stat(ctx, from.Name); err != nil {
			return false, err
		}
	}
	path := origin.name + "/" + unambiguous.Replace(url.QueryEscape(from.Name))
	var err error
	if from.Size > b.copyLimit {
		err = b.copyParts(ctx, origin, from, path, name)
	} else {
		err = b.copyWhole(ctx, path, name)
	}
	return err == nil, err
}

// copyWhole copies an object in one request. It does not replace an object unless the store has no
// such request.
func (b *Bucket) copyWhole(ctx context.Context, path, name string) error {
	for _, condition := range ifFree {
		status, err := write(ctx, objstore.OpCopy, name, func(ctx context.Context) error {
			_, err := b.client.CopyObject(ctx, &sdk.CopyObjectInput{Bucket: &b.name, Key: &name, CopySource: &path, IfNoneMatch: condition})
			return err
		})
		if status != http.StatusNotImplemented || condition == nil {
			return err
		}
	}
	return nil
}

// copyParts copies a large object, several parts at once. Nothing is visible before the last request,
// which replaces no object unless the store has no such request. All parts are of one version of the
// source: if it is replaced meanwhile, or its size is not the listed one, the error is ErrUnavailable.
func (b *Bucket) copyParts(ctx context.Context, origin *Bucket, from objstore.Object, path, name string) error {
	watch, fate := remote.WithFate(ctx)
	source, err := origin.client.HeadObject(watch, &sdk.HeadObjectInput{Bucket: &origin.name, Key: &from.Name})
	if err != nil {
		return remote.Failed(objstore.OpCopy, name, translate(ctx, err, fate.LastStatus()))
	}
	size := aws.ToInt64(source.ContentLength)
	if size != from.Size {
		return remote.Failed(objstore.OpCopy, name, errReplaced)
	}
	return b.multipart(ctx, objstore.OpCopy, name, ifFree, func(upload *string) ([]types.CompletedPart, error) {
		length := max(min(copyPart, b.copyLimit), size/maxParts+1)
		parts := make([]types.CompletedPart, (size+length-1)/length)
		// Requests under way end by themselves: a part that arrives after the upload was aborted would stay.
		var group errgroup.Group
		group.SetLimit(copiedAtOnce)
		var failed atomic.Bool
		for i := range parts {
			if failed.Load() {
				break
			}
			group.Go(func() (err error) {
				defer func() {
					if err != nil {
						failed.Store(true)
					}
				}()
				start := int64(i) * length
				in := &sdk.UploadPartCopyInput{
					Bucket: &b.name, Key: &name, UploadId: upload, PartNumber: aws.Int32(int32(i + 1)), CopySource: &path, //nolint:gosec // maxParts
					CopySourceIfMatch: source.ETag,
					CopySourceRange:   aws.String(fmt.Sprintf("bytes=%d-%d", start, min(start+length, size)-1)),
				}
				watch, fate := remote.WithFate(ctx)
				out, err := b.client.UploadPartCopy(watch, in)
				if fate.LastStatus() == http.StatusPreconditionFailed {
					return errReplaced
				}
				if err != nil {
					return translate(ctx, err, fate.LastStatus())
				}
				if out.CopyPartResult == nil {
					return fmt.Errorf("%w: unreadable answer", objstore.ErrUnavailable)
				}
				parts[i] = types.CompletedPart{ETag: out.CopyPartResult.ETag, PartNumber: in.PartNumber}
				return nil
			})
		}
		return parts, group.Wait()
	})
}
