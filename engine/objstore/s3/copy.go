package s3

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

var _ objstore.Copier = (*Bucket)(nil)

const (
	// maxCopy is the size, in bytes, up to which the protocol copies an object in one request.
	maxCopy = 5 << 30
	// copyPart is the size, in bytes, of the parts of a larger object. The store reads a part
	// before it replies.
	copyPart = 256 << 20
)

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
		err = b.copyParts(ctx, path, name, from.Size)
	} else {
		err = b.copyWhole(ctx, path, name)
	}
	return err == nil, err
}

// copyWhole copies an object in one request. It does not replace an object unless the store has no
// such request.
func (b *Bucket) copyWhole(ctx context.Context, path, name string) error {
	for _, condition := range []*string{aws.String("*"), nil} {
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

// copyParts copies a large object. Nothing is visible before the last request.
func (b *Bucket) copyParts(ctx context.Context, path, name string, size int64) error {
	return b.multipart(ctx, objstore.OpCopy, name, func(upload *string) ([]types.CompletedPart, error) {
		var parts []types.CompletedPart
		length := max(min(copyPart, b.copyLimit), size/maxParts+1)
		for start := int64(0); start < size; start += length {
			number := aws.Int32(int32(len(parts) + 1))
			watch, fate := remote.WithFate(ctx)
			out, err := b.client.UploadPartCopy(watch, &sdk.UploadPartCopyInput{
				Bucket: &b.name, Key: &name, UploadId: upload, PartNumber: number, CopySource: &path,
				CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", start, min(start+length, size)-1)),
			})
			if err != nil {
				return nil, translate(ctx, err, fate.LastStatus())
			}
			if out.CopyPartResult == nil {
				return nil, fmt.Errorf("%w: unreadable answer", objstore.ErrUnavailable)
			}
			parts = append(parts, types.CompletedPart{ETag: out.CopyPartResult.ETag, PartNumber: number})
		}
		return parts, nil
	})
}
